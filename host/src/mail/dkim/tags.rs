//! The text of a DKIM-Signature field (RFC 6376 section 3.5), in lines of at most 76 octets.
//!
//! Only a name that is longer by itself makes a longer line. White space stands where the canonical
//! form keeps it or the syntax ignores it, so folding anew changes nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::signer::{Signer, Unsignable};
use crate::clock::Timestamp;

const NAME: &str = "DKIM-Signature:";
const MAX_LINE: usize = 76;
/// Of the base64 of a signature; a line has a space before it.
const BASE64_LINE: usize = 72;

/// A field that ends in an empty `b=`.
pub(super) struct Tags {
    text: String,
    column: usize,
}

impl Tags {
    /// All tags but the value of `b=`.
    ///
    /// # Errors
    /// The domain or the selector would change the meaning of the text.
    pub(super) fn new(
        signer: &Signer<'_>,
        at: Timestamp,
        names: &[&str],
        body_hash: &[u8],
    ) -> Result<Self, Unsignable> {
        let mut tags = Self { text: NAME.to_owned(), column: NAME.len() };
        let algorithm = signer.key.algorithm().as_str();
        tags.word(&format!("v=1; a={algorithm}; c=relaxed/relaxed;"));
        tags.word(&format!("d={};", dns_name(signer.domain)?));
        tags.word(&format!("s={};", dns_name(signer.selector)?));
        tags.word(&format!("t={};", at.unsigned_millis() / 1_000));
        if let Some((last, names)) = names.split_last() {
            tags.word("h=");
            for name in names {
                tags.append(&format!("{name}:"));
            }
            tags.append(&format!("{last};"));
        }
        tags.word(&format!("bh={};", STANDARD.encode(body_hash)));
        tags.word("b=");
        Ok(tags)
    }

    /// The value of the field, still folded: what a signature covers of itself.
    pub(super) fn unsigned(&self) -> Vec<u8> {
        self.text.strip_prefix(NAME).unwrap_or_default().as_bytes().to_vec()
    }

    /// Writes the field with its signature.
    pub(super) fn finish(mut self, signature: &[u8], output: &mut Vec<u8>) {
        let signature = STANDARD.encode(signature);
        let mut rest = signature.as_str();
        while let Some((piece, after)) = rest.split_at_checked(BASE64_LINE.min(rest.len())) {
            if piece.is_empty() {
                break;
            }
            self.append(piece);
            rest = after;
        }
        output.extend_from_slice(self.text.as_bytes());
        output.extend_from_slice(b"\r\n");
    }

    /// Adds what is set off by a space or a fold.
    fn word(&mut self, word: &str) {
        if self.column + 1 + word.len() > MAX_LINE {
            self.fold();
        } else {
            self.text.push(' ');
            self.column += 1;
        }
        self.text.push_str(word);
        self.column += word.len();
    }

    /// Adds what follows at once, or after a fold.
    fn append(&mut self, piece: &str) {
        if self.column + piece.len() > MAX_LINE {
            self.fold();
        }
        self.text.push_str(piece);
        self.column += piece.len();
    }

    fn fold(&mut self) {
        self.text.push_str("\r\n ");
        self.column = 1;
    }
}

/// A domain or selector that holds no octet with a meaning in the list of tags.
fn dns_name(name: &str) -> Result<&str, Unsignable> {
    let is_label = |label: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len()) && label.bytes().all(is_plain)
    };
    if name.len() <= 253 && name.split('.').all(is_label) {
        return Ok(name);
    }
    Err(Unsignable::Name { name: name.to_owned() })
}
