//! The outcome of one attempt for one recipient: data, not an error.

use std::fmt;
use std::net::SocketAddr;

use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::message::status::{EnhancedCode, ReplyClass, ServerReply, Stage, StatusClass, classify};
use crate::message::waits_for::{Hosts, SANDBOX, WaitsFor};
use crate::store::records::AttemptEnding;

const DIRECT: &str = "direct";

/// How an attempt ended, and what led to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub outcome: Outcome,
    /// The reply's text, or what happened.
    pub words: String,
    pub contact: Contact,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The recipient's server, or the sandbox inbox, accepted the message.
    Delivered(ReplyCode),
    /// A smarthost accepted the message.
    Relayed(ReplyCode),
    /// Another attempt may succeed.
    Deferred(Deferral),
    /// A 5xx reply.
    Bounced(ReplyCode, AddressVerdict),
    /// The message cannot be sent, for a reason that no server gave.
    Failed(FailureReason),
}

/// Why a message cannot be sent, without the reply of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureReason {
    /// The domain of the recipient does not exist, or has no address (RFC 3463 section 3.2, X.1.2).
    BadDestination,
    /// The domain says that it takes no mail (RFC 7505).
    NullMx,
    /// No host of the domain can be reached from here (RFC 3463 section 3.5, X.4.4).
    NoRoute,
    /// This server is the best host of the domain (RFC 3463 section 3.5, X.4.6).
    RoutingLoop,
    /// The next server needs a form of the message into which it cannot be converted (RFC 3463 section 3.7, X.6.3).
    Unconvertible,
    /// No enhanced status code says the reason: the words of the report do.
    Other,
}

/// Why an attempt is to be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deferral {
    Refused(ReplyCode),
    /// No server replied, or none was asked.
    NoReply,
    /// The end of the message was sent, and no reply came.
    MayHaveArrived,
    /// The attempt caused or met a back-off: an earlier attempt is of no use. Some hosts reply before
    /// they hang up.
    BackOff(Option<ReplyCode>, Box<Backoff>),
    /// The MX of this domain cannot be resolved now.
    UnresolvedMx(String),
}

/// The code of a reply (RFC 5321 section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyCode {
    pub code: u16,
    /// The enhanced status code (RFC 3463), as in `5.1.1`.
    pub enhanced: Option<EnhancedCode>,
}

/// What an attempt says about the recipient's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressVerdict {
    /// Nothing: the message or this server is the cause.
    Undecided,
    /// It may be dead. One rejection without a reason, or one DNS answer, may be a mistake; a later
    /// one suppresses the address.
    Suspect,
    /// It accepts no mail permanently, and is suppressed.
    Dead,
}

/// The host of an attempt, and the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contact {
    /// None where the attempt did not come so far.
    pub route: Option<RouteTaken>,
    /// The host that answered, or did not, and its address.
    pub host: Option<(String, SocketAddr)>,
    /// How the connection was encrypted.
    pub tls: Option<String>,
    pub conversation: String,
}

/// Which way an attempt went. What [`fmt::Display`] writes stands in the column `attempts.route` and in answers of
/// the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteTaken {
    /// To the sandbox inbox.
    Sandbox,
    /// To the mail exchangers of the recipient's domain.
    Direct,
    /// To the smarthost of this name.
    Smarthost(String),
}

/// Why and until when delivery backs off from hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    pub hosts: Hosts,
    /// The only account whose mail waits; none where all mail does.
    pub account: Option<AccountId>,
    /// The last failure.
    pub since: Timestamp,
    pub until: Timestamp,
    /// Other accounts read this, so it quotes a host only from before it knew of a message.
    pub reason: String,
    /// Failures in a row, of all accounts together.
    pub failures: u32,
}

impl Report {
    #[must_use]
    pub fn new(outcome: Outcome, route: Option<RouteTaken>, words: impl Into<String>) -> Self {
        let contact = Contact { route, ..Contact::default() };
        Self { outcome, words: words.into(), contact }
    }

    /// A deferral that no server caused.
    #[must_use]
    pub fn deferred(route: Option<RouteTaken>, words: impl Into<String>) -> Self {
        Self::new(Outcome::Deferred(Deferral::NoReply), route, words)
    }
}

impl RouteTaken {
    /// Reads what the column holds, where nothing is written for an attempt that took no route.
    #[must_use]
    pub fn of_column(text: &str) -> Option<Self> {
        match text {
            "" => None,
            SANDBOX => Some(Self::Sandbox),
            DIRECT => Some(Self::Direct),
            name => Some(Self::Smarthost(name.to_owned())),
        }
    }
}

impl fmt::Display for RouteTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sandbox => SANDBOX,
            Self::Direct => DIRECT,
            Self::Smarthost(name) => name,
        })
    }
}

impl Outcome {
    /// A 4xx or 5xx reply at that stage of the session.
    #[must_use]
    pub fn refused(stage: Stage, reply: ReplyCode, text: &str) -> Self {
        let ReplyCode { code, enhanced } = reply;
        match classify(ServerReply { code: Some(code), enhanced, text, stage }) {
            ReplyClass::DeadAddress => Self::Bounced(reply, AddressVerdict::Dead),
            ReplyClass::SuspectAddress => Self::Bounced(reply, AddressVerdict::Suspect),
            ReplyClass::Rejected => Self::Bounced(reply, AddressVerdict::Undecided),
            ReplyClass::Transient => Self::Deferred(Deferral::Refused(reply)),
        }
    }

    /// A deferral, with the reply of the server if there was one.
    #[must_use]
    pub fn deferred(reply: Option<ReplyCode>) -> Self {
        Self::Deferred(reply.map_or(Deferral::NoReply, Deferral::Refused))
    }

    #[must_use]
    pub fn address_verdict(&self) -> AddressVerdict {
        match self {
            Self::Bounced(_, verdict) => *verdict,
            // DNS says that the address can take no mail: now, and perhaps by mistake.
            Self::Failed(FailureReason::BadDestination | FailureReason::NullMx) => {
                AddressVerdict::Suspect
            }
            Self::Failed(
                FailureReason::NoRoute
                | FailureReason::RoutingLoop
                | FailureReason::Unconvertible
                | FailureReason::Other,
            )
            | Self::Delivered(_)
            | Self::Relayed(_)
            | Self::Deferred(_) => AddressVerdict::Undecided,
        }
    }

    /// What is recorded of it.
    #[must_use]
    pub fn into_ending(self) -> AttemptEnding {
        let reply = match self {
            Self::Failed(reason) => {
                return AttemptEnding::NoReply { enhanced: reason.enhanced() };
            }
            Self::Deferred(Deferral::MayHaveArrived) => return AttemptEnding::MayHaveArrived,
            Self::Delivered(reply)
            | Self::Relayed(reply)
            | Self::Bounced(reply, _)
            | Self::Deferred(Deferral::Refused(reply)) => Some(reply),
            Self::Deferred(Deferral::BackOff(reply, _)) => reply,
            Self::Deferred(Deferral::NoReply | Deferral::UnresolvedMx(_)) => None,
        };
        match reply {
            Some(ReplyCode { code, enhanced }) => AttemptEnding::Reply { code, enhanced },
            None => AttemptEnding::NoReply { enhanced: None },
        }
    }
}

impl FailureReason {
    /// The enhanced status code (RFC 3463).
    #[must_use]
    pub fn enhanced(self) -> Option<EnhancedCode> {
        let (subject, detail) = match self {
            Self::BadDestination => (1, 2),
            Self::NullMx => (1, 10),
            Self::NoRoute => (4, 4),
            Self::RoutingLoop => (4, 6),
            Self::Unconvertible => (6, 3),
            Self::Other => return None,
        };
        EnhancedCode::new(StatusClass::Permanent, subject, detail)
    }
}

impl Deferral {
    /// What the message waits for besides its own next attempt.
    #[must_use]
    pub fn waits_for(&self) -> Option<WaitsFor> {
        match self {
            Self::BackOff(_, backoff) => Some(backoff.waits_for()),
            Self::UnresolvedMx(domain) => Some(WaitsFor::Mx(domain.clone())),
            Self::Refused(_) | Self::NoReply | Self::MayHaveArrived => None,
        }
    }

    #[must_use]
    pub fn reply(&self) -> Option<&ReplyCode> {
        match self {
            Self::Refused(reply) => Some(reply),
            Self::BackOff(reply, _) => reply.as_ref(),
            Self::NoReply | Self::MayHaveArrived | Self::UnresolvedMx(_) => None,
        }
    }

    /// The same where delivery now backs off from the hosts.
    #[must_use]
    pub fn backing_off(self, backoff: Backoff) -> Self {
        Self::BackOff(self.reply().copied(), Box::new(backoff))
    }
}

impl Backoff {
    #[must_use]
    pub fn waits_for(&self) -> WaitsFor {
        WaitsFor::Hosts { hosts: self.hosts.clone(), account: self.account }
    }
}

/// A reply as it stands in reasons.
#[must_use]
pub fn reply_text(code: u16, enhanced: Option<EnhancedCode>, text: &str) -> String {
    match enhanced {
        Some(enhanced) => format!("{code} {enhanced} {text}"),
        None => format!("{code} {text}"),
    }
}
