//! Reads `From`, `Sender` and `Reply-To` (RFC 5322 section 3.4, RFC 6532) so that every receiver
//! finds the same addresses in them.
//!
//! Names may be sloppier than the RFC's, as real programs write them. Addresses may not, and a form
//! in which some receiver could take another text for the address is refused.

mod scan;

#[cfg(test)]
mod tests;

use super::field::{decode_word, decode_words};
use crate::address::{EmailAddress, InvalidAddress};
use scan::{Scanner, Token, Word};

/// An address, and the name that it is shown with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The display name, decoded: one line without control characters.
    pub name: Option<String>,
    pub address: EmailAddress,
}

/// Why a value is not a list of mailboxes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMailbox {
    /// Nothing there, or nothing between two commas.
    #[error("an address is missing")]
    Missing,
    /// What should be an address is none.
    #[error("{0}")]
    Address(#[from] InvalidAddress),
    /// `name: a@example.com, b@example.com;`.
    #[error("a group of addresses is not allowed; a name with a colon needs quotes")]
    Group,
    /// A character that is special in addresses.
    #[error("`{0}` is not allowed here; a name with it needs quotes")]
    Special(char),
    /// A quote, a comment or an angle bracket that is not closed.
    #[error("the `{0}` is not closed")]
    Unclosed(char),
    /// Comments within comments within comments.
    #[error("comments are nested too deeply")]
    TooDeep,
    /// Text behind the closing angle bracket, perhaps a second address.
    #[error("only a comma may follow the `>`")]
    AfterAddress,
    /// An unquoted name from which some receivers would take another address.
    #[error("an unquoted name must not hold an address of another domain; put the name in quotes")]
    OtherAddress,
    /// A comment from which some receivers would take another address.
    #[error("a comment must not hold another address, `<` or `>`")]
    CommentAddress,
    /// What readers would decode or take apart in different ways.
    #[error("the address looks like an encoded word or like another address")]
    Ambiguous,
    /// Octets that are no text.
    #[error("the field is not UTF-8; encode the name (RFC 2047)")]
    Encoding,
    /// A control character, also an encoded one, or one that turns the direction of text.
    #[error("control characters and marks that change the direction of text are not allowed")]
    Control,
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

/// Characters that must not stand anywhere: they end lines, or reorder what a person reads.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that a person does not see, which would make two addresses look the same.
fn is_invisible(c: char) -> bool {
    is_unsafe(c)
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}
