//! API keys: `wx_live_<8>_<32 base62>` and `wx_test_…`, stored as SHA-256, shown once.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::ip_network::IpNetwork;
use crate::clock::Timestamp;
use crate::id::{AccountId, KeyId, fill_random};

const LOOKUP_LENGTH: usize = 8;
const SECRET_LENGTH: usize = 32;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A key as its holder has it. It is never logged: `Debug` hides the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct PresentedKey {
    mode: Mode,
    lookup: String,
    secret: String,
}

/// A key as the server keeps it.
#[derive(Debug, Clone)]
pub struct ApiKey {
    pub id: KeyId,
    /// Whose sends it makes.
    pub account_id: AccountId,
    /// What a person calls it.
    pub name: String,
    /// Live or test.
    pub mode: Mode,
    /// The 8 characters by which it is found.
    pub lookup: String,
    /// SHA-256 of the whole key.
    pub hash: KeyHash,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// The sender domains that it may use; empty means all of the account's.
    pub domains: Vec<String>,
    /// The templates that it may send; empty means all of the account's.
    pub templates: Vec<String>,
    /// The addresses or networks that it may be used from; empty means any.
    pub networks: Vec<IpNetwork>,
    /// Whether it has been switched off.
    pub state: KeyState,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to about a minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Where the mail of a key goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// To its recipients.
    Live,
    /// Through the full pipeline to the sandbox inbox only, for 0 credits.
    Test,
}

/// Whether a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    Active,
    /// Its holder or the operator has switched it off.
    Deactivated,
}

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Send messages.
    Send,
    /// Write the account's templates.
    Templates,
    /// Manage its account, templates included.
    Admin,
    /// Manage the server.
    Operator,
}

/// SHA-256 of a key; compared in constant time.
#[derive(Debug, Clone, Copy)]
pub struct KeyHash(pub [u8; 32]);

/// Not of the form of a key. The text is not repeated: it may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an API key of the form wx_live_<8>_<32>")]
pub struct MalformedKey;

/// A word that is no mode, or no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be {known}")]
pub struct UnknownWord {
    known: String,
}

impl PresentedKey {
    /// A new random key.
    #[must_use]
    pub fn generate(mode: Mode) -> Self {
        Self { mode, lookup: random_base62(LOOKUP_LENGTH), secret: random_base62(SECRET_LENGTH) }
    }

    /// The characters by which the stored key is found.
    #[must_use]
    pub fn lookup(&self) -> &str {
        &self.lookup
    }

    /// Live or test.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What is stored of it.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.reveal()).into())
    }

    /// The whole key, to be shown once to its holder.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("wx_{}_{}_{}", self.mode.as_str(), self.lookup, self.secret)
    }
}

impl FromStr for PresentedKey {
    type Err = MalformedKey;

    fn from_str(text: &str) -> Result<Self, MalformedKey> {
        let mut parts = text.split('_');
        let (Some("wx"), Some(mode), Some(lookup), Some(secret), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(MalformedKey);
        };
        let mode = match mode {
            "live" => Mode::Live,
            "test" => Mode::Test,
            _ => return Err(MalformedKey),
        };
        let base62 = |part: &str, length| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        if !base62(lookup, LOOKUP_LENGTH) || !base62(secret, SECRET_LENGTH) {
            return Err(MalformedKey);
        }
        Ok(Self { mode, lookup: lookup.to_owned(), secret: secret.to_owned() })
    }
}

impl fmt::Debug for PresentedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PresentedKey(wx_{}_{}_…)", self.mode.as_str(), self.lookup)
    }
}

impl Mode {
    pub const ALL: [Self; 2] = [Self::Live, Self::Test];

    /// The word in the key's text and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Live => "live",
            Mode::Test => "test",
        }
    }
}

impl Scope {
    pub const ALL: [Self; 4] = [Self::Send, Self::Templates, Self::Admin, Self::Operator];

    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Send => "send",
            Scope::Templates => "templates",
            Scope::Admin => "admin",
            Scope::Operator => "operator",
        }
    }
}

impl FromStr for Mode {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let known = Self::ALL.into_iter();
        known
            .clone()
            .find(|it| it.as_str() == word)
            .ok_or_else(|| UnknownWord::of(known.map(Self::as_str)))
    }
}

impl FromStr for Scope {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let known = Self::ALL.into_iter();
        known
            .clone()
            .find(|it| it.as_str() == word)
            .ok_or_else(|| UnknownWord::of(known.map(Self::as_str)))
    }
}

impl UnknownWord {
    fn of(known: impl Iterator<Item = &'static str>) -> Self {
        Self { known: known.collect::<Vec<_>>().join(" or ") }
    }
}

impl ApiKey {
    /// A new key: active, without an expiry and without allow-lists.
    #[must_use]
    pub fn new(
        (id, account_id): (KeyId, AccountId),
        name: String,
        presented: &PresentedKey,
        scopes: Vec<Scope>,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            account_id,
            name,
            mode: presented.mode(),
            lookup: presented.lookup().to_owned(),
            hash: presented.hash(),
            scopes,
            domains: Vec::new(),
            templates: Vec::new(),
            networks: Vec::new(),
            state: KeyState::Active,
            expires_at: None,
            last_used_at: None,
            created_at: now,
        }
    }

    /// Whether the key may do that.
    #[must_use]
    pub fn allows(&self, scope: Scope) -> bool {
        let has = |scope| self.scopes.contains(&scope);
        has(scope) || (scope == Scope::Templates && has(Scope::Admin))
    }

    /// Whether the key is also for messages from that domain, of that template.
    #[must_use]
    pub fn covers(&self, domain: &str, template: Option<&str>) -> bool {
        let is_one_of = |all: &[String], it: Option<&str>| {
            all.is_empty() || all.iter().any(|one| Some(one.as_str()) == it)
        };
        is_one_of(&self.domains, Some(domain)) && is_one_of(&self.templates, template)
    }

    /// Whether the key is for all domains and templates of its account.
    #[must_use]
    pub fn covers_all(&self) -> bool {
        self.domains.is_empty() && self.templates.is_empty()
    }

    /// Whether the key may be used from that address.
    #[must_use]
    pub fn allows_ip(&self, ip: IpAddr) -> bool {
        self.networks.is_empty() || self.networks.iter().any(|network| network.contains(ip))
    }

    /// Whether both may do the same: one key, before and after a change.
    #[must_use]
    pub fn has_rights_of(&self, other: &Self) -> bool {
        self.scopes == other.scopes
            && self.domains == other.domains
            && self.templates == other.templates
            && self.networks == other.networks
            && self.expires_at == other.expires_at
    }

    /// Whether the key works at that moment.
    #[must_use]
    pub fn is_usable_at(&self, now: Timestamp) -> bool {
        self.state == KeyState::Active && self.expires_at.is_none_or(|end| now < end)
    }
}

impl KeyHash {
    /// Compares in constant time.
    #[must_use]
    pub fn matches(&self, other: &KeyHash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// Uniform: bytes over the largest multiple of 62 are drawn again.
fn random_base62(length: usize) -> String {
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let mut byte = [0];
        fill_random(&mut byte);
        if byte[0] < 248 {
            text.push(char::from(BASE62[usize::from(byte[0] % 62)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_as_it_was_shown() {
        let key = PresentedKey::generate(Mode::Live);
        assert_eq!(key.reveal().parse(), Ok(key.clone()));
        assert!(key.hash().matches(&key.reveal().parse::<PresentedKey>().expect("valid").hash()));
    }

    #[test]
    fn debug_never_shows_the_secret() {
        let key = PresentedKey::generate(Mode::Test);
        assert!(!format!("{key:?}").contains(&key.secret));
    }

    #[test]
    fn what_is_not_a_key_is_refused() {
        for text in ["", "wx_live_12345678_short", "wx_prod_12345678_x", "wx_live_a_b_c_d"] {
            assert_eq!(text.parse::<PresentedKey>(), Err(MalformedKey), "{text}");
        }
    }
}
