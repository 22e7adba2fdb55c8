//! Verifies DKIM signatures (RFC 6376 section 6) of bounce and complaint reports, before a report may change anything.
//! Stricter than a receiver: RSA keys under 2,048 bits, SHA-1 and a body that is signed only in part (`l=`) are
//! refused.

use std::str::FromStr;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::field::{Field, Message, unfold};
use super::{Algorithm, canonical, coverage};
use crate::clock::Timestamp;

/// Signatures of one message that are verified; each may cost a lookup and a verification.
const MAX_SIGNATURES: usize = 8;

/// A public key, as its record publishes it.
#[derive(Debug, Clone)]
pub struct PublicKey {
    algorithm: Algorithm,
    octets: Vec<u8>,
}

/// A DKIM-Signature field, read and not verified yet.
#[derive(Debug)]
pub struct Signature<'a> {
    /// `d=` in lower case.
    pub domain: String,
    /// `s=` in lower case.
    pub selector: String,
    /// `a=`
    pub algorithm: Algorithm,
    /// `h=`, names in lower case.
    names: Vec<String>,
    header_form: Form,
    body_form: Form,
    body_hash: Vec<u8>,
    covers_part_of_body: bool,
    expires_at: Option<i64>,
    value: Vec<u8>,
    field: Field<'a>,
    /// The field's value without that of its `b=`.
    unsigned: Vec<u8>,
}

/// A canonical form (RFC 6376 section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Simple,
    Relaxed,
}

impl PublicKey {
    /// From the value of the tag `p=`; none where that is no base64, or empty: the key is revoked.
    #[must_use]
    pub fn from_base64(algorithm: Algorithm, text: &str) -> Option<Self> {
        let octets = STANDARD.decode(without_spaces(text)).ok().filter(|it| !it.is_empty())?;
        Some(Self { algorithm, octets })
    }

    /// From the text of a key record (RFC 6376 section 3.6.1).
    #[must_use]
    pub fn from_record(algorithm: Algorithm, record: &str) -> Option<Self> {
        let value = |name: &str| tags(record).find(|(it, _)| *it == name).map(|(_, it)| it);
        let kind = match algorithm {
            Algorithm::Rsa => "rsa",
            Algorithm::Ed25519 => "ed25519",
        };
        let is_of_kind = value("k").unwrap_or("rsa").eq_ignore_ascii_case(kind);
        let is_version = value("v").is_none_or(|it| it == "DKIM1");
        let allows_sha256 =
            value("h").is_none_or(|it| it.split(':').any(|it| it.trim() == "sha256"));
        let is_usable = is_of_kind && is_version && allows_sha256;
        Self::from_base64(algorithm, value("p").filter(|_| is_usable)?)
    }

    fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::Rsa => UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.octets)
                .verify(signed, signature)
                .is_ok(),
            // The hash is the message (RFC 8463 section 3).
            Algorithm::Ed25519 => UnparsedPublicKey::new(&ED25519, &self.octets)
                .verify(digest(&SHA256, signed).as_ref(), signature)
                .is_ok(),
        }
    }
}

/// The DKIM signatures of a message. A signature that cannot be parsed is left out.
pub fn signatures<'a>(message: &'a Message<'a>) -> impl Iterator<Item = Signature<'a>> {
    message.named("DKIM-Signature").take(MAX_SIGNATURES).filter_map(|field| Signature::read(*field))
}

impl<'a> Signature<'a> {
    fn read(field: Field<'a>) -> Option<Self> {
        let line = unfold(field.value);
        let text = str::from_utf8(&line).ok()?;
        let value = |name: &str| tags(text).find(|(it, _)| *it == name).map(|(_, it)| it);
        let octets = |name: &str| STANDARD.decode(without_spaces(value(name)?)).ok();
        let (header_form, body_form) = forms(value("c").unwrap_or("simple/simple"))?;
        let expires_at = match value("x") {
            Some(seconds) => Some(seconds.parse::<i64>().ok()?.checked_mul(1_000)?),
            None => None,
        };
        let names = value("h")?.split(':').map(|it| it.trim().to_ascii_lowercase()).collect();
        Some(Self {
            domain: value("d")?.to_ascii_lowercase(),
            selector: value("s")?.to_ascii_lowercase(),
            algorithm: Algorithm::from_str(&value("a")?.to_ascii_lowercase()).ok()?,
            names,
            header_form,
            body_form,
            body_hash: octets("bh")?,
            covers_part_of_body: value("l").is_some(),
            expires_at,
            value: octets("b")?,
            field,
            unsigned: without_signature(field.value)?,
        })
        .filter(|_| value("v") == Some("1"))
    }

    /// Whether it covers the fields of that name, which is in lower case.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        self.names.iter().any(|it| it == name)
    }

    /// Whether it is one of this key over these fields, with the hash of the body as it stands in it. The
    /// body itself may be cut off.
    #[must_use]
    pub fn verifies_header(&self, fields: &[Field<'_>], key: &PublicKey) -> bool {
        if key.algorithm != self.algorithm {
            return false;
        }
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let mut signed = Vec::new();
        for field in coverage::fields_for_names(fields, &names) {
            match self.header_form {
                Form::Simple => signed.extend_from_slice(field.whole),
                Form::Relaxed => {
                    let give = |piece: &[u8]| signed.extend_from_slice(piece);
                    canonical::field(field.name, field.value, give);
                    signed.extend_from_slice(b"\r\n");
                }
            }
        }
        match self.header_form {
            Form::Simple => {
                signed.extend_from_slice(self.field.name.as_bytes());
                signed.extend_from_slice(b":");
                signed.extend_from_slice(&self.unsigned);
            }
            Form::Relaxed => canonical::field(self.field.name, &self.unsigned, |piece| {
                signed.extend_from_slice(piece);
            }),
        }
        key.verifies(&signed, &self.value)
    }

    /// Whether the whole body is the one that was signed, and the signature has not expired.
    #[must_use]
    pub fn verifies_body(&self, body: &[u8], now: Timestamp) -> bool {
        let hash = match self.body_form {
            Form::Simple => Some(digest(&SHA256, &simple(body))),
            Form::Relaxed => canonical::hash_body(body).ok(),
        };
        let is_in_time = self.expires_at.is_none_or(|at| now.millis() < at);
        let is_whole = hash.is_some_and(|it| it.as_ref() == self.body_hash);
        is_whole && is_in_time && !self.covers_part_of_body
    }
}

/// The simple form of a body: one line end stands for all that are at its end (RFC 6376 section 3.4.3).
fn simple(body: &[u8]) -> Vec<u8> {
    let mut text = body;
    while let Some(shorter) = text.strip_suffix(b"\r\n") {
        text = shorter;
    }
    [text, b"\r\n"].concat()
}

fn forms(text: &str) -> Option<(Form, Form)> {
    let form = |word: &str| match word.trim().to_ascii_lowercase().as_str() {
        "simple" => Some(Form::Simple),
        "relaxed" => Some(Form::Relaxed),
        _ => None,
    };
    let (header, body) = text.split_once('/').unwrap_or((text, "simple"));
    Some((form(header)?, form(body)?))
}

/// The tags of a list (RFC 6376 section 3.2), in order.
fn tags(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(';').filter_map(|it| it.split_once('=')).map(|(name, it)| (name.trim(), it.trim()))
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|it| !it.is_ascii_whitespace()).collect()
}

/// A field's value as it was signed: without that of the tag `b=`. None where it has several.
fn without_signature(value: &[u8]) -> Option<Vec<u8>> {
    let mut found = 0;
    let pieces = value.split(|it| *it == b';').map(|piece| {
        let at = piece.iter().position(|it| *it == b'=');
        let name = at.and_then(|at| piece.get(..at)).unwrap_or_default();
        let kept = at.and_then(|at| piece.get(..=at)).filter(|_| name.trim_ascii() == b"b");
        found += usize::from(kept.is_some());
        kept.unwrap_or(piece)
    });
    let unsigned = pieces.collect::<Vec<_>>().join(&b';');
    (found == 1).then_some(unsigned)
}
