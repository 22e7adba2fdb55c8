//! DKIM signatures (RFC 6376, RFC 8463): relaxed canonical form, SHA-256, RSA and Ed25519.
//!
//! A signature covers the whole body, and says of each signed field how often it stands in the
//! header: one more of them, or one less, breaks it. What a mail server may do in transit does not:
//! it folds lines anew, changes white space, and puts fields of its own above.

mod canonical;
mod coverage;
mod key;
mod signer;
mod tags;
mod verify;

#[cfg(test)]
mod tests;

use aws_lc_rs::digest::{Context, SHA256};

use super::field::{Field, Message};
use crate::clock::Timestamp;

pub use key::{Algorithm, Generated, KeyError, SecretDocument, SigningKey, UnknownAlgorithm};
pub use signer::{Signer, Unsignable};
pub use verify::{PublicKey, Signature, signatures};

use tags::Tags;

/// The fields to put before a message: a DKIM-Signature for each signer, in their order.
///
/// The message is what SMTP's DATA gets, before dots are stuffed: its lines end in CRLF, the last
/// one perhaps not, and a message without a body needs no empty line. The body is read once for all
/// signers, and never copied.
///
/// # Errors
/// The message is not one that every server reads alike, or a signer is not usable.
pub fn sign(message: &[u8], signers: &[Signer<'_>], at: Timestamp) -> Result<Vec<u8>, Unsignable> {
    let message = Message::split(message)?;
    for field in &message.fields {
        canonical::lines(field.whole).try_for_each(|line| line.map(drop))?;
    }
    let count = message.named("From").count();
    if count != 1 {
        return Err(Unsignable::From { count });
    }

    let body_hash = canonical::hash_body(message.body)?;
    let names = coverage::headers_to_sign(&message.fields);
    let header = hash_fields(&message.fields, &names);
    let mut output = Vec::with_capacity(signers.len() * (640 + names.len() * 12));
    for signer in signers {
        let tags = Tags::new(signer, at, &names, body_hash.as_ref())?;
        let signature = sign_header(header.clone(), &tags.unsigned(), signer.key)
            .map_err(|_| Unsignable::Key { selector: signer.selector.to_owned() })?;
        tags.finish(&signature, &mut output);
    }
    Ok(output)
}

/// The hash so far of the fields that a signature covers, as its `h=` lists them.
fn hash_fields(fields: &[Field<'_>], names: &[&str]) -> Context {
    let mut hash = Context::new(&SHA256);
    for field in coverage::fields_for_names(fields, names) {
        canonical::field(field.name, field.value, |piece| hash.update(piece));
        hash.update(b"\r\n");
    }
    hash
}

/// Signs the header: the fields, then the value of the signature's own without that of its `b=`.
fn sign_header(mut hash: Context, unsigned: &[u8], key: &SigningKey) -> Result<Vec<u8>, KeyError> {
    canonical::field("dkim-signature", unsigned, |piece| hash.update(piece));
    key.sign(&hash.finish())
}
