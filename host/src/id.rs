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

            /// The ULID without its prefix, in lower case.
            #[must_use]
            pub fn ulid(self) -> String {
                self.0.to_string().to_ascii_lowercase()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
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
    fn no_identifier_comes_twice() {
        let made = || (0..1_000).map(|_| MessageId::new(Timestamp::from_millis(1)));
        let elsewhere = std::thread::spawn(move || made().collect::<Vec<_>>());
        let all: BTreeSet<MessageId> = made().chain(elsewhere.join().expect("it ends")).collect();
        assert_eq!(all.len(), 2_000);
    }
}
