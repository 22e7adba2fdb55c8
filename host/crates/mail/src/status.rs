//! Status codes of mail systems (RFC 3463), and what a refusal means for the address that it names.
//!
//! Only a refusal of the address itself is `DeadAddress`: whoever is suppressed by mistake gets no mail.

use std::fmt;
use std::str::FromStr;

mod refusal_text;
#[cfg(test)]
mod tests;

/// An enhanced status code (RFC 3463 section 2), as in `5.1.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnhancedCode {
    class: StatusClass,
    subject: u16,
    detail: u16,
}

/// The first number of an enhanced status code (RFC 3463 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatusClass {
    Success,
    Temporary,
    Permanent,
}

/// Why a text is no enhanced status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an enhanced status code is 2, 4 or 5 and two numbers of at most three digits, with dots")]
pub struct InvalidCode;

/// A server's reply about a message, or the part of a report that quotes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerReply<'a> {
    /// The reply's code; none in a report without one.
    pub code: Option<u16>,
    /// The enhanced status code.
    pub enhanced: Option<EnhancedCode>,
    pub text: &'a str,
    pub stage: Stage,
}

/// Where in the conversation a server replied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Before RCPT: about us, not about the address.
    Session,
    /// In answer to RCPT: about the address, or so it should be.
    Recipient,
    /// After RCPT, or in a report: about the address or the message.
    Later,
}

/// What a refusal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyClass {
    /// The address takes no mail for good: it goes on the suppression list.
    DeadAddress,
    /// The address was refused for good, and nothing says why: it goes on the list if a later message is
    /// refused too.
    SuspectAddress,
    /// This message was refused for good; another one may be taken.
    Rejected,
    /// It may be taken later.
    Transient,
}

/// Classifies a reply.
///
/// The reply's code decides between a transient and a permanent failure; the enhanced code and, where that is
/// missing or general, the text tell a dead address from a refused message.
#[must_use]
pub fn classify(reply: ServerReply<'_>) -> ReplyClass {
    let class = match (reply.code, reply.enhanced) {
        (Some(code), _) => StatusClass::of_reply(code),
        (None, Some(enhanced)) => Some(enhanced.class),
        (None, None) => None,
    };
    if class != Some(StatusClass::Permanent) {
        return ReplyClass::Transient;
    }
    if is_dead_address(reply) {
        ReplyClass::DeadAddress
    } else if is_bare(reply) {
        ReplyClass::SuspectAddress
    } else {
        ReplyClass::Rejected
    }
}

/// Whether a reply to RCPT is one of the codes for mailboxes and gives no reason: neither the address nor
/// us. `KumoMTA` classifies such a reply as nothing, Postal suppresses at the second one.
fn is_bare(reply: ServerReply<'_>) -> bool {
    reply.stage == Stage::Recipient
        && reply.enhanced.is_none()
        && matches!(reply.code, Some(550 | 551 | 553))
        && !refusal_text::has_other_reason(reply.text)
}

/// Whether a permanent refusal is one of the address.
fn is_dead_address(reply: ServerReply<'_>) -> bool {
    if reply.stage == Stage::Session {
        return false;
    }
    match reply.enhanced.map(EnhancedCode::parts) {
        // No such mailbox, no such system, bad syntax, moved, no mail here (RFC 7505).
        Some((StatusClass::Permanent, 1, 1 | 2 | 3 | 6 | 10)) => {
            !refusal_text::cites_reputation(reply.text)
        }
        // Disabled; Gmail replies it also for a mailbox that gets too much.
        Some((StatusClass::Permanent, 2, 1)) => !refusal_text::has_other_reason(reply.text),
        // No route; Postfix replies it also after a malformed DNS answer.
        Some((StatusClass::Permanent, 4, 4)) => !refusal_text::cites_dns_failure(reply.text),
        // Exchange Online replies this for an address that its directory does not hold.
        Some((StatusClass::Permanent, 4, 1)) => refusal_text::not_in_directory(reply.text),
        // General codes, no more than 550; 5.1.351 is Exchange Online's for a refusal by another server.
        // Yandex replies `5.7.1 No such user!`.
        Some(
            (StatusClass::Permanent, 0 | 1 | 2 | 3 | 5, 0)
            | (StatusClass::Permanent, 1, 351)
            | (StatusClass::Permanent, 7, 1),
        ) => refusal_text::names_dead_address(reply.text),
        // The code of another class contradicts the reply's.
        Some(_) => false,
        // Yahoo replies 552 also where there is no mailbox.
        None => match reply.code {
            Some(550..=554) | None => refusal_text::names_dead_address(reply.text),
            Some(_) => false,
        },
    }
}

impl EnhancedCode {
    /// The code of those three numbers; none where RFC 3463 knows no such code.
    #[must_use]
    pub fn new(class: StatusClass, subject: u16, detail: u16) -> Option<Self> {
        (subject < 1000 && detail < 1000).then_some(Self { class, subject, detail })
    }

    #[must_use]
    pub fn class(self) -> StatusClass {
        self.class
    }

    /// What it is about (RFC 3463 section 3.2): 3 for the system, 7 for security or policy.
    #[must_use]
    pub fn subject(self) -> u16 {
        self.subject
    }

    /// Whether it says no more than its class and where to look, as in `5.0.0` and `5.1.0`.
    #[must_use]
    pub fn is_general(self) -> bool {
        self.detail == 0
    }

    /// The code with which a reply's text begins (RFC 2034), or that stands in it as `#5.1.1`.
    ///
    /// The second form is qmail's, and has outlived it. A code anywhere else may be a version, an address
    /// or somebody else's.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let first = text.split_whitespace().next()?;
        let hashed = || {
            text.match_indices('#').find_map(|(at, _)| {
                let rest = text.get(at + 1..)?;
                let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
                rest.get(..end.unwrap_or(rest.len()))?.trim_end_matches('.').parse().ok()
            })
        };
        first.trim_end_matches([':', ';', ',']).parse().ok().or_else(hashed)
    }

    fn parts(self) -> (StatusClass, u16, u16) {
        (self.class, self.subject, self.detail)
    }
}

impl StatusClass {
    fn of_reply(code: u16) -> Option<Self> {
        match code {
            200..300 => Some(Self::Success),
            400..500 => Some(Self::Temporary),
            500..600 => Some(Self::Permanent),
            _ => None,
        }
    }

    fn digit(self) -> u8 {
        match self {
            Self::Success => 2,
            Self::Temporary => 4,
            Self::Permanent => 5,
        }
    }
}

impl FromStr for EnhancedCode {
    type Err = InvalidCode;

    fn from_str(text: &str) -> Result<Self, InvalidCode> {
        let mut numbers = text.split('.');
        let class = match numbers.next() {
            Some("2") => StatusClass::Success,
            Some("4") => StatusClass::Temporary,
            Some("5") => StatusClass::Permanent,
            Some(_) | None => return Err(InvalidCode),
        };
        let mut number = || {
            let digits = numbers.next().filter(|it| (1..=3).contains(&it.len()))?;
            if digits.bytes().all(|b| b.is_ascii_digit()) {
                digits.parse::<u16>().ok()
            } else {
                None
            }
        };
        let (Some(subject), Some(detail)) = (number(), number()) else { return Err(InvalidCode) };
        if numbers.next().is_some() {
            return Err(InvalidCode);
        }
        Self::new(class, subject, detail).ok_or(InvalidCode)
    }
}

impl fmt::Display for EnhancedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.class.digit(), self.subject, self.detail)
    }
}
