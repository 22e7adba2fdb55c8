//! Prometheus metrics, served by the API at `/metrics`, and listed in `host/METRICS.md`.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// Seconds, from a warm plugin call to a stuck delivery.
const SECONDS_BUCKETS: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];
const GROUP_BUCKETS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

use Kind::{Counter, Gauge, Histogram};

/// Name, kind, labels and meaning of every metric.
const METRICS: &[(&str, Kind, &str, &str)] = &[
    (
        "waxwing_http_connections",
        Gauge,
        "",
        "Open HTTP connections; over HTTP/2 each request that runs beside others counts as one",
    ),
    (
        "waxwing_http_connections_refused_total",
        Counter,
        "reason",
        "HTTP connections refused, by the bound that was reached",
    ),
    (
        "waxwing_http2_connections_closed_total",
        Counter,
        "reason",
        "HTTP/2 connections that the server closed because their client took nothing of an answer (answer_not_taken), or canceled too many requests (requests_canceled)",
    ),
    ("waxwing_http_requests_total", Counter, "route, status", "HTTP requests"),
    ("waxwing_http_seconds", Histogram, "route", "Time from a request's headers to its answer"),
    ("waxwing_smtp_connections", Gauge, "", "Open SMTP connections"),
    (
        "waxwing_smtp_connections_refused_total",
        Counter,
        "reason",
        "SMTP connections refused, by the bound that was reached, or for their PROXY header",
    ),
    (
        "waxwing_smtp_logins_total",
        Counter,
        "",
        "Successful logins over SMTP; failed ones are refusals",
    ),
    ("waxwing_smtp_handshakes_failed_total", Counter, "", "TLS handshakes that failed"),
    (
        "waxwing_smtp_out_of_memory_total",
        Counter,
        "",
        "Messages refused because their account had its share of smtp.memory_bytes",
    ),
    (
        "waxwing_tls_certificate_expires_seconds",
        Gauge,
        "",
        "When the live TLS certificate expires, Unix time; 0 while no certificate authority has issued the first one",
    ),
    (
        "waxwing_acme_orders_total",
        Counter,
        "outcome",
        "Certificates ordered of a certificate authority: issued, or failed",
    ),
    (
        "waxwing_step_seconds",
        Histogram,
        "step",
        "Time of one step of a message: accept, policy, render, commit, deliver, event",
    ),
    ("waxwing_refusals_total", Counter, "code", "Requests and messages refused"),
    (
        "waxwing_refusal_records_dropped_total",
        Counter,
        "",
        "Decision records of refusals that were not kept because the store was busy",
    ),
    ("waxwing_commit_group_size", Histogram, "", "Requests in one transaction"),
    ("waxwing_queue_length", Gauge, "", "Messages that wait for an attempt or for their sendAt"),
    (
        "waxwing_queue_oldest_due_seconds",
        Gauge,
        "",
        "How long the longest waiting message has been due; 0 when nothing is due",
    ),
    (
        "waxwing_delivery_held",
        Gauge,
        "",
        "1 while delivery is held after a restore, until `waxwing queue release`",
    ),
    ("waxwing_read_only", Gauge, "", "1 while the server is in read-only mode"),
    (
        "waxwing_delivery_paused",
        Gauge,
        "",
        "1 while delivery is held in read-only mode (`waxwing maintenance on --hold-delivery`)",
    ),
    ("waxwing_deliveries_total", Counter, "state", "Delivery attempts, by the state they led to"),
    ("waxwing_reports_total", Counter, "kind", "Reports of other servers: bounces, complaints"),
    ("waxwing_webhook_tries_total", Counter, "outcome", "Requests to webhooks"),
    ("waxwing_dns_queries_total", Counter, "outcome", "DNS queries"),
    ("waxwing_domain_checks_total", Counter, "result", "Checks of sender domains"),
    ("waxwing_plugin_calls_total", Counter, "slot, kind, outcome", "Calls of plugins"),
    (
        "waxwing_plugin_cpu_seconds_total",
        Counter,
        "slot, plugin",
        "CPU time of plugins, in seconds",
    ),
    (
        "waxwing_plugin_failures_total",
        Counter,
        "kind",
        "Calls in which a plugin failed and the message was refused",
    ),
    ("waxwing_plugin_activations_total", Counter, "slot", "Plugins that became live"),
    ("waxwing_plugin_rollbacks_total", Counter, "slot", "Plugins that were rolled back"),
    (
        "waxwing_plugin_candidate_rejected",
        Gauge,
        "slot",
        "1 while the newest file of a slot is rejected and the version before it decides",
    ),
    (
        "waxwing_plugin_count_total",
        Counter,
        "slot, metric, and the plugin's own labels",
        "What plugins count by host.count",
    ),
    (
        "waxwing_plugin_count_dropped_total",
        Counter,
        "slot",
        "Counts of plugins that were dropped because a plugin has too many names",
    ),
    ("waxwing_plugin_log_dropped_total", Counter, "slot", "Log lines of plugins that were dropped"),
    (
        "waxwing_plugin_samples_dropped_total",
        Counter,
        "",
        "Recorded calls that were not kept because the store was busy",
    ),
    (
        "waxwing_plugin_events_dropped_total",
        Counter,
        "",
        "plugin.* events that were not written because the store was busy",
    ),
    (
        "waxwing_database_bytes",
        Gauge,
        "",
        "Size of the database file without its write-ahead log; not there on PostgreSQL",
    ),
    (
        "waxwing_database_free_bytes",
        Gauge,
        "",
        "Bytes of the database file that are free to use again; not there on PostgreSQL",
    ),
    (
        "waxwing_nodes",
        Gauge,
        "",
        "Nodes that work or finish what they have begun, as this one last saw; not there with a file",
    ),
    (
        "waxwing_node_shares",
        Gauge,
        "",
        "Of the 64 shares of all work, those of this node; not there with a file",
    ),
    (
        "waxwing_backup_last_success_timestamp_seconds",
        Gauge,
        "",
        "When the newest backup of the schedule was taken, Unix time; 0 where there is none, not there without [backup] to",
    ),
    (
        "waxwing_backup_failures_total",
        Counter,
        "",
        "Backups of the schedule that could not be taken",
    ),
    ("waxwing_backup_seconds", Histogram, "", "Time that a backup of the schedule took"),
    ("waxwing_retention_deleted_total", Counter, "what", "Records that retention has deleted"),
    (
        "waxwing_health_findings",
        Gauge,
        "check, state",
        "1 for the state that a health check is in (ok, warning, failing, not_checked), 0 for the others",
    ),
];

/// Series whose rise is an alert of `waxwing.rules.yml`: name, label, and its value. They are there from the start, with 0,
/// since Prometheus sees no rise in a series that begins with 1.
const ALERTING: [(&str, &str, &str); 3] = [
    ("waxwing_refusals_total", "code", "UNAVAILABLE"),
    ("waxwing_plugin_failures_total", "kind", "plan"),
    ("waxwing_plugin_failures_total", "kind", "renderer"),
];

/// Starts collecting.
///
/// # Errors
/// This process collects already.
pub fn start() -> Result<PrometheusHandle, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS_BUCKETS)?
        .set_buckets_for_metric(
            Matcher::Full("waxwing_commit_group_size".to_owned()),
            &GROUP_BUCKETS,
        )?
        .install_recorder()?;
    for (name, kind, _, meaning) in METRICS {
        match kind {
            Counter => describe_counter!(*name, *meaning),
            Gauge => describe_gauge!(*name, *meaning),
            Histogram => describe_histogram!(*name, *meaning),
        }
    }
    for (name, label, value) in ALERTING {
        counter!(name, label => value).increment(0);
    }
    Ok(handle)
}

#[cfg(test)]
mod tests;
