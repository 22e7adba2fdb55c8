//! Seals what is stored of the senders' own data and secrets: compressed, encrypted, and bound to its row.
//!
//! AES-256-GCM under a key that HKDF-SHA-256 derives from a master key of the server for this one
//! purpose. A sealed value opens only with the identity of the row that it was made for. There is more than one master key
//! after a rotation: the newest seals, and what an earlier one has sealed still opens.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};

use crate::hexadecimal::hexadecimal;

const RETURN_PATHS: &[u8] = b"waxwing return paths 1";
const KEY_NAMES: &[u8] = b"waxwing key names 1";

/// Seals and opens values of one purpose.
pub struct Seal {
    ring: KeyRing,
    purpose: Purpose,
}

/// The master keys of a server. All clones see the same keys, also after a rotation.
#[derive(Clone)]
pub struct KeyRing(Arc<Shared>);

struct Shared {
    keys: ArcSwap<Keys>,
    reread: Box<Reread>,
}

/// Reads the master keys where they are kept, the newest first; none where they cannot be read now.
type Reread = dyn Fn() -> Option<Vec<[u8; 32]>> + Send + Sync;

struct Keys {
    newest: DerivedKeys,
    earlier: Vec<DerivedKeys>,
}

/// What one master key seals with, by purpose.
struct DerivedKeys {
    /// Tells the master key from others, and says nothing about it.
    name: [u8; 32],
    samples: RandomizedNonceKey,
    dkim_keys: RandomizedNonceKey,
    webhooks: RandomizedNonceKey,
    factors: RandomizedNonceKey,
}

/// What is sealed. Of another purpose or another form of the sealed bytes: another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Recorded calls of plugins.
    Samples,
    /// The private halves of DKIM keys.
    DkimKeys,
    /// The secrets of webhooks.
    Webhooks,
    /// The secrets of second factors.
    Factors,
}

impl Purpose {
    fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::Samples => b"waxwing samples 1",
            Self::DkimKeys => b"waxwing dkim keys 1",
            Self::Webhooks => b"waxwing webhooks 1",
            Self::Factors => b"waxwing factors 1",
        }
    }
}

/// The key of the codes in return paths, which belongs to a master key.
#[must_use]
pub fn return_path_key(master_key: &[u8]) -> [u8; 32] {
    derived_key(master_key, RETURN_PATHS)
}

/// A short name for a master key, which says nothing about the key.
#[must_use]
pub fn key_name(master_key: &[u8]) -> String {
    hexadecimal(&derived_key(master_key, KEY_NAMES)[..4])
}

/// # Panics
/// HKDF does not give as many bytes as its hash has; it always does.
fn derived_key(master_key: &[u8], purpose: &[u8]) -> [u8; 32] {
    let derived = Salt::new(HKDF_SHA256, &[]).extract(master_key);
    let mut key = [0; 32];
    derived
        .expand(&[purpose], HKDF_SHA256)
        .and_then(|output| output.fill(&mut key))
        .expect("HKDF-SHA-256 gives 32 bytes");
    key
}

/// Why a sealed value does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The cipher refuses it.
    #[error(
        "the sealed value does not open: it was altered, moved from another row, or sealed with \
         another master key"
    )]
    Refused,
    /// It was sealed here, and yet it does not decompress.
    #[error("the sealed value opens, but its content is damaged")]
    Damaged,
}

impl DerivedKeys {
    /// # Panics
    /// The cipher takes no key of its own length; it always does.
    fn of(master_key: &[u8]) -> Self {
        let cipher = |purpose: Purpose| {
            let key = derived_key(master_key, purpose.as_bytes());
            RandomizedNonceKey::new(&AES_256_GCM, &key).expect("the key has 32 bytes")
        };
        Self {
            name: derived_key(master_key, KEY_NAMES),
            samples: cipher(Purpose::Samples),
            dkim_keys: cipher(Purpose::DkimKeys),
            webhooks: cipher(Purpose::Webhooks),
            factors: cipher(Purpose::Factors),
        }
    }

    fn cipher(&self, purpose: Purpose) -> &RandomizedNonceKey {
        match purpose {
            Purpose::Samples => &self.samples,
            Purpose::DkimKeys => &self.dkim_keys,
            Purpose::Webhooks => &self.webhooks,
            Purpose::Factors => &self.factors,
        }
    }
}

impl Keys {
    /// None of no keys.
    fn of(master_keys: &[[u8; 32]]) -> Option<Self> {
        let (newest, earlier) = master_keys.split_first()?;
        Some(Self {
            newest: DerivedKeys::of(newest),
            earlier: earlier.iter().map(|it| DerivedKeys::of(it)).collect(),
        })
    }

    fn newest_first(&self) -> impl Iterator<Item = &DerivedKeys> {
        std::iter::once(&self.newest).chain(&self.earlier)
    }

    fn names(&self) -> impl Iterator<Item = &[u8; 32]> {
        self.newest_first().map(|it| &it.name)
    }
}

impl KeyRing {
    /// Of master keys, the newest first; none of no keys. Where a value opens with none of them, `reread` says what the
    /// keys are by now.
    #[must_use]
    pub fn new(
        master_keys: &[[u8; 32]],
        reread: impl Fn() -> Option<Vec<[u8; 32]>> + Send + Sync + 'static,
    ) -> Option<Self> {
        let keys = ArcSwap::from_pointee(Keys::of(master_keys)?);
        Some(Self(Arc::new(Shared { keys, reread: Box::new(reread) })))
    }

    /// Takes over these keys, the newest first. Keys among which the newest one of before is missing are those of another
    /// server, and change nothing. Answers whether there were others before.
    #[must_use]
    pub fn replace(&self, master_keys: &[[u8; 32]]) -> bool {
        let Some(keys) = Keys::of(master_keys) else { return false };
        let before = self.0.keys.load();
        if keys.names().eq(before.names()) || !keys.names().any(|it| *it == before.newest.name) {
            return false;
        }
        self.0.keys.store(Arc::new(keys));
        true
    }

    /// Whether this master key is the one that seals.
    #[must_use]
    pub fn has_newest(&self, master_key: &[u8]) -> bool {
        self.0.keys.load().newest.name == derived_key(master_key, KEY_NAMES)
    }

    /// Takes over what another process has written since. Answers whether there were other keys before.
    fn refresh(&self) -> bool {
        (self.0.reread)().is_some_and(|it| self.replace(&it))
    }
}

impl Seal {
    /// Of one master key alone.
    #[must_use]
    pub fn new(master_key: &[u8], purpose: Purpose) -> Self {
        let keys = Keys { newest: DerivedKeys::of(master_key), earlier: Vec::new() };
        let shared = Shared { keys: ArcSwap::from_pointee(keys), reread: Box::new(|| None) };
        Self { ring: KeyRing(Arc::new(shared)), purpose }
    }

    /// Of the master keys of a server.
    #[must_use]
    pub fn of(ring: &KeyRing, purpose: Purpose) -> Self {
        Self { ring: ring.clone(), purpose }
    }

    /// Compresses and encrypts `plain` for the row `identity`.
    ///
    /// # Panics
    /// The operating system has no source of randomness, or `plain` has more than 64 GiB.
    #[must_use]
    pub fn seal(&self, identity: &str, plain: &[u8]) -> Vec<u8> {
        let mut sealed = lz4_flex::compress_prepend_size(plain);
        let identity = Aad::from(identity.as_bytes());
        let keys = self.ring.0.keys.load();
        let cipher = keys.newest.cipher(self.purpose);
        let nonce = cipher.seal_in_place_append_tag(identity, &mut sealed);
        sealed.extend_from_slice(nonce.expect("a fresh nonce, and a short text").as_ref());
        sealed
    }

    /// What was sealed for the row `identity`.
    pub fn open(&self, identity: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        self.opened(identity, sealed).map(|(_, plain)| plain)
    }

    /// Which master key a value is sealed with: 0 for the newest.
    pub fn key_of(&self, identity: &str, sealed: &[u8]) -> Result<usize, SealError> {
        self.opened(identity, sealed).map(|(key, _)| key)
    }

    /// The value sealed with the newest master key; none where it is already.
    pub fn resealed(&self, identity: &str, sealed: &[u8]) -> Result<Option<Vec<u8>>, SealError> {
        let (key, plain) = self.opened(identity, sealed)?;
        Ok((key > 0).then(|| self.seal(identity, &plain)))
    }

    fn opened(&self, identity: &str, sealed: &[u8]) -> Result<(usize, Vec<u8>), SealError> {
        match self.opened_with_known_keys(identity, sealed) {
            // Another process may have rotated the master key and sealed the value with the new one.
            Err(SealError::Refused) if self.ring.refresh() => {
                self.opened_with_known_keys(identity, sealed)
            }
            opened => opened,
        }
    }

    fn opened_with_known_keys(
        &self,
        identity: &str,
        sealed: &[u8],
    ) -> Result<(usize, Vec<u8>), SealError> {
        let keys = self.ring.0.keys.load();
        for (number, key) in keys.newest_first().enumerate() {
            match opened_with(key.cipher(self.purpose), identity, sealed) {
                Ok(plain) => return Ok((number, plain)),
                Err(SealError::Refused) => {}
                Err(SealError::Damaged) => return Err(SealError::Damaged),
            }
        }
        Err(SealError::Refused)
    }
}

fn opened_with(
    cipher: &RandomizedNonceKey,
    identity: &str,
    sealed: &[u8],
) -> Result<Vec<u8>, SealError> {
    let (sealed, nonce) = sealed.split_last_chunk::<NONCE_LEN>().ok_or(SealError::Refused)?;
    let mut bytes = sealed.to_vec();
    let identity = Aad::from(identity.as_bytes());
    let packed = cipher
        .open_in_place(Nonce::from(nonce), identity, &mut bytes)
        .map_err(|_| SealError::Refused)?;
    lz4_flex::decompress_size_prepended(packed).map_err(|_| SealError::Damaged)
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyRing")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &[u8] = br#"{"uses":[{"recipientDomain":"example.com"}],"data":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#;

    fn seal() -> Seal {
        Seal::new(&[7; 32], Purpose::Samples)
    }

    #[test]
    fn a_sealed_value_opens_for_its_row_and_shows_nothing() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        assert_eq!(seal().open("dec_1 plan", &sealed).as_deref(), Ok(PLAIN));
        assert!(!sealed.windows(7).any(|it| it == b"example"), "it can be read");
        assert_eq!(seal().open("e", &seal().seal("e", b"")).as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn the_same_text_is_never_sealed_to_the_same_bytes() {
        assert_ne!(seal().seal("dec_1 plan", PLAIN), seal().seal("dec_1 plan", PLAIN));
    }

    #[test]
    fn a_value_opens_for_no_other_row() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        for other in ["dec_2 plan", "dec_1 domain", ""] {
            assert_eq!(seal().open(other, &sealed), Err(SealError::Refused), "{other}");
        }
    }

    #[test]
    fn a_value_opens_with_no_other_master_key_and_for_no_other_purpose() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        for other in [Seal::new(&[8; 32], Purpose::Samples), Seal::new(&[7; 32], Purpose::DkimKeys)]
        {
            assert_eq!(other.open("dec_1 plan", &sealed), Err(SealError::Refused));
        }
    }

    #[test]
    fn one_altered_bit_anywhere_is_noticed() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        for at in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[at] ^= 1;
            assert_eq!(seal().open("dec_1 plan", &altered), Err(SealError::Refused), "byte {at}");
        }
    }

    #[test]
    fn a_cut_value_is_noticed_at_every_length() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        for length in 0..sealed.len() {
            let cut = seal().open("dec_1 plan", &sealed[..length]);
            assert_eq!(cut, Err(SealError::Refused), "{length} bytes");
        }
    }

    fn ring(master_keys: &[[u8; 32]]) -> KeyRing {
        KeyRing::new(master_keys, || None).expect("there is a key")
    }

    #[test]
    fn after_a_rotation_the_newest_key_seals_and_the_earlier_one_still_opens() {
        let before = seal().seal("dec_1 plan", PLAIN);
        let rotated = Seal::of(&ring(&[[8; 32], [7; 32]]), Purpose::Samples);
        assert_eq!(rotated.open("dec_1 plan", &before).as_deref(), Ok(PLAIN));
        assert_eq!(rotated.key_of("dec_1 plan", &before), Ok(1));
        let resealed = rotated.resealed("dec_1 plan", &before).expect("it opens");
        let resealed = resealed.expect("it had the earlier key");
        assert_eq!(rotated.key_of("dec_1 plan", &resealed), Ok(0));
        assert_eq!(rotated.resealed("dec_1 plan", &resealed), Ok(None));
        let dropped = Seal::of(&ring(&[[8; 32]]), Purpose::Samples);
        assert_eq!(dropped.open("dec_1 plan", &resealed).as_deref(), Ok(PLAIN));
        assert_eq!(dropped.open("dec_1 plan", &before), Err(SealError::Refused));
        assert_eq!(rotated.open("dec_2 plan", &before), Err(SealError::Refused));
    }

    #[test]
    fn a_value_of_a_key_that_another_process_has_added_opens() {
        let file = || Some(vec![[8; 32], [7; 32]]);
        let running = KeyRing::new(&[[7; 32]], file).expect("there is a key");
        let running = Seal::of(&running, Purpose::Webhooks);
        let before = running.seal("whk_1", PLAIN);
        let theirs = Seal::of(&ring(&[[8; 32], [7; 32]]), Purpose::Webhooks).seal("whk_1", PLAIN);
        assert_eq!(running.open("whk_1", &theirs).as_deref(), Ok(PLAIN));
        // From then on the new one seals here, too.
        assert_eq!(running.key_of("whk_1", &running.seal("whk_1", PLAIN)), Ok(0));
        assert_eq!(running.key_of("whk_1", &before), Ok(1));
    }

    #[test]
    fn the_keys_of_another_server_are_not_taken_over() {
        let ring = ring(&[[8; 32], [7; 32]]);
        assert!(!ring.replace(&[[9; 32]]) && !ring.replace(&[[7; 32]]) && !ring.replace(&[]));
        assert!(!ring.replace(&[[8; 32], [7; 32]]), "nothing differs");
        assert!(ring.replace(&[[8; 32]]), "the earlier key was dropped");
    }

    #[test]
    fn the_name_of_a_key_tells_keys_apart() {
        assert_eq!(key_name(&[7; 32]).len(), 8);
        assert_ne!(key_name(&[7; 32]), key_name(&[8; 32]));
    }

    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", seal()), "Seal");
    }
}
