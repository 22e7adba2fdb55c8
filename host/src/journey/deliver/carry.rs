//! Carries one message to the first of several hosts that takes it, over kept connections where
//! there are any.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::destination::Destination;
use super::health::Health;
use super::letter::Letter;
use super::outcome::{Report, Verdict};
use super::sign::Signatory;
use super::smtp::{
    Broken, Cause, Dial, Envelope, Login, Refused, Security, Session, Stage, Timeouts, TlsClient,
    Violation,
};
use super::tried::{End, Tried, said};
use crate::clock::Clock;
use crate::message::address::EmailAddress;

/// Addresses that one attempt tries at most.
const TRIES: usize = 8;

/// What all attempts share.
#[derive(Debug)]
pub struct Carrier {
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
    /// The envelope's sender.
    pub sender: Option<&'a EmailAddress>,
    /// The envelope's recipient.
    pub recipient: &'a EmailAddress,
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
        let mut closed: Option<String> = None;
        let mut is_ill = true;
        for target in targets.iter().take(TRIES) {
            let Tried { end, mut report } = self.try_one(errand, target, letter, signatory).await;
            errand.route.clone_into(&mut report.route);
            report.host = Some(target.host.to_owned());
            report.address = Some(target.address.to_string());
            report.is_open = end != End::Over;
            if let Some(before) = last.take() {
                report.conversation = format!("{}\n{}", before.conversation, report.conversation);
                // What one of them may take later has not failed.
                if before.verdict == Verdict::Deferred && report.verdict == Verdict::Failed {
                    report.verdict = Verdict::Deferred;
                }
            }
            match end {
                End::Over => return report,
                End::Closed(reason) => closed = Some(reason),
                End::SentAway(reason) => {
                    errand.health.has_sent_away(&reason, self.clock.now());
                    is_ill = false;
                }
                End::Cut | End::Unfit => is_ill = false,
            }
            last = Some(report);
        }
        let Some(report) = last else {
            // Nothing that time would mend by itself.
            let words = format!("{} has no address", errand.destination.name);
            return Report::new(Verdict::Deferred, errand.route, words);
        };
        match closed {
            Some(reason) if is_ill => {
                let rest = errand.health.has_failed(&reason, self.clock.now());
                Report { rest: Some(Box::new(rest)), ..report }
            }
            Some(_) | None => report,
        }
    }

    async fn try_one(
        &self,
        errand: &Errand<'_>,
        target: &Target<'_>,
        letter: &mut Letter<'_>,
        signatory: &Signatory,
    ) -> Tried {
        let key = format!("{} {} {:?}", target.host, target.address, target.security);
        let mut conversation = String::new();
        // A kept connection may have been closed meanwhile; that shows at its first command.
        while let Some(session) = errand.destination.kept(&key) {
            match self.hand_over(errand, Opened::Kept(session), letter, signatory, &key).await {
                Handed::Closed(said) => conversation.push_str(&said),
                Handed::Tried(tried) => return tried.after(&conversation),
            }
        }
        for idle in errand.destination.room() {
            idle.quit().await;
        }
        let session = match self.open(target, &mut conversation).await {
            Ok(session) => session,
            Err(broken) => return Tried::broken(broken).after(&conversation),
        };
        match self.hand_over(errand, Opened::Now(session), letter, signatory, &key).await {
            Handed::Tried(tried) => tried.after(&conversation),
            Handed::Closed(said) => {
                let words = "the connection was closed before the message";
                let report = Report::new(Verdict::Deferred, errand.route, words);
                Tried { end: End::Cut, report }.with(said, None).after(&conversation)
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
        opened: Opened,
        letter: &mut Letter<'_>,
        signatory: &Signatory,
        key: &str,
    ) -> Handed {
        let (mut session, was_kept) = match opened {
            Opened::Kept(session) => (session, true),
            Opened::Now(session) => (session, false),
        };
        if let Err(report) = letter.for_hop(session.extensions(), signatory).await {
            self.keep(errand, key, session).await;
            return Handed::Tried(Tried::over(report));
        }
        let envelope = Envelope {
            sender: errand.sender,
            recipient: errand.recipient,
            eight_bit: letter.is_eight_bit,
            utf8: letter.is_international,
        };
        let sent = session.send(&envelope, letter.content()).await;
        let conversation = session.take_transcript();
        let tls = session.tls().map(ToOwned::to_owned);
        let report = match sent {
            Ok(reply) => {
                errand.health.is_well();
                self.keep(errand, key, session).await;
                let words = said(&reply);
                let report = Report::new(errand.taken, errand.route, words);
                let (code, enhanced) = (Some(reply.code), reply.enhanced);
                Tried::over(Report { code, enhanced, ..report })
            }
            Err(refused) if was_kept && is_closed(&refused) => return Handed::Closed(conversation),
            Err(refused) => {
                let tried = Tried::refused(&refused);
                if tried.end == End::Over && matches!(refused.cause, Cause::Reply(_)) {
                    errand.health.is_well();
                }
                if refused.usable {
                    self.keep(errand, key, session).await;
                }
                tried
            }
        };
        Handed::Tried(report.with(conversation, tls))
    }

    async fn keep(&self, errand: &Errand<'_>, key: &str, session: Session) {
        if let Some(done) = errand.destination.keep(key.to_owned(), session) {
            done.quit().await;
        }
    }
}

/// A session, and whether another message has used it before.
enum Opened {
    Kept(Session),
    Now(Session),
}

enum Handed {
    /// The kept connection had been closed before it heard of the message.
    Closed(String),
    Tried(Tried),
}

/// A kept connection that was gone, or of no use any more, before its first command came through.
fn is_closed(refused: &Refused) -> bool {
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
