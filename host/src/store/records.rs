//! What goes into and comes out of the store on the journey of a message.

mod bounce;
mod commit;
mod lease;

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

use crate::account::idempotency::Idempotency;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::{AccountId, DomainId, KeyId, MessageId};
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;
use crate::message::state::MessageState;
use crate::message::status::EnhancedCode;
use crate::message::waits_for::WaitsFor;
use crate::nodes::{HeldShares, Share};
use crate::template::version::{Dictionary, TemplateRevision};

pub use bounce::{BounceClass, BounceFacts, NewSuppression, Suppresses, SuppressionKind};
pub use commit::{
    Accepted, Answer, CommitFacts, CreditEvent, CreditEventKind, IdempotencyKey, JobOutcome,
    JobVerdict, Verdict,
};
pub use lease::{End, HeldBack, Interrupted, LeaseFacts, LeaseVerdict};

/// Compressed bodies up to this size count alike where the size of a transaction is bounded.
const SMALL_BODY_BYTES: usize = 16 << 10;

/// All that one request commits, in one transaction.
#[derive(Debug, Clone)]
pub struct Job {
    /// The revision of the facts that it was decided on; it is stale if a fact of its account has changed since.
    pub revision: i64,
    pub account_id: AccountId,
    /// The key that was used.
    pub key_id: KeyId,
    /// Its mode: test keys and live keys do not share idempotency keys.
    pub mode: crate::account::key::Mode,
    /// The client's own key for this request.
    pub idempotency: Option<Idempotency>,
    /// Whether its messages depend on each other.
    pub acceptance: Acceptance,
    /// One item for each message of the request, in order.
    pub items: Vec<JobItem>,
}

/// What a refusal of one message means for the others of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// Each is taken for itself: a batch over HTTP.
    Each,
    /// All or none: the recipients of one SMTP transaction, which has one reply.
    Together,
}

/// What a request asks for one of its messages.
#[derive(Debug, Clone)]
pub enum JobItem {
    /// A message to store and to charge.
    Message(Box<NewMessage>),
    /// A refusal of an earlier step, kept for the answer only.
    Refused(Value),
}

/// A message as `commit` stores it.
#[derive(Debug, Clone)]
pub struct NewMessage {
    pub id: MessageId,
    pub channel: Channel,
    /// None for a raw message.
    pub template: Option<TemplateRevision>,
    /// The author: the address in From.
    pub sender: EmailAddress,
    /// The author's domain.
    pub domain: DomainId,
    /// The envelope's sender.
    pub return_path: ReturnPath,
    /// Envelope recipient.
    pub recipient: EmailAddress,
    pub subject: String,
    pub route: RouteChoice,
    pub price: Credits,
    /// The sender's own words to find it by.
    pub tags: Vec<String>,
    /// The sender's own facts about it.
    pub metadata: serde_json::Map<String, Value>,
    /// When it may leave; none means now.
    pub send_at: Option<Timestamp>,
    /// The message that it sends once more.
    pub resent_from: Option<MessageId>,
    /// The RFC 5322 message.
    pub body: BodyOf,
    /// Variables that its template left blank, as in `user.name`.
    pub blank: Vec<String>,
    /// Members of its data that nothing in the template reads.
    pub unread: Vec<String>,
    /// The locale that it was rendered in, where its template has several.
    pub locale: Option<String>,
    /// What each plugin decided. It is called by the message's own 128 bits.
    pub decisions: Arc<[PluginDecision]>,
}

/// One decision of one plugin, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginDecision {
    /// The plugin's kind, as one word.
    pub kind: &'static str,
    /// Which component it was, as a JSON object; its decisions share the text.
    pub identity: Arc<str>,
    pub verdict: Cow<'static, str>,
    /// Why, in the plugin's words.
    pub reason: Option<String>,
    /// How long it took.
    pub micros: u64,
    /// Variables that went out blank.
    pub blank: Vec<String>,
    /// The locale that it was rendered in, where its template has several.
    pub locale: Option<String>,
}

/// Where bounces of a message go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnPath {
    /// To its author.
    Author,
    /// To this address, or, where there is none, nowhere (RFC 5321 section 4.5.5).
    Other(Option<EmailAddress>),
}

/// Where a message's body is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyOf {
    /// It has its own, compressed.
    Own(Body),
    /// It is that of another message of the same request.
    Message(MessageId),
}

impl BodyOf {
    /// The message that has the body of `message`.
    #[must_use]
    pub fn of<'a>(&'a self, message: &'a MessageId) -> &'a MessageId {
        match self {
            Self::Own(_) => message,
            Self::Message(other) => other,
        }
    }

    /// How much a transaction writes for a message with this body: as much as for so many messages with small bodies.
    #[must_use]
    pub fn cost(&self) -> usize {
        match self {
            Self::Own(body) => body.bytes.len().div_ceil(SMALL_BODY_BYTES).max(1),
            Self::Message(_) => 1,
        }
    }
}

/// A stored body: an LZ4 block behind the length of what it was, in 4 bytes, little endian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    bytes: Vec<u8>,
    dictionary: Option<i64>,
}

impl Body {
    /// Compresses a message.
    #[must_use]
    pub fn pack(raw: &[u8]) -> Self {
        Self { bytes: lz4_flex::compress_prepend_size(raw), dictionary: None }
    }

    /// Compresses a message with what it has in common with others, where there is that.
    #[must_use]
    pub fn pack_with(raw: &[u8], dictionary: Option<&Dictionary>) -> Self {
        let Some(Dictionary { id, bytes }) = dictionary else { return Self::pack(raw) };
        Self { bytes: compress_prepend_size_with_dict(raw, bytes), dictionary: Some(*id) }
    }

    /// The message again, with the bytes of the dictionary that it names; none if what is stored is damaged.
    #[must_use]
    pub fn unpack(&self, dictionary: Option<&[u8]>) -> Option<Vec<u8>> {
        let raw = decompress_size_prepended_with_dict(&self.bytes, dictionary.unwrap_or_default());
        raw.ok().filter(|raw| u32::try_from(raw.len()).ok() == self.octets())
    }

    /// The row of the dictionary that it was compressed with.
    #[must_use]
    pub fn dictionary(&self) -> Option<i64> {
        self.dictionary
    }

    /// Octets of the message, by the beginning of its compressed bytes; none if they are damaged.
    #[must_use]
    pub fn octets(&self) -> Option<u32> {
        self.bytes.first_chunk().map(|size| u32::from_le_bytes(*size))
    }

    /// The compressed bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// From stored bytes.
    #[must_use]
    pub fn from_stored(bytes: Vec<u8>) -> Self {
        Self { bytes, dictionary: None }
    }
}

/// Where a message may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RouteChoice {
    /// To the sandbox inbox only.
    Sandbox,
    /// Wherever the configuration sends it.
    Configured,
}

impl RouteChoice {
    /// The lane of the queue in which a message to that recipient waits.
    #[must_use]
    pub fn lane(self, recipient: &EmailAddress) -> String {
        match self {
            Self::Sandbox => self.as_str().to_owned(),
            Self::Configured => recipient.host().to_ascii_lowercase(),
        }
    }

    /// The word in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Configured => "configured",
        }
    }
}

/// A message that is due, before anybody has leased it.
#[derive(Debug, Clone)]
pub struct Due {
    pub message_id: MessageId,
    pub account_id: AccountId,
    /// `sandbox`, or its recipient's domain in lower case, which may be an address literal.
    pub lane: String,
    pub due_at: Timestamp,
    /// Whether somebody wants an attempt, whatever was known of its destination before.
    pub is_wanted: bool,
    /// Octets of its content; none where they are not known.
    pub octets: Option<u32>,
    /// Delivery attempts so far; a wait during a back-off is none.
    pub attempts: u32,
    /// When the first attempt was made, or would have been if its destination had not been backed off from.
    pub first_at: Option<Timestamp>,
}

/// A message that is not offered to its destination now. That is no attempt.
#[derive(Debug, Clone)]
pub struct BackedOff {
    pub message_id: MessageId,
    /// When it is due again.
    pub until: Timestamp,
    /// The hosts that it waits for: when they recover, its delivery resumes before its time.
    pub waits_for: WaitsFor,
    pub reason: String,
}

/// A place in the order in which messages of a lane are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub due_at: Timestamp,
    /// Which one of that moment.
    pub message_id: MessageId,
}

impl Due {
    /// Where it stands.
    #[must_use]
    pub fn position(&self) -> Position {
        Position { due_at: self.due_at, message_id: self.message_id }
    }
}

/// One account's messages to one recipient domain, or to the sandbox inbox. The queue is claimed lane by
/// lane, so that a lane which is held up costs the others nothing, however long it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// `sandbox`, or a recipient domain in lower case, which may be an address literal.
    pub name: String,
    pub account_id: AccountId,
}

impl Lane {
    /// The share that its messages belong to.
    #[must_use]
    pub fn share(&self) -> Share {
        if self.name == RouteChoice::Sandbox.as_str() {
            Share::of_sandbox(self.account_id)
        } else {
            Share::of_domain(&self.name)
        }
    }
}

/// Who leases messages.
#[derive(Debug, Clone, Copy)]
pub struct Lessee<'a> {
    /// Names the process in its leases.
    pub owner: &'a str,
    /// The shares that it believes to have; none where it is alone.
    pub shares: Option<&'a HeldShares>,
}

/// Lanes that are claimed apart from each other, because neither may wait behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneKind {
    /// Those of the sandbox inbox.
    Sandbox,
    /// Those of recipient domains.
    Domains,
}

/// A lane that may have due messages, in the order in which lanes are due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueLane {
    /// No message of the lane is due earlier.
    pub due_at: Timestamp,
    pub lane: Lane,
}

/// Where the due messages of a lane are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneStart {
    pub lane: Lane,
    /// Behind that message; from the first one where there is none.
    pub after: Option<Position>,
}

/// A message that a worker has leased for one attempt.
#[derive(Debug, Clone)]
pub struct Lease {
    pub message_id: MessageId,
    pub account_id: AccountId,
    /// The envelope's sender as the client gave it; none for the empty path.
    pub sender: Option<EmailAddress>,
    /// The author: the address in From.
    pub author: EmailAddress,
    /// The domain that it was accepted for; none for a message of an earlier version.
    pub domain: Option<DomainId>,
    /// Envelope recipient.
    pub recipient: EmailAddress,
    pub route: RouteChoice,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// When the first attempt began.
    pub first_at: Timestamp,
}

/// How an attempt ended, to be written in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    pub message_id: MessageId,
    pub account_id: AccountId,
    /// What becomes of the message.
    pub verdict: AfterAttempt,
    /// The reason, in the words of the server that replied.
    pub reason: String,
    /// What happened in the attempt.
    pub attempt: AttemptRecord,
}

/// What becomes of a message after an attempt. Where no other one follows, it leaves the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterAttempt {
    /// Another attempt follows.
    Deferred {
        next_attempt: Timestamp,
        /// The hosts that it waits for: when they recover, its delivery resumes before its time.
        waits_for: Option<WaitsFor>,
    },
    Delivered,
    Relayed,
    Bounced {
        /// What webhooks are told of it.
        class: BounceClass,
        suppresses: Suppresses,
    },
    Failed(Suppresses),
}

impl AfterAttempt {
    /// The state that the message is in then.
    #[must_use]
    pub fn state(&self) -> MessageState {
        match self {
            Self::Deferred { .. } => MessageState::Deferred,
            Self::Delivered => MessageState::Delivered,
            Self::Relayed => MessageState::Relayed,
            Self::Bounced { .. } => MessageState::Bounced,
            Self::Failed(_) => MessageState::Failed,
        }
    }

    #[must_use]
    pub fn waits_for(&self) -> Option<&WaitsFor> {
        match self {
            Self::Deferred { waits_for, .. } => waits_for.as_ref(),
            Self::Delivered | Self::Relayed | Self::Bounced { .. } | Self::Failed(_) => None,
        }
    }

    #[must_use]
    pub fn next_attempt(&self) -> Option<Timestamp> {
        match self {
            Self::Deferred { next_attempt, .. } => Some(*next_attempt),
            Self::Delivered | Self::Relayed | Self::Bounced { .. } | Self::Failed(_) => None,
        }
    }
}

/// What happened in one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Which attempt of its message, from 1.
    pub number: u32,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    /// `sandbox`, `direct`, or the name of a smarthost.
    pub route: String,
    /// The host that answered, or did not; none where the attempt did not come so far.
    pub host: Option<AttemptHost>,
    /// How the connection was encrypted.
    pub tls: Option<String>,
    pub ending: AttemptEnding,
    /// The words of the reply, or what happened where there was none.
    pub reply: String,
    /// The dialog, line by line, without the message's content and any secret.
    pub conversation: String,
}

/// A host that an attempt went to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptHost {
    pub name: String,
    /// With its port.
    pub address: String,
}

/// What was known when an attempt was over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptEnding {
    /// A server replied.
    Reply {
        /// RFC 5321 section 4.2.
        code: u16,
        /// The enhanced status code (RFC 3463), as in `5.1.1`.
        enhanced: Option<EnhancedCode>,
    },
    /// No server replied, and the message has not arrived. DNS may have given the reason, as an enhanced status code.
    NoReply { enhanced: Option<EnhancedCode> },
    /// The end of the message was sent, and no reply came.
    MayHaveArrived,
}

impl AttemptEnding {
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Reply { code, .. } => Some(*code),
            Self::NoReply { .. } | Self::MayHaveArrived => None,
        }
    }

    #[must_use]
    pub fn enhanced(&self) -> Option<EnhancedCode> {
        match self {
            Self::Reply { enhanced, .. } | Self::NoReply { enhanced } => *enhanced,
            Self::MayHaveArrived => None,
        }
    }
}
