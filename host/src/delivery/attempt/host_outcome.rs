//! The outcome at one address: what it means for the message, and for the host's health.

use crate::delivery::outcome::{self, Deferral, FailureReason, Outcome, ReplyCode};
use crate::delivery::smtp::{Broken, Cause, Refused, Reply, Stage};
use crate::message::status;

/// Characters of a reply that other accounts are shown, at most.
const MAX_REPLY_CHARS: usize = 200;

#[derive(Debug)]
pub struct HostOutcome {
    pub verdict: HostVerdict,
    /// The reply's text, or what happened.
    pub words: String,
    pub tls: Option<String>,
    pub conversation: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostVerdict {
    /// The attempt is over: the message was accepted or rejected, or cannot be made ready.
    Final(Outcome),
    /// The host would start no transaction; the next address is tried. The text is our own: other
    /// accounts read it.
    Unavailable(Option<ReplyCode>, String),
    /// The host deferred this message before it knew the recipient, with a 421, because of its own
    /// state, or by closing the connection; the next address is tried.
    TransientFailure(Option<ReplyCode>, String),
    /// The host stopped answering in the middle of the transaction; the next address is tried.
    Stalled(String),
    /// No reply came after the end of the message: the attempt is over, because the message may
    /// have arrived.
    Uncertain(String),
    /// The host lacks an extension that the message needs; the next one may have it.
    Incapable,
    /// No connection to the host's operator is free; the next one may have one.
    Busy,
}

impl HostVerdict {
    /// What an attempt comes to that ends with this verdict.
    #[must_use]
    pub fn into_outcome(self) -> Outcome {
        match self {
            Self::Final(outcome) => outcome,
            Self::Unavailable(reply, _) | Self::TransientFailure(reply, _) => {
                Outcome::deferred(reply)
            }
            Self::Stalled(_) | Self::Busy => Outcome::Deferred(Deferral::NoReply),
            Self::Uncertain(_) => Outcome::Deferred(Deferral::MayHaveArrived),
            Self::Incapable => Outcome::Failed(FailureReason::Other),
        }
    }
}

impl HostOutcome {
    #[must_use]
    pub fn new(verdict: HostVerdict, words: impl Into<String>) -> Self {
        Self { verdict, words: words.into(), tls: None, conversation: String::new() }
    }

    /// A connection that failed before a transaction.
    #[must_use]
    pub fn broken(broken: Broken) -> Self {
        let Broken { stage, cause, transcript, tls } = broken;
        let reply = match &cause {
            Cause::Reply(reply) => Some(code(reply)),
            Cause::Io(_)
            | Cause::Closed
            | Cause::SessionOver
            | Cause::Timeout
            | Cause::Protocol(_)
            | Cause::Tls(_)
            | Cause::UnnameableHost { .. }
            | Cause::Certificate(_)
            | Cause::Unsupported(_) => None,
        };
        let verdict = HostVerdict::Unavailable(reply, reason(&cause, stage));
        Self { verdict, words: words(&cause, stage), tls, conversation: transcript }
    }

    #[must_use]
    pub fn busy(operator: &str) -> Self {
        Self::new(HostVerdict::Busy, format!("no connection to {operator} is free"))
    }

    /// A message that was not accepted. A reply about it ends the attempt; a failed connection
    /// leads to the next address; after the final dot no other host gets it now, because it may
    /// have arrived.
    #[must_use]
    pub fn refused(refused: &Refused) -> Self {
        let Refused { stage, cause, .. } = refused;
        match cause {
            Cause::Reply(reply) => Self::new(replied(reply, *stage), reply_text(reply)),
            Cause::Unsupported(what) => Self::new(HostVerdict::Incapable, what.to_string()),
            Cause::Io(_)
            | Cause::Closed
            | Cause::SessionOver
            | Cause::Timeout
            | Cause::Protocol(_)
            | Cause::Tls(_)
            | Cause::UnnameableHost { .. }
            | Cause::Certificate(_) => {
                let is_silent = matches!(cause, Cause::Timeout);
                let why = reason(cause, *stage);
                let verdict = match stage {
                    Stage::Dot => HostVerdict::Uncertain(why),
                    // The session was open: the message may be the cause.
                    Stage::Mail | Stage::Rcpt | Stage::Data | Stage::Content if is_silent => {
                        HostVerdict::Stalled(why)
                    }
                    Stage::Mail | Stage::Rcpt | Stage::Data | Stage::Content => {
                        HostVerdict::TransientFailure(None, why)
                    }
                    Stage::Connect
                    | Stage::Greeting
                    | Stage::Hello
                    | Stage::StartTls
                    | Stage::Handshake
                    | Stage::Login
                    | Stage::Reset => HostVerdict::Unavailable(None, why),
                };
                Self::new(verdict, words(cause, *stage))
            }
        }
    }

    /// The same with the transcript.
    #[must_use]
    pub fn with(self, conversation: String, tls: Option<String>) -> Self {
        Self { tls, conversation, ..self }
    }

    /// The same with an earlier transcript in front.
    #[must_use]
    pub fn after(mut self, before: &str) -> Self {
        self.conversation.insert_str(0, before);
        self
    }
}

fn replied(reply: &Reply, stage: Stage) -> HostVerdict {
    let why = || format!("it answers {} {}", reply.code, at(stage));
    // RFC 3463 section 3.4: about the system, not about the message.
    let is_about_system = || {
        reply
            .enhanced
            .is_some_and(|it| it.class() == status::StatusClass::Temporary && it.subject() == 3)
    };
    match reply.code {
        421 => HostVerdict::TransientFailure(Some(code(reply)), why()),
        400..500 if matches!(stage, Stage::Mail | Stage::Reset) || is_about_system() => {
            HostVerdict::TransientFailure(Some(code(reply)), why())
        }
        // The host demands a login or TLS: the settings are wrong, not the message.
        530 | 534 | 535 | 538 => HostVerdict::Unavailable(Some(code(reply)), why()),
        _ => {
            let stage = match stage {
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
            HostVerdict::Final(Outcome::refused(stage, code(reply), &reply.text))
        }
    }
}

fn code(reply: &Reply) -> ReplyCode {
    ReplyCode { code: reply.code, enhanced: reply.enhanced }
}

#[must_use]
pub fn reply_text(reply: &Reply) -> String {
    outcome::reply_text(reply.code, reply.enhanced, &reply.text)
}

/// Why a host is not usable now. Other accounts read this, so a reply is quoted only from before
/// the host knew of a message: later ones may be about somebody's mail.
fn reason(cause: &Cause, stage: Stage) -> String {
    let knows_of_message = match stage {
        Stage::Connect
        | Stage::Greeting
        | Stage::Hello
        | Stage::StartTls
        | Stage::Handshake
        | Stage::Login => false,
        // Before RSET there was another message.
        Stage::Reset | Stage::Mail | Stage::Rcpt | Stage::Data | Stage::Content | Stage::Dot => {
            true
        }
    };
    match cause {
        Cause::Reply(reply) if knows_of_message => {
            format!("it answers {} {}", reply.code, at(stage))
        }
        Cause::Reply(reply) => {
            let text: String = reply_text(reply).chars().take(MAX_REPLY_CHARS).collect();
            format!("it answers `{text}` {}", at(stage))
        }
        Cause::Io(_)
        | Cause::Closed
        | Cause::SessionOver
        | Cause::Timeout
        | Cause::Protocol(_)
        | Cause::Tls(_)
        | Cause::UnnameableHost { .. }
        | Cause::Certificate(_)
        | Cause::Unsupported(_) => words(cause, stage),
    }
}

fn words(cause: &Cause, stage: Stage) -> String {
    let at = at(stage);
    let words = match cause {
        Cause::Reply(reply) => format!("{} ({at})", reply_text(reply)),
        Cause::Io(_) | Cause::Closed | Cause::SessionOver => {
            format!("the connection failed {at}: {cause}")
        }
        Cause::Timeout => format!("no answer in time {at}"),
        Cause::Protocol(what) => format!("not understood {at}: {what}"),
        Cause::Tls(_) | Cause::UnnameableHost { .. } => {
            format!("no encrypted connection {at}: {cause}")
        }
        Cause::Certificate(what) => format!(
            "no encrypted connection {at}: {what} (an authority of your own is trusted by [delivery] \
             ca_file)"
        ),
        Cause::Unsupported(what) => what.to_string(),
    };
    let is_in_doubt = stage == Stage::Dot && !matches!(cause, Cause::Reply(_));
    if is_in_doubt { format!("{words}; it may have arrived") } else { words }
}

fn at(stage: Stage) -> &'static str {
    match stage {
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
        Stage::Dot => "after the end of the message",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_says_once_it_knows_of_a_message_is_not_told_to_others() {
        let text = "no mail from boss@customer.example".to_owned();
        let reply = Reply { code: 554, enhanced: "5.7.1".parse().ok(), text };
        let why = |stage| reason(&Cause::Reply(reply.clone()), stage);
        for stage in [Stage::Connect, Stage::Greeting, Stage::Hello, Stage::StartTls, Stage::Login]
        {
            assert!(why(stage).contains("`554 5.7.1 no mail from"), "{}", why(stage));
        }
        for stage in [Stage::Reset, Stage::Mail, Stage::Rcpt, Stage::Data, Stage::Dot] {
            assert!(why(stage).starts_with("it answers 554 a"), "{}", why(stage));
        }
        for stage in [Stage::Mail, Stage::Rcpt, Stage::Reset] {
            let reply = Reply { code: 421, ..reply.clone() };
            let refused = Refused { stage, cause: Cause::Reply(reply), usable: false };
            let verdict = HostOutcome::refused(&refused).verdict;
            let HostVerdict::TransientFailure(_, why) = verdict else { panic!("{stage:?}") };
            assert!(why.starts_with("it answers 421 a"), "{why}");
        }
    }
}
