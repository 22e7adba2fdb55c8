//! Identifiers: a prefix that names the noun, and a ULID (128 bits, ordered by time).

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use crate::clock::Timestamp;

/// A text that is not an identifier of the wanted noun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an identifier that starts with `{prefix}`")]
pub struct InvalidId {
    text: String,
    prefix: &'static str,
}

/// An identifier as its 128 bits: bytes in their order are identifiers in the order of their time.
pub trait Identifier: Copy {
    /// None comes before it.
    const MIN: Self;
    /// None comes after it.
    const MAX: Self;

    fn to_bytes(self) -> [u8; 16];

    fn from_bytes(bytes: [u8; 16]) -> Self;
}

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Ulid);

        impl $name {
            /// A new identifier, made at `now`.
            #[must_use]
            pub fn new(now: Timestamp) -> Self {
                Self(Ulid::from_parts(now.unsigned_millis(), random_u128()))
            }

            /// None that was made at that moment or later comes before it.
            #[must_use]
            pub fn first_of(moment: Timestamp) -> Self {
                Self(Ulid::from_parts(moment.unsigned_millis(), 0))
            }

            /// When it was made.
            #[must_use]
            pub fn made_at(self) -> Timestamp {
                Timestamp::from_millis(i64::try_from(self.0.timestamp_ms()).unwrap_or(i64::MAX))
            }

            /// The one that comes directly behind it.
            #[must_use]
            pub fn successor(self) -> Self {
                Self(Ulid(self.0.0.saturating_add(1)))
            }

            /// The ULID without its prefix, in lower case.
            #[must_use]
            pub fn ulid(self) -> String {
                let mut ulid = self.0.to_string();
                ulid.make_ascii_lowercase();
                ulid
            }
        }

        impl Identifier for $name {
            const MIN: Self = Self(Ulid(0));
            const MAX: Self = Self(Ulid(u128::MAX));

            fn to_bytes(self) -> [u8; 16] {
                self.0.to_bytes()
            }

            fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Ulid::from_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                f.write_str(self.0.array_to_str(&mut [0; ulid::ULID_LEN]))
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                // One name a thing: over 128 bits, two texts would mean the same.
                text.strip_prefix($prefix)
                    .filter(|ulid| ulid.starts_with(|first: char| ('0'..='7').contains(&first)))
                    .and_then(|ulid| Ulid::from_string(ulid).ok())
                    .map(Self)
                    .ok_or_else(|| InvalidId { text: text.to_owned(), prefix: $prefix })
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    )*};
}

identifiers! {
    AccountId = "acc_";
    /// An API key.
    KeyId = "key_";
    /// A template of an account.
    TemplateId = "tpl_";
    /// A sender domain of an account.
    DomainId = "dom_";
    /// A message to one recipient.
    MessageId = "msg_";
    /// A change of a message's state.
    EventId = "evt_";
    /// A webhook of an account.
    WebhookId = "whk_";
    /// One request to the server.
    RequestId = "req_";
    /// What the plugins decided about one send.
    DecisionId = "dec_";
    /// Somebody who logs in to the dashboard.
    UserId = "usr_";
    /// A log-in that lasts.
    SessionId = "ses_";
    /// A server from its start to its end: one of those that work with a database.
    NodeId = "nod_";
}

impl MessageId {
    /// The whole hour in which it was made: messages are kept, found and counted by it.
    #[must_use]
    pub fn period(self) -> i64 {
        i64::try_from(self.0.timestamp_ms() / 3_600_000).unwrap_or(i64::MAX)
    }

    /// None that was made in that hour or later comes before it.
    #[must_use]
    pub fn first_of_period(period: i64) -> Self {
        let hour = u64::try_from(period).unwrap_or(0);
        Self(Ulid::from_parts(hour.saturating_mul(3_600_000), 0))
    }
}

impl DecisionId {
    /// What is decided of a message has the message's 128 bits.
    #[must_use]
    pub fn of(message: MessageId) -> Self {
        Self(message.0)
    }

    /// The message that has these 128 bits, if there is one.
    #[must_use]
    pub fn message(self) -> MessageId {
        MessageId(self.0)
    }
}

impl EventId {
    /// The identifier with that time and 80 bits.
    #[must_use]
    pub fn derived(at: Timestamp, bits: u128) -> Self {
        Self(Ulid::from_parts(at.unsigned_millis(), bits))
    }
}

/// Random bytes from the operating system.
///
/// # Panics
/// The operating system has no source of randomness; nothing can go on safely then.
pub fn fill_random(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system gives random bytes");
}

/// Random bytes that this thread has fetched for identifiers, and how many of them are used up.
struct Fetched {
    bytes: [u8; FETCHED_BYTES],
    used: usize,
}

/// Those of 32 identifiers: each fetch is a system call.
const FETCHED_BYTES: usize = 512;

thread_local! {
    static FETCHED: RefCell<Fetched> =
        const { RefCell::new(Fetched { bytes: [0; FETCHED_BYTES], used: FETCHED_BYTES }) };
}

/// For identifiers only: a secret is fetched for itself, and stays nowhere else.
fn random_u128() -> u128 {
    FETCHED.with_borrow_mut(|fetched| {
        if fetched.used == FETCHED_BYTES {
            fill_random(&mut fetched.bytes);
            fetched.used = 0;
        }
        let mut random = [0; 16];
        let next = fetched.bytes.iter_mut().skip(fetched.used).map(std::mem::take);
        random.iter_mut().zip(next).for_each(|(to, from)| *to = from);
        fetched.used += random.len();
        u128::from_be_bytes(random)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_identifier_keeps_its_noun() {
        let id = MessageId::new(Timestamp::from_millis(1));
        assert_eq!(id.to_string().parse::<MessageId>(), Ok(id));
        assert!(id.to_string().parse::<AccountId>().is_err());
    }

    #[test]
    fn the_bytes_of_identifiers_are_in_the_order_of_their_texts() {
        let ids = |at| (0..100).map(move |_| MessageId::new(Timestamp::from_millis(at)));
        let mut ids: Vec<MessageId> = ids(5).chain(ids(3_600_000 * 500_000)).collect();
        ids.sort_unstable_by_key(|it| it.to_bytes());
        assert!(ids.is_sorted_by_key(ToString::to_string));
        assert!(ids.iter().all(|it| MessageId::from_bytes(it.to_bytes()) == *it));
        assert_eq!((ids[0].period(), ids[199].period()), (0, 500_000));
    }

    #[test]
    fn no_identifier_comes_twice() {
        let made = || (0..1_000).map(|_| MessageId::new(Timestamp::from_millis(1)));
        let elsewhere = std::thread::spawn(move || made().collect::<Vec<_>>());
        let all: BTreeSet<MessageId> = made().chain(elsewhere.join().expect("it ends")).collect();
        assert_eq!(all.len(), 2_000);
    }
}
