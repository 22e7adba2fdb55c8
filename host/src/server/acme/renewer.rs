//! The task that keeps the certificate good: orders it where there is none, renews it in time, and tries again where the CA
//! refuses or is down.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::challenges::Challenges;
use super::client::AcmeClient;
use super::error::AcmeError;
use super::renewal::{Chance, Window, ask_pause, at_two_thirds, retry_pause};
use super::trouble::Trouble;
use super::{AcmeSetupError, https_client};
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::server::data_dir::DataDir;
use crate::server::hangups::Hangups;
use crate::server::tls::{Certificates, Issued};

/// The longest pause between two looks at the file: somebody may have removed it.
const LOOK_INTERVAL: Duration = Duration::from_hours(1);
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// When a CA that suggests no time of renewal, or that did not answer, is asked again.
const ASK_PAUSE: Duration = Duration::from_hours(6);

/// Keeps the certificate good.
#[derive(Debug)]
pub struct Renewer {
    client: AcmeClient,
    certificates: Arc<Certificates>,
    clock: Clock,
    trouble: Trouble,
    hangups: Hangups,
    plan: Option<Plan>,
    /// In a row.
    failures: u32,
}

/// When a certificate is renewed.
#[derive(Debug, Clone)]
struct Plan {
    certificate: Issued,
    window: Option<Window>,
    renew_at: Timestamp,
    /// When the CA is asked for its suggestion.
    ask_at: Timestamp,
}

enum Due {
    Now(&'static str),
    At(Timestamp),
}

impl Renewer {
    /// For the certificate of these ports; nothing where the settings order none.
    ///
    /// # Errors
    /// The files that the settings name cannot be used.
    pub fn open(
        config: &Config,
        data: &DataDir,
        certificates: Option<Arc<Certificates>>,
        (challenges, trouble): (&Challenges, &Trouble),
        clock: &Clock,
    ) -> Result<Option<Self>, AcmeSetupError> {
        let settings = config.acme.clone();
        if !settings.enabled {
            return Ok(None);
        }
        let Some(certificates) = certificates else {
            tracing::warn!(
                "acme.enabled: no port of this server needs a certificate, so none is ordered"
            );
            return Ok(None);
        };
        // Made now: a directory that cannot be is a fault of the start, not of an order at night.
        data.acme()?;
        let client = AcmeClient {
            http: https_client(&settings)?,
            names: settings.names(&config.smtp),
            settings,
            data: data.clone(),
            challenges: challenges.clone(),
        };
        Ok(Some(Self {
            client,
            certificates,
            clock: clock.clone(),
            trouble: trouble.clone(),
            hangups: Hangups::listen().map_err(AcmeSetupError::Signals)?,
            plan: None,
            failures: 0,
        }))
    }

    /// Runs until `stop`. SIGHUP ends a pause: what failed is tried again at once.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let Some(pause) = stop.run_until_cancelled(self.step()).await else { return };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.hangups.next() => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Orders a certificate where one is due; answers how long nothing is to be done.
    async fn step(&mut self) -> Duration {
        let reason = match self.due().await {
            Due::At(moment) => {
                // No order is due, so none that failed is left to be told of.
                self.failures = 0;
                self.trouble.tell(None);
                return self.clock.now().until(moment).clamp(MIN_PAUSE, LOOK_INTERVAL);
            }
            Due::Now(reason) => reason,
        };
        let names = self.client.names.join(", ");
        let ca = self.client.settings.directory.clone();
        tracing::info!(names, ca, reason, "ordering a certificate");
        match self.client.order().await {
            Ok(issued) => {
                count("issued");
                self.failures = 0;
                self.trouble.tell(None);
                tracing::info!(names, until = %issued.not_after, "the CA has issued a certificate");
                // The watch of the files shows it. A certificate that is due already would be ordered without an end.
                if matches!(self.due().await, Due::Now(_)) { LOOK_INTERVAL } else { MIN_PAUSE }
            }
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &AcmeError) -> Duration {
        count("failed");
        self.failures = self.failures.saturating_add(1);
        let (now, until) = (self.clock.now(), self.certificates.expires_at());
        let left = until.map_or(Duration::ZERO, |it| now.until(it));
        let pause = retry_pause(self.failures, left, Chance::random());
        let again = now.after(pause);
        self.trouble.tell(Some(format!("{error}. The server tries again at {again}")));
        tracing::error!(
            %error, until = until.map(tracing::field::display), next_attempt = %again, failures = self.failures,
            "no new certificate; the one that is shown stays (SIGHUP tries again at once)"
        );
        pause
    }

    /// Whether a certificate is to be ordered now, and why.
    async fn due(&mut self) -> Due {
        let issued = match Issued::read(&self.client.data) {
            Ok(Some(issued)) => issued,
            Ok(None) => return Due::Now("there is none"),
            Err(_) => return Due::Now("the one that is kept cannot be used"),
        };
        if !issued.covers(&self.client.names) {
            return Due::Now("the names have changed");
        }
        if issued.is_of_another_ca(&self.client.settings.directory) {
            return Due::Now("acme.directory has changed");
        }
        let now = self.clock.now();
        let plan = self.plan.take().filter(|it| it.certificate == issued);
        let mut plan = plan.unwrap_or_else(|| Plan::new(issued, now));
        if now >= plan.ask_at {
            self.ask(&mut plan, now).await;
        }
        let (renew_at, ask_at) = (plan.renew_at, plan.ask_at);
        self.plan = Some(plan);
        if now >= renew_at {
            Due::Now("it is to be renewed")
        } else {
            Due::At(renew_at.min(ask_at))
        }
    }

    /// Asks the CA when to renew (ARI, RFC 9773). A CA that knows of no such suggestion leaves the plan.
    async fn ask(&self, plan: &mut Plan, now: Timestamp) {
        plan.ask_at = now.after(ASK_PAUSE);
        match Box::pin(self.client.suggested_window(&plan.certificate)).await {
            Ok(Some((window, again))) => {
                plan.ask_at = now.after(ask_pause(again));
                if plan.window != Some(window) {
                    plan.window = Some(window);
                    plan.renew_at = window.moment(Chance::random());
                    let renew_at = plan.renew_at;
                    tracing::info!(%renew_at, "the CA suggests when to renew the certificate");
                }
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, renew_at = %plan.renew_at, "the CA does not say when to renew; the plan stays");
            }
        }
    }
}

impl Plan {
    fn new(certificate: Issued, now: Timestamp) -> Self {
        let (from, until) = (certificate.not_before, certificate.not_after);
        let renew_at = at_two_thirds(from, until, Chance::random());
        Self { certificate, window: None, renew_at, ask_at: now }
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("waxwing_acme_orders_total", "outcome" => outcome).increment(1);
}
