//! How one attempt for one recipient ended: data, not an error.

use crate::clock::Timestamp;
use crate::message::status::{EnhancedCode, Judgement, Said, Stage, judge};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The recipient's server, or the sandbox inbox, took it.
    Delivered,
    /// A smarthost took it.
    Relayed,
    /// Not now: a 4xx reply, or no connection.
    Deferred,
    /// Never: a 5xx reply of the other side.
    Bounced,
    /// It cannot be sent at all; no server was asked, or none has said so.
    Failed,
}

/// What an attempt says about the address that it was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressJudgement {
    /// Nothing: it is the message, or us.
    Unjudged,
    /// It may be dead: one refusal without a reason, or one look at DNS, may be a mistake. A further one,
    /// later, suppresses it.
    Suspect,
    /// It takes no mail for good.
    Dead,
}

/// What is known of an attempt when it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub verdict: Verdict,
    pub code: Option<u16>,
    /// The enhanced status code, as in `5.1.1`.
    pub enhanced: Option<String>,
    /// The other side's words, or what happened.
    pub words: String,
    /// What the attempt says about the address.
    pub address_judgement: AddressJudgement,
    /// `sandbox`, `direct`, or the name of a smarthost.
    pub route: String,
    pub host: Option<String>,
    /// Its address and port.
    pub address: Option<String>,
    /// How the connection was encrypted.
    pub tls: Option<String>,
    pub conversation: String,
    /// Whether the message may have arrived nevertheless: its end was sent, and no reply came.
    pub is_uncertain: bool,
    /// Whether another server may still take it now.
    pub may_fail_over: bool,
    /// Why and until when its destination is left alone: another attempt before is of no use.
    pub backoff: Option<Box<Backoff>>,
}

/// Why a destination is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    /// Whose: what waits for them waits under this name.
    pub hosts: String,
    /// When they failed last.
    pub since: Timestamp,
    pub until: Timestamp,
    /// What went wrong. Other accounts read it: the other side's words only from before it heard of a
    /// message.
    pub reason: String,
    /// Consecutive failed attempts at this destination, of all accounts together.
    pub failures: u32,
}

impl Report {
    /// An attempt that came to no reply.
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

    /// An attempt that ended with a refusal, at that stage of the conversation.
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

/// A reply as it was said.
#[must_use]
pub fn said(code: u16, enhanced: Option<&str>, text: &str) -> String {
    match enhanced {
        Some(enhanced) => format!("{code} {enhanced} {text}"),
        None => format!("{code} {text}"),
    }
}
