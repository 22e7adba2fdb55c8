//! Whether the server is well: what its checks look at, and who hears when one of them turns.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::acme::Trouble;
use super::data_dir::DataDir;
use super::delivery::DeliverySetupError;
use super::resolvers::resolver;
use super::start_error::StartError;
use super::tls::{self, Certificates};
use super::{descriptors, domain_checks, relay, smtp};
use crate::api::Api;
use crate::api::server_mail::{MailError, SystemEmail};
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::delivery::routing::mx::{StsFetchSettings, StsPolicyFetcher};
use crate::delivery::routing::route::Route;
use crate::delivery::shaping::admission::{AdmissionControl, RoutingTable};
use crate::delivery::smtp::TlsClient;
use crate::dns::Reach;
use crate::health::{
    CertificateView, CheckName, Egress, Finding, Health, HealthSettings, Listener, Live, Naming,
    ReloadableSettings, Renewal, Scope, ServerView, State, Tell, Turn, World,
};
use crate::message::address::EmailAddress;
use crate::nodes::{Job, Membership, Share};
use crate::plugin::Plugins;
use crate::store::{EventKind, Store, StoreError};

/// Under which name the store keeps what was told of the database; what was told of a node has its name besides.
const TOLD: &str = "health checks that were told to fail";

/// The parts of a running server that its checks look at.
#[derive(Debug)]
pub struct Parts {
    pub clock: Clock,
    pub store: Store,
    pub plugins: Arc<Plugins>,
    pub admission: Arc<AdmissionControl>,
    /// None where no port needs one.
    pub certificates: Option<Arc<Certificates>>,
    /// Why the last order at a CA brought no certificate; none where the configuration orders none.
    pub orders: Option<Trouble>,
    pub listeners: Vec<Listener>,
}

/// The checks of a server that runs in this process, by its configuration.
pub fn running(config: &Config, parts: Parts) -> Result<Health, DeliverySetupError> {
    let Parts { clock, store, plugins, admission, certificates, orders, listeners } = parts;
    let wanted_descriptors = descriptors::wanted(config);
    let data = DataDir::unopened(&config.store);
    let key_fault = Tell::new(move || data.key_fault().map(|it| it.to_string()));
    let started_at = clock.now();
    let live = Live { started_at, store, plugins, listeners, wanted_descriptors, key_fault };
    let server = ServerView::Running(Box::new(live));
    let egress = Tell::new(move || egress(&admission.routes.load()));
    let (hostname, is_named) = host(config);
    let certificate = Tell::new(move || {
        let Some(live) = &certificates else { return CertificateView::NotNeeded };
        // What a CA has issued and cannot be used is ordered anew.
        if let (Some(fault), None) = (live.fault(), &orders) {
            return CertificateView::Faulty(format!(
                "{fault}. The certificate of before is shown until the server stops; the next start fails."
            ));
        }
        let Some(ends) = live.expires_at() else {
            return CertificateView::StandIn(orders.as_ref().and_then(Trouble::told));
        };
        CertificateView::Loaded {
            ends,
            naming: naming(is_named, live.names(&hostname)),
            renewal: orders.as_ref().map_or(Renewal::ByHand, |it| Renewal::ByOrder(it.told())),
        }
    });
    world(config, clock, egress, certificate, server).map(Health::new)
}

/// The checks that need no running server, of the server that a configuration is for.
pub fn offline(config: &Config) -> Result<Health, StartError> {
    let (data, directory) = (DataDir::unopened(&config.store), config.store.data_dir.display());
    let server = if data.is_held() {
        ServerView::Silent(format!("The server that runs on {directory} does not answer."))
    } else {
        ServerView::Stopped(format!("No server runs on {directory}."))
    };
    let delivery = &config.delivery;
    let mut routes = delivery.rules.iter().map(|it| it.route).chain([delivery.route]);
    let egress = if routes.any(|it| it == config::Route::Direct) {
        Egress::Direct { port: delivery.port }
    } else {
        Egress::Elsewhere
    };
    let (settings, (hostname, is_named)) = (config.clone(), host(config));
    let certificate = Tell::new(move || {
        if !relay::needs_certificate(&settings) {
            return CertificateView::NotNeeded;
        }
        let is_ordered = settings.acme.enabled;
        match tls::look((&settings.smtp, &settings.acme), &data, &hostname) {
            // What a CA has issued and cannot be used is ordered anew.
            None | Some(Err(_)) if is_ordered => {
                CertificateView::NotYet("The server orders one at a CA when it runs.")
            }
            None => CertificateView::NotYet("The server makes one of its own when it starts."),
            Some(Ok((ends, names))) => CertificateView::Loaded {
                ends,
                naming: naming(is_named, names),
                renewal: if is_ordered { Renewal::ByOrder(None) } else { Renewal::ByHand },
            },
            Some(Err(faults)) => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                CertificateView::Faulty(format!("{}.", faults.join("; ")))
            }
        }
    });
    let world = world(config, Clock::system(), Tell::new(move || egress), certificate, server)?;
    Ok(Health::new(world))
}

fn world(
    config: &Config,
    clock: Clock,
    egress: Tell<Egress>,
    certificate: Tell<CertificateView>,
    server: ServerView,
) -> Result<World, DeliverySetupError> {
    let (delivery, backup) = (&config.delivery, &config.backup);
    // Lookups of its own: a check waits for no domain's and no delivery's.
    let resolver = resolver(config, &clock)?;
    let tls = TlsClient::new(delivery.ca_file.as_deref())?;
    let fetched = StsFetchSettings {
        reach: if delivery.allow_private { Reach::Anywhere } else { Reach::Public },
        port: delivery.mta_sts_port,
        ..StsFetchSettings::default()
    };
    let policies = StsPolicyFetcher::new(resolver.clone(), tls.verifying(), &fetched)?;
    let names = domain_checks::check_settings(config);
    let settings = HealthSettings {
        hostname: host(config).0,
        spf_include: names.spf_include,
        return_path_host: names.return_path_host,
        takes_reports: config.bounces.address().is_some(),
        source_addresses: delivery.local_addresses.clone(),
        data_dir: config.store.data_dir.clone(),
        secrets: DataDir::unopened(&config.store).secrets(),
        private_key: config.smtp.private_key.clone(),
        backup_every: backup.to.is_some().then(|| Duration::from_secs(backup.every_s)),
    };
    let reloadable = ArcSwap::from_pointee(reloadable(config));
    Ok(World { clock, resolver, policies, settings, reloadable, egress, certificate, server })
}

/// The settings of a configuration that a reload replaces.
#[must_use]
pub fn reloadable(config: &Config) -> ReloadableSettings {
    let health = &config.health;
    ReloadableSettings {
        block_lists: health.block_lists.iter().map(|it| it.as_str().to_owned()).collect(),
        port_25_domain: health.port_25_domain.as_ref().map(|it| it.as_str().to_owned()),
        time_server: health.time_server.as_ref().map(|it| (it.host.clone(), it.port)),
        dkim_key_age: health.dkim_key_age(),
        every: health.every(),
        notify: health.notify.clone(),
    }
}

/// The name in EHLO, and whether the configuration says it.
fn host(config: &Config) -> (String, bool) {
    (smtp::hostname(&config.smtp).as_str().to_owned(), config.smtp.hostname.is_some())
}

fn naming(is_named: bool, names: bool) -> Naming {
    match (is_named, names) {
        (false, _) => Naming::NotCompared,
        (true, true) => Naming::ThisHost,
        (true, false) => Naming::OtherHosts,
    }
}

fn egress(table: &RoutingTable) -> Egress {
    let routes = &table.routes;
    let mut all = routes.rules.iter().map(|it| &it.route).chain([&routes.default]);
    if all.any(|it| matches!(it, Route::Direct)) {
        Egress::Direct { port: table.port }
    } else {
        Egress::Elsewhere
    }
}

/// What was done of an alert that is not told as a whole: its event where no address stands there, or the e-mail to one.
type Done = Vec<(CheckName, Turn, Option<EmailAddress>)>;

/// Makes the checks when they are due, and tells what has turned.
#[derive(Debug)]
pub struct Alerts {
    pub api: Api,
    pub hostname: String,
    /// The name of this node.
    pub node: String,
    pub membership: Arc<Membership>,
}

impl Alerts {
    /// Runs until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let health = &self.api.health;
        if let Err(error) = self.recall(Scope::Node).await {
            tracing::warn!(%error, "cannot read which health checks were told to fail; they are told again");
        }
        let mut done = Done::new();
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = health.asked() => {}
                () = tokio::time::sleep(health.pause()) => {
                    // What is given up at a stop is made after the next start.
                    let _given_up = stop.run_until_cancelled(health.check_regularly()).await;
                }
            }
            self.tell(&mut done).await;
        }
    }

    /// What could not be told is told after the next run.
    async fn tell(&self, done: &mut Done) {
        let tells_of_database = self.tells_of_database().await;
        let mut own = self.api.health.turned();
        own.retain(|(_, it)| tells_of_database || it.check.scope() == Scope::Node);
        done.retain(|(check, turn, _)| own.iter().any(|it| (it.1.check, it.0) == (*check, *turn)));
        for (turn, finding) in own {
            let (check, facts) = (finding.check.as_str(), facts(&finding, self.shown_node()));
            let (store, now) = (&self.api.store, self.api.clock.now());
            let event = (finding.check, turn, None);
            if !done.contains(&event) {
                let recorded =
                    store.record_server_event(EventKind::ServerHealth, check, &facts, now).await;
                if let Err(error) = recorded {
                    tracing::error!(%error, check, "cannot store the event of a health check that has turned; it is told after the next run");
                    continue;
                }
                done.push(event);
            }
            if !Box::pin(self.mail(turn, &finding, done)).await {
                continue;
            }
            let told = self.api.health.told(finding.check, turn);
            if let Err(error) = store.note(&self.note(finding.check.scope()), &told).await {
                tracing::warn!(%error, check, "cannot note that a health check was told to have turned; the next start may tell it again");
            }
        }
    }

    /// Whether it is this node that tells of the database. What another node has told is known then.
    async fn tells_of_database(&self) -> bool {
        if !self.membership.holds(Share::of_job(Job::HealthAlerts)) {
            return false;
        }
        let recalled = self.recall(Scope::Database).await;
        if let Err(error) = &recalled {
            tracing::warn!(%error, "cannot read which health checks of the database were told to fail; they are told after a later run");
        }
        recalled.is_ok()
    }

    /// Reads which checks of a scope were told to fail.
    async fn recall(&self, scope: Scope) -> Result<(), StoreError> {
        let told = self.api.store.noted(&self.note(scope)).await?;
        self.api.health.remember(scope, &told.unwrap_or_default());
        Ok(())
    }

    fn note(&self, scope: Scope) -> String {
        match scope {
            Scope::Node => format!("{TOLD}: {}", self.node),
            Scope::Database => TOLD.to_owned(),
        }
    }

    /// The name of this node, where there may be others.
    fn shown_node(&self) -> Option<&str> {
        (!self.api.store.has_file()).then_some(self.node.as_str())
    }

    /// Answers whether everybody has the e-mail who can get it.
    async fn mail(&self, turn: Turn, finding: &Finding, done: &mut Done) -> bool {
        let mut is_done = true;
        let url = self.api.people_url.as_deref();
        let (subject, text) = letter(turn, finding, (&self.hostname, self.shown_node()), url);
        for to in &self.api.health.settings().notify {
            let sent = (finding.check, turn, Some(to.clone()));
            if done.contains(&sent) {
                continue;
            }
            let letter = SystemEmail::Health { subject: &subject, text: &text };
            match self.api.mail(to, &letter).await {
                Ok(()) => done.push(sent),
                Err(error @ (MailError::Refused(_) | MailError::Store(_))) => {
                    let check = finding.check.as_str();
                    tracing::error!(%error, check, "the e-mail about a health check was not sent; it is tried again after the next run");
                    is_done = false;
                }
                // Only a change of the configuration mends this.
                Err(
                    error @ (MailError::NotConfigured | MailError::NoSender | MailError::Readable),
                ) => {
                    let check = finding.check.as_str();
                    tracing::error!(%error, check, "the e-mail about a health check was not sent");
                }
            }
        }
        is_done
    }
}

/// What webhooks of the server get.
fn facts(finding: &Finding, node: Option<&str>) -> Value {
    let Finding { check, verdict, since, .. } = finding;
    json!({
        "check": check.as_str(),
        "title": check.title(),
        "state": verdict.state.as_str(),
        "what": verdict.what,
        "why": check.why(),
        "todo": verdict.todo,
        "since": since.rfc3339(),
        "node": node,
    })
}

/// Subject and text of the e-mail about a check that has turned.
fn letter(
    turn: Turn,
    finding: &Finding,
    (hostname, node): (&str, Option<&str>),
    url: Option<&str>,
) -> (String, String) {
    let Finding { check, verdict, since, .. } = finding;
    let title = check.title();
    let subject = match turn {
        Turn::Failing => format!("{hostname}: {title} is failing"),
        Turn::Over => format!("{hostname}: {title} is failing no more"),
        Turn::NotChecked => {
            format!("{hostname}: {title} was failing and cannot be checked any more")
        }
    };
    let mut lines = vec![format!("{title}: {}", verdict.what)];
    if verdict.state != State::Ok {
        lines.push(format!("Why it matters: {}", check.why()));
    }
    lines.extend(verdict.todo.as_ref().map(|it| format!("What to do: {it}")));
    let page = url.map(|it| format!(" See {it}/ops, or run `waxwing doctor` on the server."));
    let seen_by = node.map(|it| format!(", as the node {it} sees it")).unwrap_or_default();
    lines.push(format!(
        "It has been so since {since}{seen_by}.{}",
        page.unwrap_or_else(|| " Run `waxwing doctor` on the server.".to_owned())
    ));
    (subject, format!("{}\r\n", lines.join("\r\n\r\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::health::Verdict;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn finding(verdict: Verdict) -> Finding {
        Finding { check: CheckName::BlockLists, verdict, since: NOW, checked_at: NOW }
    }

    #[test]
    fn an_alert_says_what_is_wrong_why_it_matters_and_what_to_do() {
        let failing = finding(Verdict::failing("5.9.1.7 is listed.", "Find out why first."));
        let host = ("mail.example.net", None);
        let (subject, text) = letter(Turn::Failing, &failing, host, None);
        assert_eq!(subject, "mail.example.net: Block lists is failing");
        for part in ["5.9.1.7 is listed.", "Why it matters: ", "What to do: Find", "waxwing doctor"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let facts = facts(&failing, Some("mx-1"));
        assert_eq!(facts["todo"], "Find out why first.");
        assert_eq!(facts["node"], "mx-1");
        let unknown = finding(Verdict::not_checked("No name server answers."));
        let (subject, text) = letter(Turn::NotChecked, &unknown, host, None);
        assert!(subject.ends_with("was failing and cannot be checked any more"), "{subject}");
        assert!(text.contains("No name server answers."), "{text}");
        let (url, well) = (Some("https://mail.example.net"), finding(Verdict::ok("Clean.")));
        let host = ("mail.example.net", Some("mx-1"));
        let (subject, text) = letter(Turn::Over, &well, host, url);
        assert!(subject.ends_with("failing no more") && !text.contains("Why it matters"));
        assert!(text.contains("https://mail.example.net/ops"), "{text}");
        assert!(text.contains(", as the node mx-1 sees it."), "{text}");
    }

    #[test]
    fn the_checks_of_a_configuration_are_made_without_a_server() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut config = Config::default();
        config.store.data_dir = directory.path().join("data");
        config.dns.nameservers = vec!["127.0.0.1:1".to_owned().try_into().expect("an address")];
        offline(&config).expect("it needs nothing");
        assert!(!config.store.data_dir.exists(), "and makes nothing");
    }
}
