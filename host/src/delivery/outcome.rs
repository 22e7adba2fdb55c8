//! The outcome of one attempt for one recipient: data, not an error.

use crate::clock::Timestamp;
use crate::message::status::{EnhancedCode, Judgement, Said, Stage, judge};
use crate::message::waits_for::WaitsFor;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The recipient's server, or the sandbox inbox, accepted it.
    Delivered,
    /// A smarthost accepted the message.
    Relayed,
    /// A 4xx reply, or no connection.
    Deferred,
    /// A 5xx reply.
    Bounced,
    /// It cannot be sent, for a reason that no server gave.
    Failed,
}

/// What an attempt says about the recipient's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressJudgement {
    /// Nothing: the message or this server is the cause.
    Unjudged,
    /// It may be dead. One rejection without a reason, or one DNS answer, may be a mistake; a later
    /// one suppresses the address.
    Suspect,
    /// It accepts no mail permanently, and is suppressed.
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub verdict: Verdict,
    pub code: Option<u16>,
    /// The enhanced status code, as in `5.1.1`.
    pub enhanced: Option<String>,
    /// The reply's text, or what happened.
    pub words: String,
    pub address_judgement: AddressJudgement,
    /// `sandbox`, `direct`, or the name of a smarthost.
    pub route: String,
    pub host: Option<String>,
    pub address: Option<String>,
    pub tls: Option<String>,
    pub conversation: String,
    /// The message may have arrived: its end was sent, and no reply came.
    pub is_uncertain: bool,
    /// Another server may be tried in the same attempt.
    pub may_fail_over: bool,
    /// The back-off that the attempt caused or met: an earlier attempt is of no use.
    pub backoff: Option<Box<Backoff>>,
}

/// Why and until when delivery backs off from a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    /// The hosts, and the account if the back-off concerns its mail alone.
    pub waits_for: WaitsFor,
    /// The last failure.
    pub since: Timestamp,
    pub until: Timestamp,
    /// Other accounts read this, so it quotes a host only from before it knew of a message.
    pub reason: String,
    /// Failures in a row, of all accounts together.
    pub failures: u32,
}

impl Report {
    /// An attempt without a reply.
    #[must_use]
    pub fn new(verdict: Verdict, route: &str, words: impl Into<String>) -> Self {
        Self {
            verdict,
            code: None,
            enhanced: None,
            words: words.into(),
            address_judgement: AddressJudgement::Unjudged,
            route: route.to_owned(),
            host: None,
            address: None,
            tls: None,
            conversation: String::new(),
            is_uncertain: false,
            may_fail_over: false,
            backoff: None,
        }
    }

    /// An attempt that ended with a 4xx or 5xx reply, at that stage of the session.
    #[must_use]
    pub fn refused(
        route: &str,
        stage: Stage,
        code: u16,
        enhanced: Option<String>,
        text: &str,
    ) -> Self {
        let known = enhanced.as_deref().and_then(|it| it.parse::<EnhancedCode>().ok());
        let reply = Said { code: Some(code), enhanced: known, text, stage };
        let (verdict, address_judgement) = match judge(reply) {
            Judgement::Hard => (Verdict::Bounced, AddressJudgement::Dead),
            Judgement::Suspect => (Verdict::Bounced, AddressJudgement::Suspect),
            Judgement::Refused => (Verdict::Bounced, AddressJudgement::Unjudged),
            Judgement::Temporary => (Verdict::Deferred, AddressJudgement::Unjudged),
        };
        let words = said(code, enhanced.as_deref(), text);
        Self { code: Some(code), enhanced, address_judgement, ..Self::new(verdict, route, words) }
    }
}

/// A reply as it stands in reasons.
#[must_use]
pub fn said(code: u16, enhanced: Option<&str>, text: &str) -> String {
    match enhanced {
        Some(enhanced) => format!("{code} {enhanced} {text}"),
        None => format!("{code} {text}"),
    }
}
