//! One attempt for one message: body, envelope, signature, and the hosts of its route.

mod author_keys;
pub mod dkim;
pub mod failover;
mod host_outcome;
mod outbound_message;
pub mod return_path;
pub mod sandbox;

use std::ops::ControlFlow::{self, Break, Continue};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use crate::delivery::outcome::{Deferral, FailureReason, Outcome, Report, RouteTaken};
use crate::delivery::routing::mx::MxHosts;
use crate::delivery::routing::route::Smarthost;
use crate::delivery::shaping::admission::{AdmissionControl, Plan};
use crate::delivery::shaping::destination::{CONNECTION_WAIT, ConnectionPermit, Slot};
use crate::delivery::smtp::Security;
use crate::id::AccountId;
use crate::mail::mta_sts::StsPolicy;
use crate::message::address::EmailAddress;
use crate::nodes::Membership;
use crate::store::Store;
use crate::store::records::Lease;
use dkim::DkimSigner;
use failover::{Delivery, Failover, Target};
use outbound_message::OutboundMessage;
use return_path::ReturnPaths;
use sandbox::Sandbox;

/// How long an attempt talks to hosts; its lease is longer.
const CONVERSATION_TIME: Duration = Duration::from_mins(15);
/// The end of an attempt, whatever it does then.
const ATTEMPT_TIME: Duration = Duration::from_mins(20);
/// Addresses of one host that an attempt tries before the next host, at most.
const MAX_ADDRESSES_PER_HOST: usize = 3;

#[derive(Debug)]
pub struct Attempts {
    pub store: Store,
    pub signer: DkimSigner,
    pub return_paths: ReturnPaths,
    pub sandbox: Sandbox,
    pub failover: Failover,
    /// Grants slots at further smarthosts.
    pub admission: Arc<AdmissionControl>,
    pub membership: Arc<Membership>,
}

impl Attempts {
    /// Makes one attempt for a message that this node leased at `leased` or later. A panic ends this attempt and nothing else.
    pub async fn make(&self, lease: &Lease, leased: std::time::Instant, plan: Plan) -> Report {
        let attempt = AssertUnwindSafe(self.within_time(lease, leased, plan)).catch_unwind();
        attempt.await.unwrap_or_else(|_| {
            tracing::error!(message_id = %lease.message_id, "delivery attempt panicked");
            Report::deferred(None, "the server failed in this attempt; see its log")
        })
    }

    async fn within_time(&self, lease: &Lease, leased: std::time::Instant, plan: Plan) -> Report {
        let permit = Arc::clone(&plan.slot().destination).connection_permit().await;
        // The process may have stood still since the lease, or waited long for a connection: another node sends the message
        // then.
        if !self.membership.held().is_in_time_since(leased) {
            return Report::deferred(None, "not begun: this node had lost the database");
        }
        let attempt = self.begin(lease, plan, permit);
        tokio::time::timeout(ATTEMPT_TIME, attempt).await.unwrap_or_else(|_| {
            let minutes = ATTEMPT_TIME.as_secs() / 60;
            let words = format!("not done after {minutes} minutes: it may have arrived");
            Report::new(Outcome::Deferred(Deferral::MayHaveArrived), None, words)
        })
    }

    async fn begin(&self, lease: &Lease, plan: Plan, permit: ConnectionPermit) -> Report {
        let raw = match self.store.body_to_deliver(lease.message_id).await {
            Ok(Some(raw)) => raw,
            Ok(None) => {
                let words = "the stored body is missing or damaged";
                return Report::new(Outcome::Failed(FailureReason::Other), None, words);
            }
            Err(error) => {
                tracing::error!(message_id = %lease.message_id, %error, "stored message body cannot be read; deferring the message");
                return Report::deferred(None, "the stored body cannot be read now");
            }
        };
        let mut message = match OutboundMessage::sign(lease, raw, &self.signer).await {
            Ok(message) => message,
            Err((outcome, words)) => return Report::new(outcome, None, words),
        };
        match plan {
            Plan::Sandbox(_slot) => self.sandbox.attempt(lease, message.content()).await,
            Plan::Smarthosts(slot, smarthosts) => {
                self.smarthosts(lease, (slot, permit), &smarthosts, &mut message).await
            }
            Plan::Direct(slot, hosts, port) => {
                self.direct(lease, &slot, &hosts, port, &mut message).await
            }
        }
    }

    async fn sender(&self, lease: &Lease) -> Result<Option<EmailAddress>, Report> {
        let path = self.return_paths.of(lease).await;
        path.map_err(|reason| Report::deferred(None, reason.to_string()))
    }

    /// Tries the smarthosts in their order until one accepts or rejects the message.
    async fn smarthosts(
        &self,
        lease: &Lease,
        first: (Slot, ConnectionPermit),
        smarthosts: &[Smarthost],
        message: &mut OutboundMessage<'_>,
    ) -> Report {
        let sender = match self.sender(lease).await {
            Ok(sender) => sender,
            Err(report) => return report,
        };
        let (mut slot, permit) = first;
        // The message keeps its memory whichever smarthost gets it.
        let _load = std::mem::take(&mut slot.permits);
        let mut first = Some((slot, permit));
        let until = Instant::now() + CONVERSATION_TIME;
        let mut last: Option<Report> = None;
        for smarthost in smarthosts {
            let (slot, _permit) = match first.take() {
                Some(first) => first,
                None => match self.further(smarthost, lease.account_id).await {
                    Some(further) => further,
                    None => continue,
                },
            };
            let delivery = Delivery {
                route: RouteTaken::Smarthost(smarthost.name.clone()),
                accepted: Outcome::Relayed,
                destination: &slot.destination,
                health: &slot.health,
                account: lease.account_id,
                sender: sender.as_ref(),
                recipient: &lease.recipient,
                begun: self.failover.clock.now(),
                until,
            };
            let after = |mut report: Report| {
                if let Some(before) = &last {
                    let before = &before.contact.conversation;
                    report.contact.conversation.insert_str(0, &format!("{before}\n"));
                }
                report
            };
            // A smarthost that accepted or rejected the message ends the attempt.
            match self.through(&delivery, smarthost, message).await {
                Break(report) => return after(report),
                Continue(report) => last = Some(after(report)),
            }
        }
        last.unwrap_or_else(|| Report::deferred(None, "no smarthost has a place now"))
    }

    /// A slot and a connection at a further smarthost, if there is one soon.
    async fn further(
        &self,
        smarthost: &Smarthost,
        account: AccountId,
    ) -> Option<(Slot, ConnectionPermit)> {
        let slot = self.admission.further_slot(smarthost, account)?;
        let permit = tokio::time::timeout(CONNECTION_WAIT, slot.destination.connection_permit())
            .await
            .ok()?;
        Some((slot, permit))
    }

    async fn through(
        &self,
        delivery: &Delivery<'_>,
        smarthost: &Smarthost,
        message: &mut OutboundMessage<'_>,
    ) -> ControlFlow<Report, Report> {
        // The operator's own hosts may stand where only the operating system knows them.
        let found = tokio::net::lookup_host((smarthost.host.as_str(), smarthost.port)).await;
        let addresses = match found {
            Ok(addresses) => addresses,
            Err(error) => {
                let words = format!("{} has no address: {error}", smarthost.host);
                let now = self.failover.clock.now();
                let backoff = delivery.health.record_failure(&words, delivery.begun, now);
                let why = match backoff {
                    Some(backoff) => Deferral::NoReply.backing_off(backoff),
                    None => Deferral::NoReply,
                };
                let route = Some(delivery.route.clone());
                return Continue(Report::new(Outcome::Deferred(why), route, words));
            }
        };
        let targets: Vec<Target<'_>> = addresses
            .map(|address| Target {
                host: &smarthost.host,
                preference: 0,
                destination: Arc::clone(delivery.destination),
                address,
                security: smarthost.security,
                login: smarthost.login.as_ref(),
            })
            .collect();
        self.failover.deliver(delivery, &targets, message, &self.signer).await
    }

    async fn direct(
        &self,
        lease: &Lease,
        slot: &Slot,
        hosts: &MxHosts,
        port: u16,
        message: &mut OutboundMessage<'_>,
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
                let destination = self.admission.operator(&host.name);
                host.addresses.iter().take(MAX_ADDRESSES_PER_HOST).map(move |address| Target {
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
            return Report::deferred(Some(RouteTaken::Direct), words);
        }
        let delivery = Delivery {
            route: RouteTaken::Direct,
            accepted: Outcome::Delivered,
            destination: &slot.destination,
            health: &slot.health,
            account: lease.account_id,
            sender: sender.as_ref(),
            recipient: &lease.recipient,
            begun: self.failover.clock.now(),
            until: Instant::now() + CONVERSATION_TIME,
        };
        let delivered = self.failover.deliver(&delivery, &targets, message, &self.signer).await;
        let (Break(mut report) | Continue(mut report)) = delivered;
        let has_no_reply = match &report.outcome {
            Outcome::Deferred(why) => why.reply().is_none(),
            Outcome::Delivered(_)
            | Outcome::Relayed(_)
            | Outcome::Bounced(..)
            | Outcome::Failed(_) => false,
        };
        if is_enforced && has_no_reply {
            report.words.push_str("; the domain's MTA-STS policy demands a valid certificate");
        }
        report
    }
}
