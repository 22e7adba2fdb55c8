//! The second factor: codes that change every 30 s (RFC 6238), and recovery codes for when their device is lost.

use fast_qr::convert::Builder as _;
use fast_qr::convert::svg::SvgBuilder;
use fast_qr::qr::QRBuilder;
use sha2::{Digest, Sha256};
use totp_rs::{Builder, Totp};

use super::{Origin, People, Person};
use crate::clock::Timestamp;
use crate::id::{AccountId, UserId, fill_random};
use crate::store::{NewFactor, PersonRow, StoreError};

const SECRET_BYTES: usize = 20;
const RECOVERY_CODES: usize = 10;
const RECOVERY_BYTES: usize = 10;
const ISSUER: &str = "Waxwing";
/// RFC 4648, section 6.
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A secret that a person is about to put into an authenticator. Its text goes through the form, so nothing is kept
/// before the first code proves it.
#[derive(Clone)]
pub struct Enrolment(Vec<u8>);

#[derive(Debug, thiserror::Error)]
pub enum FactorError {
    #[error(
        "this is not the code that the app shows now; check that the clock of the device is right, and try the next one"
    )]
    WrongCode,
    #[error("this page is no longer valid; load it again")]
    Malformed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Enrolment {
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = vec![0; SECRET_BYTES];
        fill_random(&mut bytes);
        Self(bytes)
    }

    /// As it was shown.
    pub fn of(text: &str) -> Result<Self, FactorError> {
        let bytes = from_base32(text).filter(|it| it.len() == SECRET_BYTES);
        bytes.map(Self).ok_or(FactorError::Malformed)
    }

    /// The secret in base32, to be typed where no camera is.
    #[must_use]
    pub fn text(&self) -> String {
        to_base32(&self.0)
    }

    /// What the QR code says.
    #[must_use]
    pub fn url(&self, email: &str) -> String {
        let label: String = url::form_urlencoded::byte_serialize(email.as_bytes()).collect();
        format!("otpauth://totp/{ISSUER}:{label}?secret={}&issuer={ISSUER}", self.text())
    }

    /// The factor to keep, and its recovery codes to show this once, if `code` proves that the person's device has
    /// the secret.
    pub fn prove(
        &self,
        people: &People,
        user: UserId,
        code: &str,
        now: Timestamp,
    ) -> Result<(NewFactor, Vec<String>), FactorError> {
        let step = step_of(&self.0, code, now).ok_or(FactorError::WrongCode)?;
        let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| recovery_code()).collect();
        let recovery_codes = codes.iter().map(|code| recovery_hash(code)).collect();
        let secret = people.seal.seal(&identity(user), &self.0);
        Ok((NewFactor { secret, last_step: step, recovery_codes }, codes))
    }
}

impl People {
    /// Whether a code, or a recovery code, of a user is right. It is used up: the same is refused from then on. The account
    /// is the one that the user's session shows.
    pub(super) async fn is_second_step(
        &self,
        (person, account): (&PersonRow, Option<AccountId>),
        presented: &str,
        from: &Origin,
    ) -> Result<bool, StoreError> {
        let (user, now, presented) = (person.id, self.clock.now(), plain(presented));
        if presented.len() > 6 {
            let hash = recovery_hash(&presented);
            let is_right = self.store.use_recovery_code(user, &hash, now).await?;
            if is_right {
                let change = ("use_recovery_code", Some(user.to_string()));
                self.record_own((person, account), change, from).await;
            }
            return Ok(is_right);
        }
        let Some(factor) = self.store.factor(user).await? else { return Ok(false) };
        let Ok(secret) = self.seal.open(&identity(user), &factor.secret) else {
            tracing::error!(%user, "the second factor of a user does not open with this master key; reset the user");
            return Ok(false);
        };
        match step_of(&secret, &presented, now) {
            Some(step) => self.store.accept_step(user, step).await,
            None => Ok(false),
        }
    }
}

impl People {
    /// Gives a person a second factor, or another one; all other sessions end. Answers the recovery codes, which are shown
    /// this once.
    pub async fn set_factor(
        &self,
        person: &Person,
        (enrolment, code): (&str, &str),
        from: &Origin,
    ) -> Result<Vec<String>, FactorError> {
        let (user, now) = (person.user.id, self.clock.now());
        let (factor, codes) = Enrolment::of(enrolment)?.prove(self, user, code, now)?;
        self.store.replace_factor((user, person.session.id), &factor, now).await?;
        let change = ("set_factor", Some(user.to_string()));
        self.record_own((&person.user, person.session.account), change, from).await;
        Ok(codes)
    }

    pub async fn remove_factor(&self, person: &Person, from: &Origin) -> Result<(), StoreError> {
        let user = person.user.id;
        self.store.remove_factor(user).await?;
        let change = ("remove_factor", Some(user.to_string()));
        self.record_own((&person.user, person.session.account), change, from).await;
        Ok(())
    }
}

/// A QR code as an SVG image.
///
/// # Panics
/// The text has more than 2,000 bytes.
#[must_use]
pub fn qr_code(text: &str) -> String {
    let code = QRBuilder::new(text).build().expect("a QR code holds a short text");
    SvgBuilder::default().margin(2).to_str(&code)
}

fn step_of(secret: &[u8], code: &str, now: Timestamp) -> Option<i64> {
    let totp: Totp = Builder::new().with_secret(secret.to_vec()).build().ok()?;
    let step = totp.check(&plain(code), now.unsigned_millis() / 1_000)?;
    i64::try_from(step).ok()
}

/// Which row the secret is sealed for.
#[must_use]
pub fn identity(user: UserId) -> String {
    format!("factor of {user}")
}

/// Without what people type between groups.
fn plain(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase()
}

fn recovery_code() -> String {
    let mut bytes = [0; RECOVERY_BYTES];
    fill_random(&mut bytes);
    let text = to_base32(&bytes).to_ascii_lowercase();
    let groups: Vec<&str> = (0..4).filter_map(|it| text.get(it * 4..it * 4 + 4)).collect();
    groups.join("-")
}

/// 80 random bits need no slow hash.
fn recovery_hash(code: &str) -> [u8; 32] {
    Sha256::digest(plain(code)).into()
}

fn to_base32(bytes: &[u8]) -> String {
    let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let bits: Vec<u8> = bits.collect();
    let letter = |five: &[u8]| {
        let index = five.iter().fold(0, |index, bit| index * 2 + usize::from(*bit));
        BASE32.get(index << (5 - five.len())).copied().map_or('A', char::from)
    };
    bits.chunks(5).map(letter).collect()
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    let mut bits = Vec::with_capacity(text.len() * 5);
    for letter in text.bytes() {
        let index = BASE32.iter().position(|it| *it == letter)?;
        bits.extend((0..5).rev().map(|bit| u8::from(index >> bit & 1 == 1)));
    }
    let byte = |eight: &[u8]| eight.iter().fold(0, |byte, bit| byte << 1 | bit);
    Some(bits.chunks_exact(8).map(byte).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_typed_as_it_is_shown() {
        assert_eq!(
            to_base32(b"Hello!\xde\xad\xbe\xef"),
            "JBSWY3DPEHPK3PXP",
            "of the format's own example"
        );
        let enrolment = Enrolment::random();
        assert_eq!(Enrolment::of(&enrolment.text()).expect("read").0, enrolment.0);
        assert!(Enrolment::of("JBSWY3DPEHPK3PXP").is_err(), "too short");
        assert!(qr_code(&enrolment.url("ada@example.com")).starts_with("<svg"));
    }

    /// RFC 6238, appendix B, the last six digits.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let secret = b"12345678901234567890";
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        assert_eq!(step_of(secret, "287082", at(59)), Some(1));
        assert_eq!(step_of(secret, "081 804", at(1_111_111_109)), Some(37_037_036));
        assert_eq!(step_of(secret, "081804", at(1_111_111_109 + 30)), Some(37_037_036), "one late");
        assert_eq!(step_of(secret, "081804", at(1_111_111_109 + 60)), None);
    }

    #[test]
    fn a_recovery_code_has_80_bits_and_is_known_however_it_is_typed() {
        let code = recovery_code();
        assert_eq!(code.len(), 19, "{code}");
        assert_eq!(recovery_hash(&code), recovery_hash(&code.replace('-', " ").to_uppercase()));
    }
}
