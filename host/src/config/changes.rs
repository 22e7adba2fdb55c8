//! What differs between two configurations, and what a running server takes of another one. Keys are
//! named and values are not: some are secrets.

use super::acme::Acme;
use super::backup::Backup;
use super::bounces::Bounces;
use super::credits::Credits;
use super::delivery::Delivery;
use super::dns::Dns;
use super::domains::Domains;
use super::health::Health;
use super::http::Http;
use super::limits::Limits;
use super::node::Node;
use super::people::People;
use super::plugins::Plugins;
use super::retention::Retention;
use super::sections::{Config, Inbox, Log};
use super::smtp::Smtp;
use super::store::Store;
use super::telemetry::Telemetry;
use super::webhooks::Webhooks;

/// Every section and every field stands in what this is given: with one that does not, it does not
/// compile.
macro_rules! differing_keys {
    ($($section:ident: $type:ident { $($key:ident),+ })+) => {
        /// The keys whose values differ, as in `limits.send_burst`.
        #[must_use]
        pub fn differing_keys(&self, other: &Self) -> Vec<&'static str> {
            let mut keys = Vec::new();
            let Self { $($section),+ } = self;
            $({
                let $type { $($key),+ } = $section;
                $(if *$key != other.$section.$key {
                    keys.push(concat!(stringify!($section), ".", stringify!($key)));
                })+
            })+
            keys
        }
    };
}

impl Config {
    differing_keys! {
        http: Http {
            listen, tls_listen, trusted_proxies, forwarded_header, metrics_listen, drain_seconds
        }
        smtp: Smtp {
            enabled, listen_starttls, listen_tls, trusted_proxies, user_names, hostname, certificate,
            private_key, message_bytes, recipients, connections, connections_per_ip, memory_bytes,
            login_seconds, idle_seconds, data_seconds, insufficient_balance, bare_newline
        }
        acme: Acme {
            enabled, directory, terms_agreed, contact, domains, challenge, http_listen, dns_hook,
            ca_file
        }
        store: Store { data_dir, url, master_key_file, template_memory_bytes }
        node: Node { name, renew_s, hold_s }
        delivery: Delivery {
            route, port, smarthosts, rules, destinations, concurrent, memory_bytes, connections,
            messages_per_connection, messages_per_minute, local_addresses, addresses, allow_private,
            ca_file, mta_sts, mta_sts_port, retry_pauses_s
        }
        bounces: Bounces {
            listen, feedback, reporters, reporter_networks, suppress_days, complaint_days,
            message_bytes, connections, connections_per_ip
        }
        dns: Dns {
            nameservers, timeout_ms, tries, concurrent, queries_per_second,
            delivery_queries_per_second
        }
        domains: Domains {
            spf_include, return_path_host, first_check_s, check_every_s, grace_s, give_up_s,
            concurrent_checks, per_account
        }
        webhooks: Webhooks {
            allow_http, allow_private, ca_file, retry_pauses_s, timeout_s, concurrent,
            concurrent_per_webhook, per_account, disable_after_s, kept_days
        }
        credits: Credits { low }
        people: People { url, mail_key }
        health: Health {
            every_minutes, notify, block_lists, port_25_domain, time_server, dkim_key_days
        }
        inbox: Inbox { smtp_listen, enabled, view }
        plugins: Plugins {
            limits, dir, signatures, trusted_keys, max_component_bytes, compile_memory_bytes,
            compile_seconds, sample_every, samples_kept, sample_days, impact_calls
        }
        retention: Retention { content_days, message_days }
        backup: Backup {
            to, every_s, keep, recipients, s3_endpoint, s3_region, s3_access_key_id,
            s3_secret_access_key_file
        }
        limits: Limits {
            sends_per_second, send_burst, failed_logins, body_bytes, body_seconds,
            body_memory_bytes, connections, connections_per_ip, header_seconds, write_seconds,
            lists_per_second
        }
        log: Log { format, filter }
        telemetry: Telemetry { otlp_endpoint }
    }

    /// This configuration with what a running server takes of another one: the limits of both listeners, the routes, the
    /// health checks, and what is logged.
    #[must_use]
    pub fn reloaded_from(&self, new: &Self) -> Self {
        let new = new.clone();
        Self {
            limits: new.limits,
            smtp: Smtp {
                message_bytes: new.smtp.message_bytes,
                recipients: new.smtp.recipients,
                connections: new.smtp.connections,
                connections_per_ip: new.smtp.connections_per_ip,
                memory_bytes: new.smtp.memory_bytes,
                login_seconds: new.smtp.login_seconds,
                idle_seconds: new.smtp.idle_seconds,
                data_seconds: new.smtp.data_seconds,
                insufficient_balance: new.smtp.insufficient_balance,
                bare_newline: new.smtp.bare_newline,
                user_names: new.smtp.user_names,
                ..self.smtp.clone()
            },
            delivery: Delivery {
                route: new.delivery.route,
                port: new.delivery.port,
                smarthosts: new.delivery.smarthosts,
                rules: new.delivery.rules,
                destinations: new.delivery.destinations,
                connections: new.delivery.connections,
                messages_per_connection: new.delivery.messages_per_connection,
                messages_per_minute: new.delivery.messages_per_minute,
                ..self.delivery.clone()
            },
            health: new.health,
            log: Log { filter: new.log.filter, ..self.log },
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests;
