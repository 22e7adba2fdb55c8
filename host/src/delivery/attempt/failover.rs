//! Carries one message to the first of several hosts that takes it, over kept connections where
//! there are any.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::dkim::Signatory;
use super::host_outcome::{End, Tried, said};
use super::outbound_message::Letter;
use crate::clock::{Clock, Timestamp};
use crate::delivery::outcome::{Report, Verdict};
use crate::delivery::shaping::backoff::Health;
use crate::delivery::shaping::destination::{Destination, Turn};
use crate::delivery::shaping::unresponsive::Troubled;
use crate::delivery::smtp::{
    Broken, Cause, Dial, Envelope, Login, Refused, Security, Session, Stage, Timeouts, TlsClient,
    Violation,
};
use crate::id::AccountId;
use crate::message::address::EmailAddress;

/// How long a message waits for a connection to another operator than that of its destination.
const TURN: Duration = Duration::from_secs(30);
/// Addresses that one attempt tries at most.
const TRIES: usize = 8;

/// What all attempts share.
#[derive(Debug)]
pub struct Carrier {
    /// Addresses that did not answer lately.
    pub troubled: Troubled,
    /// The name in EHLO.
    pub hello: String,
    /// The address to connect from, by family; the system's choice where there is none.
    pub local: Vec<IpAddr>,
    /// Certificates.
    pub tls: TlsClient,
    /// How long the other side may take.
    pub timeouts: Timeouts,
    /// The time.
    pub clock: Clock,
}

/// One address that may take a message.
#[derive(Debug)]
pub struct Target<'a> {
    /// The host, as its certificate names it.
    pub host: &'a str,
    /// The lower, the earlier; among equal ones one with a kept connection is tried first.
    pub preference: u16,
    /// Whose connections it takes.
    pub destination: Arc<Destination>,
    /// Where it listens.
    pub address: SocketAddr,
    /// How the connection is encrypted.
    pub security: Security,
    /// With what it is logged in.
    pub login: Option<&'a Login>,
}

/// One message on its way.
#[derive(Debug)]
pub struct Errand<'a> {
    /// `direct`, or the name of a smarthost.
    pub route: &'a str,
    /// Whether whoever takes it delivers it, or passes it on.
    pub taken: Verdict,
    /// Where it goes.
    pub destination: &'a Arc<Destination>,
    /// How it is there.
    pub health: &'a Arc<Health>,
    /// Whose the message is.
    pub account: AccountId,
    /// The envelope's sender.
    pub sender: Option<&'a EmailAddress>,
    /// The envelope's recipient.
    pub recipient: &'a EmailAddress,
    /// When it began.
    pub begun: Timestamp,
    /// When it is over, wherever it is.
    pub until: Instant,
}

impl Carrier {
    /// Tries the addresses in their order. Only if none of them would hear of any message they rest.
    pub async fn carry(
        &self,
        errand: &Errand<'_>,
        targets: &[Target<'_>],
        letter: &mut Letter<'_>,
        signatory: &Signatory,
    ) -> Report {
        let mut last: Option<Report> = None;
        let (mut closed, mut hung, mut away) = (None, None, None);
        let mut is_ill = true;
        let mut order = self.in_order(targets).into_iter().take(TRIES).peekable();
        while let Some(target) = order.next() {
            if Instant::now() >= errand.until {
                break;
            }
            let patience = if order.peek().is_some() { Patience::Short } else { Patience::Long };
            let tried = self.try_one(errand, target, patience, letter, signatory).await;
            let Tried { end, mut report } = tried;
            self.note(target, &end);
            errand.route.clone_into(&mut report.route);
            report.host = Some(target.host.to_owned());
            report.address = Some(target.address.to_string());
            report.is_open |= !matches!(end, End::Over | End::Lost(_));
            if let Some(before) = last.take() {
                report.conversation = format!("{}\n{}", before.conversation, report.conversation);
                // What one of them may take later has not failed.
                if before.verdict == Verdict::Deferred && report.verdict == Verdict::Failed {
                    report.verdict = Verdict::Deferred;
                }
            }
            match end {
                End::Over => return report,
                End::Lost(reason) => {
                    errand.health.has_hung(&reason, errand.begun, self.clock.now());
                    return report;
                }
                End::Closed(reason) => closed = Some(reason),
                End::Hung(reason) => hung = Some(reason),
                End::SentAway(reason) => away = Some(reason),
                End::Unfit => is_ill = false,
            }
            last = Some(report);
        }
        is_ill = is_ill && hung.is_none() && away.is_none();
        // Once for a message, however many hosts it was taken to.
        if let Some(reason) = hung {
            errand.health.has_hung(&reason, errand.begun, self.clock.now());
        }
        if let Some(reason) = away {
            errand.health.has_sent_away(errand.account, &reason, self.clock.now());
        }
        let Some(report) = last else {
            let name = &errand.destination.name;
            let words = if targets.is_empty() {
                // Nothing that time would mend by itself.
                format!("{name} has no address")
            } else {
                format!("no time was left for {name}")
            };
            return Report::new(Verdict::Deferred, errand.route, words);
        };
        match closed {
            Some(reason) if is_ill => {
                let rest = errand.health.has_failed(&reason, errand.begun, self.clock.now());
                Report { rest: rest.map(Box::new), ..report }
            }
            Some(_) | None => report,
        }
    }

    /// Those that did not answer lately come last. Of equal ones one to which a connection is kept comes
    /// first: otherwise two domains that prefer different hosts of one operator would close each other's
    /// connections for each message, where the operator allows few.
    fn in_order<'a, 't>(&self, targets: &'t [Target<'a>]) -> Vec<&'t Target<'a>> {
        let now = self.clock.now();
        let mut order: Vec<&Target<'_>> = targets.iter().collect();
        // Whose host is first has counted the message: another operator's kept connections change nothing.
        let first = targets.first().map(|it| Arc::as_ptr(&it.destination));
        order.sort_by_cached_key(|it| {
            let key = it.key();
            let is_of_first = first == Some(Arc::as_ptr(&it.destination));
            let is_new = !(is_of_first && it.destination.has_kept(&key));
            (self.troubled.has(&key, now), it.preference, is_new)
        });
        order
    }

    fn note(&self, target: &Target<'_>, end: &End) {
        match end {
            End::Closed(_) | End::Hung(_) | End::Lost(_) => {
                self.troubled.mark(&target.key(), self.clock.now());
            }
            End::Over | End::SentAway(_) => self.troubled.clear(&target.key()),
            End::Unfit => {}
        }
    }

    async fn try_one(
        &self,
        errand: &Errand<'_>,
        target: &Target<'_>,
        patience: Patience,
        letter: &mut Letter<'_>,
        signatory: &Signatory,
    ) -> Tried {
        // A domain may name hosts of several operators; each has its own connections.
        let is_its_own = Arc::ptr_eq(&target.destination, errand.destination);
        let Ok(_turn) = timeout(TURN, turn(target, is_its_own)).await else {
            return Tried::busy(&target.destination.name);
        };
        let mut conversation = String::new();
        // A kept connection may have been closed meanwhile; that shows at its first command.
        while let Some(session) = target.destination.kept(&target.key()) {
            let opened = Opened::Kept(session, patience);
            match self.hand_over(errand, target, opened, letter, signatory).await {
                Handed::Closed(said) => conversation.push_str(&said),
                Handed::Tried(tried) => return tried.after(&conversation),
            }
        }
        if let Some(idle) = target.destination.room() {
            idle.quit().await;
        }
        let opened = timeout_at(errand.until, self.open(target, &mut conversation)).await;
        let session = match opened.unwrap_or_else(|_| Err(Broken::out_of_time())) {
            Ok(session) => session,
            Err(broken) => return Tried::broken(broken).after(&conversation),
        };
        match self.hand_over(errand, target, Opened::Now(session), letter, signatory).await {
            Handed::Tried(tried) => tried.after(&conversation),
            Handed::Closed(said) => {
                let words = "the connection was closed before the message";
                let report = Report::new(Verdict::Deferred, errand.route, words);
                let end = End::SentAway(words.to_owned());
                Tried { end, report }.with(said, None).after(&conversation)
            }
        }
    }

    /// Opens a connection; where encryption is welcome and fails, one without (RFC 7435).
    async fn open(
        &self,
        target: &Target<'_>,
        conversation: &mut String,
    ) -> Result<Session, Broken> {
        let local = self.local.iter().find(|it| it.is_ipv4() == target.address.is_ipv4());
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
        errand: &Errand<'_>,
        target: &Target<'_>,
        opened: Opened,
        letter: &mut Letter<'_>,
        signatory: &Signatory,
    ) -> Handed {
        let (mut session, was_kept) = match opened {
            Opened::Kept(session, patience) => (session, Some(patience)),
            Opened::Now(session) => (session, None),
        };
        if let Err(report) = letter.for_hop(session.extensions(), signatory).await {
            self.keep(target, session).await;
            return Handed::Tried(Tried::over(report));
        }
        let envelope = Envelope {
            sender: errand.sender,
            recipient: errand.recipient,
            eight_bit: letter.is_eight_bit,
            utf8: letter.is_international,
        };
        let sent = timeout_at(errand.until, session.send(&envelope, letter.content())).await;
        let sent = sent.unwrap_or_else(|_| Err(session.out_of_time()));
        let conversation = session.take_transcript();
        let tls = session.tls().map(ToOwned::to_owned);
        let report = match sent {
            Ok(reply) => {
                errand.health.is_well(errand.account, self.clock.now());
                self.keep(target, session).await;
                let words = said(&reply);
                let report = Report::new(errand.taken, errand.route, words);
                let (code, enhanced) = (Some(reply.code), reply.enhanced);
                Tried::over(Report { code, enhanced, ..report })
            }
            Err(refused) if was_kept.is_some_and(|it| is_closed(&refused, it)) => {
                return Handed::Closed(conversation);
            }
            Err(refused) => {
                let tried = Tried::refused(&refused);
                if tried.end == End::Over && matches!(refused.cause, Cause::Reply(_)) {
                    errand.health.is_well(errand.account, self.clock.now());
                }
                if refused.usable {
                    self.keep(target, session).await;
                }
                tried
            }
        };
        Handed::Tried(report.with(conversation, tls))
    }

    async fn keep(&self, target: &Target<'_>, session: Session) {
        if let Some(done) = target.destination.keep(target.key(), session) {
            done.quit().await;
        }
    }
}

impl Target<'_> {
    /// What its connections are kept under.
    fn key(&self) -> String {
        format!("{} {} {:?}", self.host, self.address, self.security)
    }
}

/// The right to a connection to an operator whose connections the attempt does not hold already.
async fn turn(target: &Target<'_>, is_its_own: bool) -> Option<Turn> {
    if is_its_own { None } else { Some(target.destination.turn().await) }
}

/// A session, and whether another message has used it before.
enum Opened {
    Kept(Session, Patience),
    Now(Session),
}

/// What is done where a kept connection is silent: another host is tried where there is one, and otherwise
/// the same one over another connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Short,
    Long,
}

enum Handed {
    /// The kept connection had been closed before it heard of the message.
    Closed(String),
    Tried(Tried),
}

/// A kept connection that was gone, or of no use any more, before its first command came through.
fn is_closed(refused: &Refused, patience: Patience) -> bool {
    if refused.cause == Cause::Timeout && patience == Patience::Short {
        return false;
    }
    let is_gone = match &refused.cause {
        Cause::Io(_) | Cause::Timeout | Cause::Protocol(Violation::Unsolicited) => true,
        Cause::Reply(reply) => reply.code == 421,
        Cause::Protocol(_) | Cause::Tls(_) | Cause::Unsupported(_) => false,
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
