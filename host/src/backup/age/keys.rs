//! Keys of age: a recipient (`age1…`), to whom a file is encrypted, and its identity (`AGE-SECRET-KEY-1…`), which opens it.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::error::Unspecified;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bech32::{Bech32, Hrp};
use serde::{Deserialize, Serialize};

use super::derivation::{FileKey, derived};
use crate::clock::Timestamp;
use crate::id::fill_random;

const RECIPIENT: &str = "age";
const IDENTITY: &str = "age-secret-key-";
/// What stands before the recipient in the file of an identity.
const COMMENT: &str = "# public key: ";
const STANZA: &str = "X25519";
const PURPOSE: &[u8] = b"age-encryption.org/v1/X25519";

/// Octets of a public and of a secret key.
const KEY: usize = 32;

/// Why a text is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    // Neither is shown: somebody may have taken the secret for the public key.
    #[error("no recipient of age: one begins with age1, and `waxwing backup keygen` makes one")]
    Recipient,
    #[error(
        "a recipient of age was not copied as it was: it begins with age1, but the check characters at its end do not fit \
         the rest; copy it again from the line `# public key:` of the identity"
    )]
    MistypedRecipient,
    #[error(
        "line {0} begins with age1, but was not copied as it was: the check characters at its end do not fit the rest; copy \
         it again from the line `# public key:` of the identity"
    )]
    MistypedLine(usize),
    #[error(
        "the identity was not copied as it was: it begins with AGE-SECRET-KEY-1, but the check characters at its end do not \
         fit the rest; take another copy of it"
    )]
    MistypedIdentity,
    /// Left out, it would be somebody who cannot open the backup.
    #[error(
        "line {0} is no recipient of age, which begins with age1; keys of SSH are not supported: make a pair with \
         `waxwing backup keygen`, or take the line out"
    )]
    Line(usize),
    #[error("there is no identity of age: a line that begins with AGE-SECRET-KEY-1")]
    Identity,
    #[error("there are several identities; give a file with the one that opens the backup")]
    Identities,
}

/// A public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Recipient([u8; KEY]);

/// A secret key; its debug form does not show it.
pub struct Identity {
    secret: [u8; KEY],
    key: PrivateKey,
    recipient: Recipient,
}

impl Recipient {
    /// The recipients in a file, one a line; in an identity's file they stand in a comment.
    pub fn all_of_file(text: &str) -> Result<Vec<Self>, KeyError> {
        let lines = text.lines().map(str::trim);
        let keys = lines.map(|it| it.strip_prefix(COMMENT).unwrap_or(it)).enumerate();
        let is_key = |it: &str| !it.is_empty() && !it.starts_with('#') && !is_identity(it);
        let keys = keys.filter(|(_, it)| is_key(it));
        let at = |line, error| {
            let is_mistyped = error == KeyError::MistypedRecipient;
            if is_mistyped { KeyError::MistypedLine(line) } else { KeyError::Line(line) }
        };
        keys.map(|(number, it)| it.parse().map_err(|error| at(number + 1, error))).collect()
    }

    /// The stanza that gives the key of a file to this recipient.
    pub(super) fn wrap(&self, file_key: &FileKey) -> Result<String, Unspecified> {
        let ephemeral = Identity::random()?;
        let share = ephemeral.recipient;
        let key = shared_key(&ephemeral, self, &share, self)?;
        let mut sealed = file_key.to_vec();
        key.seal_in_place_append_tag(zero_nonce(), Aad::empty(), &mut sealed)?;
        let [share, sealed] = [&share.0[..], &sealed].map(|it| STANDARD_NO_PAD.encode(it));
        Ok(format!("-> {STANZA} {share}\n{sealed}\n"))
    }
}

impl Identity {
    /// A new one.
    pub fn random() -> Result<Self, Unspecified> {
        let mut secret = [0; KEY];
        fill_random(&mut secret);
        Self::new(secret)
    }

    fn new(secret: [u8; KEY]) -> Result<Self, Unspecified> {
        let key = PrivateKey::from_private_key(&X25519, &secret).map_err(|_| Unspecified)?;
        let public = key.compute_public_key()?;
        let recipient = public.as_ref().try_into().map(Recipient).map_err(|_| Unspecified)?;
        Ok(Self { secret, key, recipient })
    }

    /// To whom files are encrypted that this opens.
    #[must_use]
    pub fn recipient(&self) -> Recipient {
        self.recipient
    }

    /// The file of the identity, as `age-keygen` writes it.
    #[must_use]
    pub fn to_file(&self, now: Timestamp) -> String {
        format!("# created: {now}\n{COMMENT}{}\n{}\n", self.recipient, self.reveal())
    }

    /// The text of the secret key.
    #[must_use]
    pub fn reveal(&self) -> String {
        let text = bech32::encode_upper::<Bech32>(Hrp::parse_unchecked(IDENTITY), &self.secret);
        text.unwrap_or_default()
    }

    /// The identity in a file as `age-keygen` writes it: comments, and a line with the key.
    pub fn of_file(text: &str) -> Result<Self, KeyError> {
        let lines = text.lines().map(str::trim);
        let mut lines = lines.filter(|it| !it.is_empty() && !it.starts_with('#'));
        let line = lines.next().unwrap_or_default();
        let secret = decoded(IDENTITY, line).ok_or_else(|| {
            if is_mistyped(IDENTITY, line) {
                KeyError::MistypedIdentity
            } else {
                KeyError::Identity
            }
        })?;
        if lines.next().is_some() {
            return Err(KeyError::Identities);
        }
        Self::new(secret).map_err(|_| KeyError::Identity)
    }

    /// The key of a file, where a stanza is for this identity.
    pub(super) fn open(&self, arguments: &str, body: &[u8]) -> Option<FileKey> {
        let share = arguments.strip_prefix(STANZA)?.strip_prefix(' ')?;
        let share = STANDARD_NO_PAD.decode(share).ok()?.try_into().map(Recipient).ok()?;
        let key = shared_key(self, &share, &share, &self.recipient).ok()?;
        let mut sealed = body.to_vec();
        let opened = key.open_in_place(zero_nonce(), Aad::empty(), &mut sealed).ok()?;
        (&*opened).try_into().ok()
    }
}

/// The key under which the key of a file is sealed, of one's own secret and the other's public key.
fn shared_key(
    own: &Identity,
    other: &Recipient,
    share: &Recipient,
    recipient: &Recipient,
) -> Result<LessSafeKey, Unspecified> {
    let salt = [share.0, recipient.0].concat();
    let other = UnparsedPublicKey::new(&X25519, &other.0[..]);
    let key = agree(&own.key, other, Unspecified, |shared| derived(shared, &salt, PURPOSE))?;
    Ok(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key)?))
}

/// Each of these keys seals once.
fn zero_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

fn is_identity(line: &str) -> bool {
    decoded(IDENTITY, line).is_some()
}

/// Whether a text that is no key was to be one of this kind: what follows the prefix has no further `1`, as recipients of
/// plugins have.
fn is_mistyped(prefix: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    let behind = text.strip_prefix(prefix).and_then(|it| it.strip_prefix('1'));
    behind.is_some_and(|it| !it.contains('1'))
}

fn decoded(prefix: &str, text: &str) -> Option<[u8; KEY]> {
    let (found, bytes) = bech32::decode(text).ok()?;
    (found.to_lowercase() == prefix).then_some(())?;
    bytes.try_into().ok()
}

impl FromStr for Recipient {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mistyped = is_mistyped(RECIPIENT, text);
        let error = if mistyped { KeyError::MistypedRecipient } else { KeyError::Recipient };
        decoded(RECIPIENT, text).map(Self).ok_or(error)
    }
}

impl TryFrom<String> for Recipient {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<Recipient> for String {
    fn from(it: Recipient) -> Self {
        it.to_string()
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = bech32::encode::<Bech32>(Hrp::parse_unchecked(RECIPIENT), &self.0);
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("recipient", &self.recipient).finish_non_exhaustive()
    }
}
