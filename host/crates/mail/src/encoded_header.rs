//! A header field in ASCII: what was written in UTF-8 without SMTPUTF8 becomes encoded words (RFC 2047),
//! and a parameter the form of RFC 2231. What a reader sees is the same before and after.
//!
//! Encoded words may stand in free text, in the names of mailboxes and in comments, and nowhere else. Addresses are
//! not rewritten: a local part has no ASCII form, and a domain is left to its sender.

mod structured;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use email_encoding::headers::{rfc2047, rfc2231, writer::EmailWriter};

use super::field::{Field, decode_word, unfold};
use structured::Words;

// A field in none of the next three lists is free text.

/// Fields with mailboxes.
const MAILBOXES: [&str; 16] = [
    "bcc",
    "cc",
    "disposition-notification-to",
    "errors-to",
    "from",
    "mail-followup-to",
    "mail-reply-to",
    "reply-to",
    "resent-bcc",
    "resent-cc",
    "resent-from",
    "resent-reply-to",
    "resent-sender",
    "resent-to",
    "sender",
    "to",
];
/// Fields with a grammar, in which only comments may be encoded.
const STRUCTURED: [&str; 24] = [
    "arc-authentication-results",
    "arc-message-signature",
    "arc-seal",
    "authentication-results",
    "content-id",
    "content-language",
    "content-location",
    "content-md5",
    "content-transfer-encoding",
    "date",
    "dkim-signature",
    "in-reply-to",
    "list-id",
    "list-post",
    "list-subscribe",
    "list-unsubscribe",
    "list-unsubscribe-post",
    "message-id",
    "mime-version",
    "received",
    "received-spf",
    "references",
    "resent-date",
    "resent-message-id",
];
/// Fields with parameters (RFC 2231).
const PARAMETERS: [&str; 2] = ["content-disposition", "content-type"];
/// Octets of a parameter's name; the encoder wants room for the value on the same line.
const MAX_KEY: usize = 40;

/// Why a field cannot be written in ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotEncodable {
    /// Octets that are no text.
    #[error("is neither ASCII nor UTF-8; encode it (RFC 2047)")]
    NotUtf8,
    /// A place for which there is no encoded form: an address, an identifier, a media type, the name of a parameter, or
    /// the value of one whose name is too long or has a hyphen.
    #[error(
        "has non-ASCII characters where RFC 2047 allows no encoded words (an address, an identifier, the name of a \
         parameter); write it in ASCII, or send with SMTPUTF8"
    )]
    Place,
    /// A quote, a comment or an angle bracket that is not closed.
    #[error("has non-ASCII characters and cannot be read: the `{0}` is not closed")]
    Unclosed(char),
}

/// The whole field in ASCII, with its line ends.
///
/// # Errors
/// It is no text, or has non-ASCII characters where encoded words must not stand.
pub fn encode(field: &Field<'_>) -> Result<Vec<u8>, NotEncodable> {
    let line = unfold(field.value);
    let value = str::from_utf8(&line).map_err(|_| NotEncodable::NotUtf8)?.trim_matches([' ', '\t']);
    let mut output = format!("{}:", field.name);
    {
        let column = output.len();
        let mut output = Output { writer: EmailWriter::new(&mut output, column, 1, false) };
        let name = field.name.to_ascii_lowercase();
        let is_in = |list: &[&str]| list.contains(&name.as_str());
        if is_in(&MAILBOXES) {
            structured::write(value, Words::Names, &mut output)?;
        } else if is_in(&STRUCTURED) {
            structured::write(value, Words::CommentsOnly, &mut output)?;
        } else if is_in(&PARAMETERS) {
            parameters(value, &mut output)?;
        } else {
            unstructured(value, &mut output);
        }
    }
    output.push_str("\r\n");
    Ok(output.into_bytes())
}

/// Writes a value, folded at blanks; a word longer than a line is not broken.
struct Output<'a> {
    writer: EmailWriter<'a>,
}

/// Words beside each other that are encoded together, so that the blanks between them are kept: readers drop
/// those between two encoded words.
#[derive(Default)]
struct Run {
    text: String,
    after_encoded_word: bool,
}

impl Output<'_> {
    /// ASCII, unchanged but for folding at its blanks.
    fn plain(&mut self, text: &str) {
        // A string takes everything.
        let _infallible = self.writer.folding().write_str(text);
    }

    fn encoded(&mut self, text: &str) {
        let _infallible = rfc2047::encode(text, &mut self.writer);
    }

    fn blank(&mut self) {
        self.writer.space();
    }

    /// Writes what has gathered.
    fn run(&mut self, run: &mut Run) {
        if !run.text.is_empty() {
            self.encoded(&run.text);
            *run = Run::default();
        }
    }
}

impl Run {
    /// Takes a word, if it must be encoded or is encoded already; `blanks` stand before it. Returns whether the word
    /// was taken.
    fn take(&mut self, word: &str, blanks: &str) -> bool {
        let decoded = if word.is_ascii() { decode_word(word) } else { None };
        if word.is_ascii() && decoded.is_none() {
            return false;
        }
        let are_both_encoded = self.after_encoded_word && decoded.is_some();
        if !self.text.is_empty() && !are_both_encoded {
            self.text.push_str(blanks);
        }
        self.after_encoded_word = decoded.is_some();
        self.text.push_str(decoded.as_deref().unwrap_or(word));
        true
    }
}

fn unstructured(value: &str, output: &mut Output<'_>) {
    let mut run = Run::default();
    let (mut rest, mut blanks) = (value, "");
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find([' ', '\t']).unwrap_or(rest.len()));
        let begins_run = run.text.is_empty();
        if begins_run || !run.take(word, blanks) {
            output.run(&mut run);
            for _ in blanks.chars() {
                output.blank();
            }
            if !run.take(word, "") {
                output.plain(word);
            }
        }
        (blanks, rest) =
            after.split_at(after.find(|c| c != ' ' && c != '\t').unwrap_or(after.len()));
    }
    output.run(&mut run);
}

/// `type/subtype; name="value"; …` (RFC 2045 section 5.1).
fn parameters(value: &str, output: &mut Output<'_>) -> Result<(), NotEncodable> {
    for (index, part) in structured::split(value, ';')?.into_iter().enumerate() {
        let part = part.trim_matches([' ', '\t']);
        if index > 0 {
            output.plain(";");
            output.blank();
        }
        if part.is_ascii() {
            output.plain(part);
            continue;
        }
        let (key, value) = part.split_once('=').ok_or(NotEncodable::Place)?;
        let key = key.trim_end_matches([' ', '\t']);
        let is_key = (1..=MAX_KEY).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_key || index == 0 {
            return Err(NotEncodable::Place);
        }
        let value = structured::unquoted(value.trim_start_matches([' ', '\t']))?;
        let _infallible = rfc2231::encode(key, &value, &mut output.writer);
    }
    Ok(())
}
