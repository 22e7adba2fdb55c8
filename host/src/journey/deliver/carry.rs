//! Carries one message to the first of several hosts that takes it, over kept connections where
//! there are any.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::destination::Destination;
use super::letter::Letter;
use super::outcome::{self, Report, Verdict};
use super::sign::Signatory;
use super::smtp::{
    Broken, Cause, Dial, Envelope, Login, Refused, Reply, Security, Session, Stage, Timeouts,
    TlsClient, Violation,
};
use crate::clock::Clock;
use crate::message::address::EmailAddress;
use crate::message::status;

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
    /// The envelope's sender.
    pub sender: Option<&'a EmailAddress>,
    /// The envelope's recipient.
    pub recipient: &'a EmailAddress,
}

/// What came of one address.
enum Tried {
    /// The attempt is over.
    Over(Report),
    /// The next address may do better.
    Next(Report),
    /// The same, but it may be the message that it could not bear.
    Cut(Report),
}

impl Carrier {
    /// Tries the addresses in their order. Only if none of them would hear of the message does the
    /// destination rest.
    pub async fn carry(
        &self,
        errand: &Errand<'_>,
        targets: &[Target<'_>],
        letter: &mut Letter<'_>,
        signatory: &Signatory,
    ) -> Report {
        let mut last: Option<Report> = None;
        let mut is_ill = true;
        for target in targets.iter().take(TRIES) {
            let tried = self.try_one(errand, target, letter, signatory).await;
            is_ill &= matches!(tried, Tried::Next(_));
            let (mut report, is_over) = match tried {
                Tried::Over(report) => (report, true),
                Tried::Next(report) | Tried::Cut(report) => (report, false),
            };
            report.route = errand.route.to_owned();
            report.host = Some(target.host.to_owned());
            report.address = Some(target.address.to_string());
            if let Some(before) = last.take() {
                report.conversation = format!("{}\n{}", before.conversation, report.conversation);
            }
            if is_over {
                return report;
            }
            last = Some(report);
        }
        let Some(report) = last else {
            let words = format!("{} has no address", errand.destination.name);
            return Report::new(Verdict::Deferred, errand.route, words);
        };
        if !is_ill {
            return report;
        }
        let rest = errand.destination.has_failed(&report.words, self.clock.now());
        Report { not_before: Some(rest.until), ..report }
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
            Err(broken) => return Tried::Next(unreachable(&broken)).after(&conversation),
        };
        match self.hand_over(errand, Opened::Now(session), letter, signatory, &key).await {
            Handed::Tried(tried) => tried.after(&conversation),
            Handed::Closed(said) => {
                let words = "the connection was closed before the message";
                let report = Report::new(Verdict::Deferred, errand.route, words);
                Tried::Next(Report { conversation: said, ..report }).after(&conversation)
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
            return Handed::Tried(Tried::Over(report));
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
                errand.destination.is_well();
                self.keep(errand, key, session).await;
                let words = said(&reply);
                let report = Report::new(errand.taken, errand.route, words);
                let (code, enhanced) = (Some(reply.code), reply.enhanced);
                Tried::Over(Report { code, enhanced, ..report })
            }
            Err(refused) if was_kept && is_closed(&refused) => return Handed::Closed(conversation),
            Err(refused) => {
                let tried = judge(errand.route, &refused);
                if matches!(tried, Tried::Over(_)) && matches!(refused.cause, Cause::Reply(_)) {
                    errand.destination.is_well();
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

impl Tried {
    fn with(self, conversation: String, tls: Option<String>) -> Self {
        let with = |report: Report| Report { conversation, tls, ..report };
        match self {
            Self::Over(report) => Self::Over(with(report)),
            Self::Next(report) => Self::Next(with(report)),
            Self::Cut(report) => Self::Cut(with(report)),
        }
    }

    fn after(self, before: &str) -> Self {
        let after = |report: Report| Report {
            conversation: format!("{before}{}", report.conversation),
            ..report
        };
        match self {
            Self::Over(report) => Self::Over(after(report)),
            Self::Next(report) => Self::Next(after(report)),
            Self::Cut(report) => Self::Cut(after(report)),
        }
    }
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

/// A connection that never came to a message.
fn unreachable(broken: &Broken) -> Report {
    let words = words(&broken.cause, broken.stage);
    let report = Report::new(Verdict::Deferred, "", words);
    let (code, enhanced) = match &broken.cause {
        Cause::Reply(reply) => (Some(reply.code), reply.enhanced.clone()),
        Cause::Io(_)
        | Cause::Timeout
        | Cause::Protocol(_)
        | Cause::Tls(_)
        | Cause::Unsupported(_) => (None, None),
    };
    Report {
        code,
        enhanced,
        conversation: broken.transcript.clone(),
        tls: broken.tls.clone(),
        ..report
    }
}

/// What a refusal means: a reply about the message ends the attempt, what is about the connection
/// sends it to the next address, and after the final dot nobody else gets it for now: it may have
/// arrived.
fn judge(route: &str, refused: &Refused) -> Tried {
    match &refused.cause {
        Cause::Reply(reply) if reply.code == 421 => {
            let words = said(reply);
            let report = Report::new(Verdict::Deferred, route, words);
            Tried::Next(Report { code: Some(421), enhanced: reply.enhanced.clone(), ..report })
        }
        // The server wants a login or encryption: it is our settings that are wrong, not the message.
        Cause::Reply(reply) if matches!(reply.code, 530 | 534 | 535 | 538) => {
            let words = said(reply);
            let report = Report::new(Verdict::Deferred, route, words);
            Tried::Next(Report {
                code: Some(reply.code),
                enhanced: reply.enhanced.clone(),
                ..report
            })
        }
        Cause::Reply(reply) => {
            let stage = match refused.stage {
                Stage::Rcpt => status::Stage::Recipient,
                Stage::Data | Stage::Content | Stage::Dot => status::Stage::Later,
                Stage::Connect
                | Stage::Greeting
                | Stage::Hello
                | Stage::StartTls
                | Stage::Handshake
                | Stage::Login
                | Stage::Mail
                | Stage::Reset => status::Stage::Session,
            };
            let (code, enhanced) = (reply.code, reply.enhanced.clone());
            Tried::Over(Report::refused(route, stage, code, enhanced, &reply.text))
        }
        Cause::Unsupported(what) => {
            Tried::Over(Report::new(Verdict::Failed, route, what.to_string()))
        }
        Cause::Io(_) | Cause::Timeout | Cause::Protocol(_) | Cause::Tls(_) => {
            let words = words(&refused.cause, refused.stage);
            let report = Report::new(Verdict::Deferred, route, words);
            match refused.stage {
                Stage::Dot => Tried::Over(report),
                // The server had let us in.
                Stage::Mail | Stage::Rcpt | Stage::Data | Stage::Content => Tried::Cut(report),
                Stage::Connect
                | Stage::Greeting
                | Stage::Hello
                | Stage::StartTls
                | Stage::Handshake
                | Stage::Login
                | Stage::Reset => Tried::Next(report),
            }
        }
    }
}

fn said(reply: &Reply) -> String {
    outcome::said(reply.code, reply.enhanced.as_deref(), &reply.text)
}

fn words(cause: &Cause, stage: Stage) -> String {
    let at = match stage {
        Stage::Connect => "while connecting",
        Stage::Greeting => "before its greeting",
        Stage::Hello => "at EHLO",
        Stage::StartTls => "at STARTTLS",
        Stage::Handshake => "in the TLS handshake",
        Stage::Login => "at AUTH",
        Stage::Reset => "at RSET",
        Stage::Mail => "at MAIL",
        Stage::Rcpt => "at RCPT",
        Stage::Data => "at DATA",
        Stage::Content => "in the middle of the message",
        Stage::Dot => "after the end of the message: it may have arrived",
    };
    match cause {
        Cause::Reply(reply) => format!("{} ({at})", said(reply)),
        Cause::Io(error) => format!("the connection failed {at}: {error}"),
        Cause::Timeout => format!("no answer in time {at}"),
        Cause::Protocol(what) => format!("not understood {at}: {what}"),
        Cause::Tls(what) => format!("no encrypted connection {at}: {what}"),
        Cause::Unsupported(what) => what.to_string(),
    }
}
