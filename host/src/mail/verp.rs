//! Variable envelope return paths: each message has its own address to which its reports come back,
//! and only this server can make one, by a truncated HMAC-SHA-256: nobody can forge a bounce of a message that they did not receive.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::domain::name::DomainName;
use crate::id::MessageId;
use crate::message::address::EmailAddress;

/// What the MAC is made over, before the ULID of the message. Another form is another version.
const VERSION: &[u8] = b"waxwing return path 1 ";
/// With what the local part begins.
const PREFIX: &str = "b";
/// Octets of the MAC: 80 bits, which are 16 letters.
const MAC_OCTETS: usize = 10;
/// RFC 4648 section 6, in lower case: relays change the case of local parts.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Makes return paths and reads them again. All clones have the same keys.
#[derive(Clone)]
pub struct Verp(Arc<ArcSwap<Keys>>);

struct Keys {
    newest: Hmac<Sha256>,
    /// Return paths that were made with them still come back.
    earlier: Vec<Hmac<Sha256>>,
}

impl Verp {
    /// `key` must be derived for return paths alone.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(Keys::of(key, &[]))))
    }

    /// From now on return paths are made with `newest`, and read with all of these.
    pub fn replace_keys(&self, newest: &[u8; 32], earlier: &[[u8; 32]]) {
        self.0.store(Arc::new(Keys::of(newest, earlier)));
    }

    /// The return path of a message, `b-<ulid>-<code>@host`; none where the host's name leaves no room
    /// for it.
    #[must_use]
    pub fn address(&self, message: MessageId, host: &DomainName) -> Option<EmailAddress> {
        let ulid = message.ulid();
        let code = mac(&self.0.load().newest, &ulid).finalize().into_bytes();
        let mac: Vec<u8> = code.into_iter().take(MAC_OCTETS).collect();
        format!("{PREFIX}-{ulid}-{}@{}", encode(&mac), host.as_str()).parse().ok()
    }

    /// The message whose return path has this local part; none if we did not make it.
    #[must_use]
    pub fn read(&self, local_part: &str) -> Option<MessageId> {
        let local_part = local_part.to_ascii_lowercase();
        let mut parts = local_part.split('-');
        let (prefix, ulid, code) = (parts.next()?, parts.next()?, parts.next()?);
        if prefix != PREFIX || parts.next().is_some() {
            return None;
        }
        let message: MessageId = format!("msg_{}", ulid.to_ascii_uppercase()).parse().ok()?;
        let (code, keys) = (decode(code)?, self.0.load());
        let mut keys = std::iter::once(&keys.newest).chain(&keys.earlier);
        let genuine = keys.any(|key| mac(key, ulid).verify_truncated_left(&code).is_ok());
        // One message, one address: not also what only looks like its ULID.
        (genuine && message.ulid() == ulid).then_some(message)
    }
}

impl Keys {
    fn of(newest: &[u8; 32], earlier: &[[u8; 32]]) -> Self {
        Self { newest: hmac(newest), earlier: earlier.iter().map(hmac).collect() }
    }
}

fn hmac(key: &[u8; 32]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

fn mac(key: &Hmac<Sha256>, ulid: &str) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(VERSION);
    mac.update(ulid.as_bytes());
    mac
}

impl fmt::Debug for Verp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verp")
    }
}

/// Base32 without padding: `MAC_OCTETS` octets end with a letter.
fn encode(octets: &[u8]) -> String {
    let letter = |five: u64| ALPHABET.iter().zip(0..).find(|(_, it)| *it == five & 31);
    let group = |five: &[u8]| {
        let bits = five.iter().fold(0_u64, |bits, octet| bits << 8 | u64::from(*octet));
        (0..8).rev().filter_map(move |place| letter(bits >> (5 * place)))
    };
    octets.chunks_exact(5).flat_map(group).map(|(letter, _)| char::from(*letter)).collect()
}

/// The octets of a code; none if it is not as long as a code is, or not of its letters.
fn decode(letters: &str) -> Option<Vec<u8>> {
    if letters.len() != MAC_OCTETS * 8 / 5 {
        return None;
    }
    let value = |letter: &u8| ALPHABET.iter().position(|it| it == letter);
    let mut octets = Vec::with_capacity(MAC_OCTETS);
    for eight in letters.as_bytes().chunks_exact(8) {
        let mut bits = 0_u64;
        for letter in eight {
            bits = bits << 5 | u64::try_from(value(letter)?).ok()?;
        }
        octets.extend_from_slice(bits.to_be_bytes().last_chunk::<5>()?);
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Timestamp;

    fn verp() -> Verp {
        Verp::new(&[7; 32])
    }

    fn message() -> MessageId {
        "msg_01JD0000000000000000000000".parse().expect("an identifier")
    }

    fn local_part() -> String {
        let host = "bounce.example.com".parse().expect("a name");
        verp().address(message(), &host).expect("there is room").local().to_owned()
    }

    #[test]
    fn a_return_path_is_read_back_in_any_case() {
        let local = local_part();
        assert!(local.starts_with("b-01jd0000000000000000000000-"), "{local}");
        assert!(local.len() == 45, "{local}");
        assert_eq!(verp().read(&local), Some(message()));
        assert_eq!(verp().read(&local.to_ascii_uppercase()), Some(message()));
    }

    #[test]
    fn the_form_of_a_return_path_does_not_change_by_itself() {
        // Reports come back for weeks, also after an update. The code was made by Python's `hmac`.
        assert_eq!(local_part(), "b-01jd0000000000000000000000-2xtdepukqbkwnaqm");
    }

    #[test]
    fn no_letter_of_it_can_be_changed() {
        let local = local_part();
        for at in 0..local.len() {
            for letter in ["a", "b", "0", "7", "-", "", "é"] {
                let (before, rest) = local.split_at(at);
                let behind: String = rest.chars().skip(1).collect();
                let changed = format!("{before}{letter}{behind}");
                if changed != local {
                    assert_eq!(verp().read(&changed), None, "{changed}");
                }
            }
        }
        assert_eq!(verp().read(&format!("{local}a")), None);
        assert_eq!(verp().read(&format!("{local}-")), None);
    }

    #[test]
    fn another_key_makes_other_codes() {
        assert_eq!(Verp::new(&[8; 32]).read(&local_part()), None);
    }

    #[test]
    fn return_paths_of_an_earlier_key_come_back_and_new_ones_have_the_newest() {
        let verp = verp();
        let reader = verp.clone();
        let before = local_part();
        verp.replace_keys(&[8; 32], &[[7; 32]]);
        assert_eq!(reader.read(&before), Some(message()));
        let host = "bounce.example.com".parse().expect("a name");
        let now = reader.address(message(), &host).expect("there is room");
        assert_eq!(Verp::new(&[8; 32]).read(now.local()), Some(message()));
        assert_eq!(reader.read(now.local()), Some(message()));
        verp.replace_keys(&[8; 32], &[]);
        assert_eq!(reader.read(&before), None);
    }

    #[test]
    fn a_name_that_leaves_no_room_has_no_return_path() {
        let label = "a".repeat(60);
        let long = [label.as_str(); 4].join(".");
        assert_eq!(verp().address(message(), &long.parse().expect("a name")), None);
    }

    proptest! {
        #[test]
        fn every_message_has_its_own(millis in 0_i64..1 << 40) {
            let id = MessageId::new(Timestamp::from_millis(millis));
            let host = "bounce.example.com".parse().expect("a name");
            let address = verp().address(id, &host).expect("there is room");
            prop_assert!(address.local().len() <= 64);
            prop_assert_eq!(verp().read(address.local()), Some(id));
        }

        #[test]
        fn what_is_made_up_is_no_return_path(local in "\\PC{0,50}|b-[0-9a-z]{26}-[a-z2-7]{16}") {
            prop_assert_eq!(verp().read(&local), None);
        }
    }
}
