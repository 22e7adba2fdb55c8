//! One attempt for one message: its content, its envelope, its signature, its way.

pub mod dkim;
pub mod failover;
mod host_outcome;
mod outbound_message;
pub mod return_path;
pub mod sandbox;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use crate::delivery::outcome::{Report, Verdict};
use crate::delivery::routing::mx::{Exchange, Hosts};
use crate::delivery::routing::route::Smarthost;
use crate::delivery::shaping::admission::{Course, DIRECT, Placement};
use crate::delivery::shaping::destination::{Place, Turn};
use crate::delivery::smtp::Security;
use crate::id::AccountId;
use crate::mail::mta_sts::StsPolicy;
use crate::message::address::EmailAddress;
use crate::store::Store;
use crate::store::records::Lease;
use dkim::Signatory;
use failover::{Carrier, Errand, Target};
use outbound_message::Letter;
use return_path::ReturnPaths;
use sandbox::Sandbox;

/// How long hosts are talked with in an attempt; its lease is longer.
const LONGEST: Duration = Duration::from_mins(15);
/// When it is ended, whatever it does.
const LAST: Duration = Duration::from_mins(20);
/// Addresses of one host that an attempt tries; then the next host has its turn.
const ADDRESSES: usize = 3;
/// How long a message waits for a connection to a second smarthost.
const TURN: Duration = Duration::from_secs(30);

/// What all attempts share.
#[derive(Debug)]
pub struct Attempts {
    /// Where the content is.
    pub store: Store,
    /// Who signs.
    pub signatory: Signatory,
    /// Where bounces go.
    pub return_paths: ReturnPaths,
    /// The way into the sandbox inbox.
    pub sandbox: Sandbox,
    /// The way to everywhere else.
    pub carrier: Carrier,
    /// For a further smarthost.
    pub placement: Arc<Placement>,
}

impl Attempts {
    /// Makes one attempt. A panic in it is the end of this attempt and of nothing else.
    pub async fn make(&self, lease: &Lease, course: Course) -> Report {
        let attempt = AssertUnwindSafe(self.within_time(lease, course)).catch_unwind();
        attempt.await.unwrap_or_else(|_| {
            tracing::error!(message = %lease.message_id, "an attempt panicked");
            Report::new(Verdict::Deferred, "", "the server failed in this attempt; see its log")
        })
    }

    async fn within_time(&self, lease: &Lease, course: Course) -> Report {
        let destination = match &course {
            Course::Sandbox(place) | Course::Smarthosts(place, _) | Course::Direct(place, ..) => {
                Arc::clone(&place.destination)
            }
            Course::Over(report) => return report.clone(),
        };
        let turn = destination.turn().await;
        let attempt = self.begin(lease, course, turn);
        tokio::time::timeout(LAST, attempt).await.unwrap_or_else(|_| {
            let minutes = LAST.as_secs() / 60;
            let words = format!("not done after {minutes} minutes: it may have arrived");
            Report { is_uncertain: true, ..Report::new(Verdict::Deferred, "", words) }
        })
    }

    async fn begin(&self, lease: &Lease, course: Course, turn: Turn) -> Report {
        let raw = match self.store.body(lease.message_id).await {
            Ok(Some(raw)) => raw,
            Ok(None) => {
                let words = "the stored body is missing or damaged";
                return Report::new(Verdict::Failed, "", words);
            }
            Err(error) => {
                tracing::error!(message = %lease.message_id, %error, "a body cannot be read");
                return Report::new(Verdict::Deferred, "", "the stored body cannot be read now");
            }
        };
        let mut letter = match Letter::sign(lease, raw, &self.signatory).await {
            Ok(letter) => letter,
            Err(report) => return report,
        };
        match course {
            Course::Sandbox(_place) => self.sandbox.attempt(lease, letter.content()).await,
            Course::Smarthosts(place, smarthosts) => {
                self.smarthosts(lease, (place, turn), &smarthosts, &mut letter).await
            }
            Course::Direct(place, exchange, port) => match &*exchange {
                Exchange::Hosts(hosts) => {
                    self.direct(lease, &place, hosts, port, &mut letter).await
                }
                Exchange::Never { reason, .. } | Exchange::NotNow { reason } => {
                    Report::new(Verdict::Deferred, DIRECT, reason.clone())
                }
            },
            Course::Over(report) => report,
        }
    }

    async fn sender(&self, lease: &Lease) -> Result<Option<EmailAddress>, Report> {
        let path = self.return_paths.of(lease).await;
        path.map_err(|reason| Report::new(Verdict::Deferred, "", reason))
    }

    /// The first one, and where that cannot be reached, the others in their order.
    async fn smarthosts(
        &self,
        lease: &Lease,
        first: (Place, Turn),
        smarthosts: &[Smarthost],
        letter: &mut Letter<'_>,
    ) -> Report {
        let sender = match self.sender(lease).await {
            Ok(sender) => sender,
            Err(report) => return report,
        };
        let (mut place, turn) = first;
        // The message keeps its memory whichever of them it goes to.
        let _load = std::mem::take(&mut place.load);
        let mut first = Some((place, turn));
        let until = Instant::now() + LONGEST;
        let mut last: Option<Report> = None;
        for smarthost in smarthosts {
            let (place, _turn) = match first.take() {
                Some(first) => first,
                None => match self.further(smarthost, lease.account_id).await {
                    Some(further) => further,
                    None => continue,
                },
            };
            let errand = Errand {
                route: &smarthost.name,
                taken: Verdict::Relayed,
                destination: &place.destination,
                health: &place.health,
                account: lease.account_id,
                sender: sender.as_ref(),
                recipient: &lease.recipient,
                begun: self.carrier.clock.now(),
                until,
            };
            let report = self.through(&errand, smarthost, letter).await;
            let report = match last.take() {
                Some(before) => Report {
                    conversation: format!("{}\n{}", before.conversation, report.conversation),
                    ..report
                },
                None => report,
            };
            // Only one that has not judged the message leaves it to the next.
            if !report.is_open {
                return report;
            }
            last = Some(report);
        }
        last.unwrap_or_else(|| Report::new(Verdict::Deferred, "", "no smarthost has a place now"))
    }

    /// A place and a connection at another smarthost, if there is one soon.
    async fn further(&self, smarthost: &Smarthost, account: AccountId) -> Option<(Place, Turn)> {
        let place = self.placement.next(smarthost, account)?;
        let turn = tokio::time::timeout(TURN, place.destination.turn()).await.ok()?;
        Some((place, turn))
    }

    async fn through(
        &self,
        errand: &Errand<'_>,
        smarthost: &Smarthost,
        letter: &mut Letter<'_>,
    ) -> Report {
        // The operator's own hosts may stand where only the operating system knows them.
        let found = tokio::net::lookup_host((smarthost.host.as_str(), smarthost.port)).await;
        let addresses = match found {
            Ok(addresses) => addresses,
            Err(error) => {
                let words = format!("{} has no address: {error}", smarthost.host);
                let now = self.carrier.clock.now();
                let rest = errand.health.has_failed(&words, errand.begun, now);
                let report = Report::new(Verdict::Deferred, &smarthost.name, words);
                return Report { rest: rest.map(Box::new), is_open: true, ..report };
            }
        };
        let targets: Vec<Target<'_>> = addresses
            .map(|address| Target {
                host: &smarthost.host,
                preference: 0,
                destination: Arc::clone(errand.destination),
                address,
                security: smarthost.security,
                login: smarthost.login.as_ref(),
            })
            .collect();
        self.carrier.carry(errand, &targets, letter, &self.signatory).await
    }

    async fn direct(
        &self,
        lease: &Lease,
        place: &Place,
        hosts: &Hosts,
        port: u16,
        letter: &mut Letter<'_>,
    ) -> Report {
        let sender = match self.sender(lease).await {
            Ok(sender) => sender,
            Err(report) => return report,
        };
        let is_enforced = hosts.policy.as_ref().is_some_and(StsPolicy::is_enforced);
        let security = if is_enforced { Security::Verified } else { Security::Opportunistic };
        let targets: Vec<Target<'_>> = hosts
            .hosts
            .iter()
            .filter(|host| host.allowed_by_policy || !is_enforced)
            .flat_map(|host| {
                let destination = self.placement.operator(&host.name);
                host.addresses.iter().take(ADDRESSES).map(move |address| Target {
                    host: &host.name,
                    preference: host.preference,
                    destination: Arc::clone(&destination),
                    address: (*address, port).into(),
                    security,
                    login: None,
                })
            })
            .collect();
        if targets.is_empty() && is_enforced {
            let words = "its MTA-STS policy allows none of its mail exchangers (RFC 8461)";
            return Report::new(Verdict::Deferred, DIRECT, words);
        }
        let errand = Errand {
            route: DIRECT,
            taken: Verdict::Delivered,
            destination: &place.destination,
            health: &place.health,
            account: lease.account_id,
            sender: sender.as_ref(),
            recipient: &lease.recipient,
            begun: self.carrier.clock.now(),
            until: Instant::now() + LONGEST,
        };
        let report = self.carrier.carry(&errand, &targets, letter, &self.signatory).await;
        if is_enforced && report.code.is_none() && report.verdict == Verdict::Deferred {
            let words = format!(
                "{}; the domain's MTA-STS policy demands a valid certificate",
                report.words
            );
            return Report { words, ..report };
        }
        report
    }
}
