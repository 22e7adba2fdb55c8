//! Reads `From`, `Sender` and `Reply-To` (RFC 5322 section 3.4, RFC 6532) so that every receiver
//! finds the same addresses in them.
//!
//! Names may be sloppier than the RFC's, as real programs write them. Addresses may not, and a form
//! in which some receiver could take another text for the address is refused.

mod invalid_mailbox;
mod scan;

#[cfg(test)]
mod tests;

use super::field::{decode_word, decode_words};
use crate::address::EmailAddress;
use crate::line::is_unsafe;
use scan::{Scanner, Token, Word};

pub use invalid_mailbox::InvalidMailbox;

/// An address, and the name that it is shown with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The display name, decoded: one line without control characters.
    pub name: Option<String>,
    pub address: EmailAddress,
}

/// Reads a value that is on one line ([`unfold`](super::field::unfold)): at least one mailbox.
pub fn mailboxes(value: &str) -> Result<Vec<Mailbox>, InvalidMailbox> {
    if value.chars().any(|c| is_unsafe(c) && c != '\t') {
        return Err(InvalidMailbox::Control);
    }
    let mut scanner = Scanner::new(value);
    let mut list = Vec::new();
    loop {
        list.push(mailbox(&mut scanner)?);
        if !scanner.skip(',') {
            return Ok(list);
        }
    }
}

/// Reads one mailbox up to the comma or the end.
fn mailbox(scanner: &mut Scanner<'_>) -> Result<Mailbox, InvalidMailbox> {
    let mut words = Vec::new();
    let mut comments = Vec::new();
    let mut angle = None;
    // From the first word on, and up to the last one: the address, if no angle bracket comes.
    let (mut bare, mut length) = ("", 0);
    loop {
        scanner.skip_space();
        let before = scanner.rest();
        let Some(token) = scanner.token()? else { break };
        match token {
            Token::Comment(text) => comments.push(text),
            Token::Word(_) | Token::Angle(_) if angle.is_some() => {
                return Err(InvalidMailbox::AfterAddress);
            }
            Token::Angle(text) => angle = Some(text),
            Token::Word(word) => {
                bare = if words.is_empty() { before } else { bare };
                length = bare.len() - scanner.rest().len();
                words.push(word);
            }
        }
    }
    let (address, name) = match angle {
        Some(text) => {
            let address = address(text)?;
            check_phrase(&words, &address)?;
            (address, phrase(&words))
        }
        None if words.is_empty() => return Err(InvalidMailbox::Missing),
        // `a@example.com (Ada)`: the name was a comment in old mail.
        None => {
            let bare = bare.split_at_checked(length).map_or(bare, |(bare, _)| bare);
            (address(bare)?, comments.first().cloned().unwrap_or_default())
        }
    };
    check_comments(&comments, &address)?;
    if name.chars().any(is_unsafe) {
        return Err(InvalidMailbox::Control);
    }
    let name = Some(name.trim().to_owned()).filter(|it| !it.is_empty());
    Ok(Mailbox { name, address })
}

/// An address that no reader takes for something else.
fn address(text: &str) -> Result<EmailAddress, InvalidMailbox> {
    let address: EmailAddress = text.parse()?;
    let local = address.local();
    let decodable = local.contains("=?") && local.contains("?=");
    // A dot of another script, which IDNA reads as a dot and some readers do not.
    let dotted = text.contains(['\u{3002}', '\u{ff0e}', '\u{ff61}']);
    if dotted || decodable || local.contains(['@', '<', '>']) || local.chars().any(is_invisible) {
        return Err(InvalidMailbox::Ambiguous);
    }
    Ok(address)
}

/// The name that words make: one space between them, none between two encoded ones.
fn phrase(words: &[Word<'_>]) -> String {
    let mut name = String::new();
    let mut after_encoded = false;
    for word in words {
        let (text, encoded) = match word {
            Word::Plain(text) => match decode_word(text) {
                Some(decoded) => (decoded, true),
                None => ((*text).to_owned(), false),
            },
            // Not by the RFC, but programs do write encoded words in quotes.
            Word::Quoted(text) => (decode_words(text), false),
        };
        let joined = name.is_empty() || (after_encoded && encoded);
        if !joined {
            name.push(' ');
        }
        name.push_str(&text);
        after_encoded = encoded;
    }
    name
}

/// Unquoted, a name may repeat the address, as some programs do, or hold another of its domain.
fn check_phrase(words: &[Word<'_>], address: &EmailAddress) -> Result<(), InvalidMailbox> {
    let other = |word: &Word<'_>| match word {
        Word::Plain(text) => text.contains('@') && !is_of_its_host(text, address),
        Word::Quoted(_) => false,
    };
    if words.iter().any(other) { Err(InvalidMailbox::OtherAddress) } else { Ok(()) }
}

/// A comment may hold what an unquoted name may, and an `@` of its own.
fn check_comments(comments: &[String], address: &EmailAddress) -> Result<(), InvalidMailbox> {
    let other = |word: &str| word.contains('@') && word != "@" && !is_of_its_host(word, address);
    let ambiguous = |comment: &String| {
        comment.contains(['<', '>']) || comment.split([' ', '\t', '(', ')', ',']).any(other)
    };
    if comments.iter().any(ambiguous) { Err(InvalidMailbox::CommentAddress) } else { Ok(()) }
}

fn is_of_its_host(text: &str, address: &EmailAddress) -> bool {
    self::address(text).is_ok_and(|other| other.host() == address.host())
}

/// Characters that a person does not see, which would make two addresses look the same.
fn is_invisible(c: char) -> bool {
    is_unsafe(c)
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}
