//! A header field in ASCII: what was written in UTF-8 without SMTPUTF8 becomes encoded words (RFC 2047),
//! and a parameter the form of RFC 2231. What a reader sees is the same before and after.
//!
//! Encoded words may stand in free text, in the names of mailboxes and in comments, and nowhere else. Addresses are
//! not rewritten: a local part has no ASCII form, and a domain is left to its sender.

mod not_encodable;
mod output;
mod structured;
#[cfg(test)]
mod tests;

use super::field::{Field, unfold};
use output::{Output, Run};
use structured::Words;

pub use not_encodable::NotEncodable;

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

/// The whole field in ASCII, with its line ends.
///
/// # Errors
/// It is no text, or has non-ASCII characters where encoded words must not stand.
pub fn encode(field: &Field<'_>) -> Result<Vec<u8>, NotEncodable> {
    let line = unfold(field.value);
    let value = str::from_utf8(&line).map_err(|_| NotEncodable::NotUtf8)?.trim_matches([' ', '\t']);
    let mut output = format!("{}:", field.name);
    {
        let mut output = Output::new(&mut output);
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

fn unstructured(value: &str, output: &mut Output<'_>) {
    let mut run = Run::default();
    let (mut rest, mut blanks) = (value, "");
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find([' ', '\t']).unwrap_or(rest.len()));
        let begins_run = run.is_empty();
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
        output.parameter(key, &value);
    }
    Ok(())
}
