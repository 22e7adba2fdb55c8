//! Fail-over: sends one message to the first of several hosts that accepts or rejects it, over idle
//! connections where there are any.

use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;

use tokio::time::{Instant, timeout, timeout_at};

use super::dkim::DkimSigner;
use super::host_outcome::{HostOutcome, HostVerdict, reply_text};
use super::outbound_message::OutboundMessage;
use crate::clock::{Clock, Timestamp};
use crate::delivery::outcome::{Contact, Deferral, Outcome, ReplyCode, Report, RouteTaken};
use crate::delivery::shaping::backoff::Health;
use crate::delivery::shaping::destination::{CONNECTION_WAIT, Destination};
use crate::delivery::shaping::unresponsive::UnresponsiveAddresses;
use crate::delivery::smtp::{
    Broken, Cause, Dial, Envelope, Login, Refused, Security, Session, Stage, Timeouts, TlsClient,
    Violation,
};
use crate::id::AccountId;
use crate::message::address::EmailAddress;

const MAX_ADDRESSES: usize = 8;

#[derive(Debug)]
pub struct Failover {
    pub unresponsive: UnresponsiveAddresses,
    pub hello: String,
    /// The source address by family; the system's choice where there is none.
    pub source_addresses: Vec<IpAddr>,
    pub tls: TlsClient,
    pub timeouts: Timeouts,
    pub clock: Clock,
}

/// One address that may accept the message.
#[derive(Debug)]
pub struct Target<'a> {
    /// The host name that its certificate must have.
    pub host: &'a str,
    /// The lower, the earlier; among equals one with an idle connection is tried first.
    pub preference: u16,
    /// The destination whose connections it uses.
    pub destination: Arc<Destination>,
    pub address: SocketAddr,
    pub security: Security,
    pub login: Option<&'a Login>,
}

/// One message on its way to a destination.
#[derive(Debug)]
pub struct Delivery<'a> {
    pub route: RouteTaken,
    /// What an accepted message is: delivered, or relayed by a smarthost.
    pub accepted: fn(ReplyCode) -> Outcome,
    pub destination: &'a Arc<Destination>,
    pub health: &'a Arc<Health>,
    pub account: AccountId,
    pub sender: Option<&'a EmailAddress>,
    pub recipient: &'a EmailAddress,
    pub begun: Timestamp,
    /// The end of the attempt, whatever it does then.
    pub until: Instant,
}

impl Failover {
    /// Tries the addresses in their order. Delivery backs off from the hosts only if none of them
    /// would start a transaction. Breaks where the attempt is over; continues where another server
    /// may be tried in it.
    pub async fn deliver(
        &self,
        delivery: &Delivery<'_>,
        targets: &[Target<'_>],
        message: &mut OutboundMessage<'_>,
        signer: &DkimSigner,
    ) -> ControlFlow<Report, Report> {
        let mut last: Option<Report> = None;
        let (mut unavailable, mut stalled, mut transient) = (None, None, None);
        let mut is_unavailable = true;
        let mut order = self.in_order(targets).into_iter().take(MAX_ADDRESSES).peekable();
        while let Some(target) = order.next() {
            if Instant::now() >= delivery.until {
                break;
            }
            let patience = if order.peek().is_some() { Patience::Shortage } else { Patience::Long };
            let at_host = self.try_one(delivery, target, patience, message, signer).await;
            self.note(target, &at_host.verdict);
            match &at_host.verdict {
                HostVerdict::Final(outcome) => {
                    let may_fail_over = matches!(outcome, Outcome::Deferred(Deferral::Refused(_)));
                    let report = report(delivery, target, at_host, last);
                    return if may_fail_over { Continue(report) } else { Break(report) };
                }
                HostVerdict::Uncertain(reason) => {
                    delivery.health.record_stall(reason, delivery.begun, self.clock.now());
                    return Break(report(delivery, target, at_host, last));
                }
                HostVerdict::Unavailable(_, reason) => unavailable = Some(reason.clone()),
                HostVerdict::Stalled(reason) => stalled = Some(reason.clone()),
                HostVerdict::TransientFailure(_, reason) => transient = Some(reason.clone()),
                HostVerdict::Incapable | HostVerdict::Busy => is_unavailable = false,
            }
            last = Some(report(delivery, target, at_host, last));
        }
        is_unavailable = is_unavailable && stalled.is_none() && transient.is_none();
        // Counted once for a message, however many hosts were tried.
        if let Some(reason) = stalled {
            delivery.health.record_stall(&reason, delivery.begun, self.clock.now());
        }
        if let Some(reason) = transient {
            delivery.health.record_transient_failure(delivery.account, &reason, self.clock.now());
        }
        let Some(mut report) = last else {
            let name = &delivery.destination.name;
            let words = if targets.is_empty() {
                // Time alone does not mend this.
                format!("{name} has no address")
            } else {
                format!("no time was left for {name}")
            };
            return Break(Report::deferred(Some(delivery.route.clone()), words));
        };
        if let Some(reason) = unavailable.filter(|_| is_unavailable) {
            let now = self.clock.now();
            let backoff = delivery.health.record_failure(&reason, delivery.begun, now);
            report.outcome = match (report.outcome, backoff) {
                (Outcome::Deferred(why), Some(it)) => Outcome::Deferred(why.backing_off(it)),
                (outcome, _) => outcome,
            };
        }
        Continue(report)
    }

    /// Addresses that did not answer lately come last. Among equals one with an idle connection
    /// comes first: otherwise two domains that prefer different hosts of one operator would close
    /// each other's connections for each message, where the operator allows few.
    fn in_order<'a, 't>(&self, targets: &'t [Target<'a>]) -> Vec<&'t Target<'a>> {
        let now = self.clock.now();
        let mut order: Vec<&Target<'_>> = targets.iter().collect();
        // Only the first host's operator has counted the message against its rate: idle connections
        // of others change nothing.
        let first = targets.first().map(|it| Arc::as_ptr(&it.destination));
        order.sort_by_cached_key(|it| {
            let key = it.key();
            let is_of_first = first == Some(Arc::as_ptr(&it.destination));
            let is_new = !(is_of_first && it.destination.has_idle(&key));
            (self.unresponsive.has(&key, now), it.preference, is_new)
        });
        order
    }

    fn note(&self, target: &Target<'_>, verdict: &HostVerdict) {
        match verdict {
            HostVerdict::Unavailable(..) | HostVerdict::Stalled(_) | HostVerdict::Uncertain(_) => {
                self.unresponsive.mark(&target.key(), self.clock.now());
            }
            HostVerdict::Final(_) | HostVerdict::TransientFailure(..) => {
                self.unresponsive.clear(&target.key());
            }
            HostVerdict::Incapable | HostVerdict::Busy => {}
        }
    }

    async fn try_one(
        &self,
        delivery: &Delivery<'_>,
        target: &Target<'_>,
        patience: Patience,
        message: &mut OutboundMessage<'_>,
        signer: &DkimSigner,
    ) -> HostOutcome {
        // A domain may name hosts of several operators, each with its own bound of connections.
        let other_operators_permit = async {
            let is_another = !Arc::ptr_eq(&target.destination, delivery.destination);
            if is_another { Some(target.destination.connection_permit().await) } else { None }
        };
        let Ok(_permit) = timeout(CONNECTION_WAIT, other_operators_permit).await else {
            return HostOutcome::busy(&target.destination.name);
        };
        let mut conversation = String::new();
        // An idle connection may have been closed meanwhile; its first command shows that.
        while let Some(session) = target.destination.take_idle(&target.key()) {
            let opened = Connection::Reused(session, patience);
            match self.hand_over(delivery, target, opened, message, signer).await {
                HandOver::StaleConnection(said) => conversation.push_str(&said),
                HandOver::Done(outcome) => return outcome.after(&conversation),
            }
        }
        if let Some(idle) = target.destination.idle_to_close() {
            idle.quit().await;
        }
        let opened = timeout_at(delivery.until, self.open(target, &mut conversation)).await;
        let session = match opened.unwrap_or_else(|_| Err(Broken::out_of_time())) {
            Ok(session) => session,
            Err(broken) => return HostOutcome::broken(broken).after(&conversation),
        };
        match self.hand_over(delivery, target, Connection::New(session), message, signer).await {
            HandOver::Done(outcome) => outcome.after(&conversation),
            HandOver::StaleConnection(said) => {
                let words = "the connection was closed before the message";
                let verdict = HostVerdict::TransientFailure(None, words.to_owned());
                HostOutcome::new(verdict, words).with(said, None).after(&conversation)
            }
        }
    }

    /// Opens a connection; without TLS where opportunistic TLS fails (RFC 7435).
    async fn open(
        &self,
        target: &Target<'_>,
        conversation: &mut String,
    ) -> Result<Session, Broken> {
        let local =
            self.source_addresses.iter().find(|it| it.is_ipv4() == target.address.is_ipv4());
        let mut dial = Dial {
            address: target.address,
            local: local.copied(),
            host: target.host,
            hello: &self.hello,
            security: target.security,
            login: target.login,
        };
        let opened = Session::open(&dial, &self.tls, &self.timeouts).await;
        match opened {
            Err(broken)
                if target.security == Security::Opportunistic
                    && target.login.is_none()
                    && matches!(broken.stage, Stage::StartTls | Stage::Handshake) =>
            {
                conversation.push_str(&broken.transcript);
                conversation.push_str("\n(without encryption, because it failed)\n");
                dial.security = Security::Plain;
                Session::open(&dial, &self.tls, &self.timeouts).await
            }
            opened => opened,
        }
    }

    async fn hand_over(
        &self,
        delivery: &Delivery<'_>,
        target: &Target<'_>,
        opened: Connection,
        message: &mut OutboundMessage<'_>,
        signer: &DkimSigner,
    ) -> HandOver {
        let (mut session, was_kept) = match opened {
            Connection::Reused(session, patience) => (session, Some(patience)),
            Connection::New(session) => (session, None),
        };
        if let Err((outcome, words)) = message.for_hop(session.extensions(), signer).await {
            self.keep(target, session).await;
            return HandOver::Done(HostOutcome::new(HostVerdict::Final(outcome), words));
        }
        let envelope = Envelope {
            sender: delivery.sender,
            recipient: delivery.recipient,
            eight_bit: message.is_eight_bit,
            utf8: message.is_international,
        };
        let sent = timeout_at(delivery.until, session.send(&envelope, message.content())).await;
        let sent = sent.unwrap_or_else(|_| Err(session.out_of_time()));
        let conversation = session.take_transcript();
        let tls = session.tls().map(ToOwned::to_owned);
        let at_host = match sent {
            Ok(reply) => {
                delivery.health.record_success(delivery.account, self.clock.now());
                self.keep(target, session).await;
                let words = reply_text(&reply);
                let code = ReplyCode { code: reply.code, enhanced: reply.enhanced };
                HostOutcome::new(HostVerdict::Final((delivery.accepted)(code)), words)
            }
            Err(refused) if was_kept.is_some_and(|it| is_closed(&refused, it)) => {
                return HandOver::StaleConnection(conversation);
            }
            Err(refused) => {
                let at_host = HostOutcome::refused(&refused);
                if matches!(at_host.verdict, HostVerdict::Final(_)) {
                    delivery.health.record_success(delivery.account, self.clock.now());
                }
                if refused.usable {
                    self.keep(target, session).await;
                }
                at_host
            }
        };
        HandOver::Done(at_host.with(conversation, tls))
    }

    async fn keep(&self, target: &Target<'_>, session: Session) {
        if let Some(done) = target.destination.keep_idle(target.key(), session) {
            done.quit().await;
        }
    }
}

/// The report of an attempt that ends at this host, after what happened at those before.
fn report(
    delivery: &Delivery<'_>,
    target: &Target<'_>,
    at_host: HostOutcome,
    before: Option<Report>,
) -> Report {
    let HostOutcome { verdict, words, tls, mut conversation } = at_host;
    let mut outcome = verdict.into_outcome();
    if let Some(before) = before {
        conversation = format!("{}\n{conversation}", before.contact.conversation);
        // A message that one host may accept later has not failed.
        if let (Outcome::Deferred(_), Outcome::Failed(_)) = (before.outcome, &outcome) {
            outcome = Outcome::Deferred(Deferral::NoReply);
        }
    }
    let host = Some((target.host.to_owned(), target.address));
    let contact = Contact { route: Some(delivery.route.clone()), host, tls, conversation };
    Report { outcome, words, contact }
}

impl Target<'_> {
    fn key(&self) -> String {
        format!("{} {} {:?}", self.host, self.address, self.security)
    }
}

enum Connection {
    Reused(Session, Patience),
    New(Session),
}

/// After silence on an idle connection another host is tried, or, where there is none, the same one
/// over a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Shortage,
    Long,
}

enum HandOver {
    /// The idle connection was closed before the host knew of the message.
    StaleConnection(String),
    Done(HostOutcome),
}

/// Whether an idle connection failed before the host knew of the message.
fn is_closed(refused: &Refused, patience: Patience) -> bool {
    if refused.cause == Cause::Timeout && patience == Patience::Shortage {
        return false;
    }
    let is_gone = match &refused.cause {
        Cause::Io(_)
        | Cause::Closed
        | Cause::SessionOver
        | Cause::Timeout
        | Cause::Protocol(Violation::Unsolicited) => true,
        Cause::Reply(reply) => reply.code == 421,
        Cause::Protocol(_)
        | Cause::Tls(_)
        | Cause::UnnameableHost { .. }
        | Cause::Certificate(_)
        | Cause::Unsupported(_) => false,
    };
    match refused.stage {
        Stage::Reset => true,
        Stage::Mail => is_gone && !refused.usable,
        Stage::Connect
        | Stage::Greeting
        | Stage::Hello
        | Stage::StartTls
        | Stage::Handshake
        | Stage::Login
        | Stage::Rcpt
        | Stage::Data
        | Stage::Content
        | Stage::Dot => false,
    }
}
