//! Paths: `<address>`, with quoted local parts, and with source routes that are dropped.

use waxwing_mail::address::{EmailAddress, InvalidAddress};

/// A path, read but not yet checked.
#[derive(Debug, PartialEq, Eq)]
pub struct Path<'a> {
    /// The text between the angle brackets, without its route (RFC 5321 appendix C).
    mailbox: &'a str,
}

/// Why a text does not begin with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    /// Not in angle brackets.
    #[error("write the address as <user@example.com>")]
    Brackets,
    /// Something other than a blank follows.
    #[error("a blank is wanted after the address")]
    Blank,
    /// The route is malformed.
    #[error("the source route is malformed; leave it out")]
    Route,
}

impl<'a> Path<'a> {
    /// Reads the path at the beginning of a text; gives it with what follows it.
    pub fn take_from(text: &'a str) -> Result<(Self, &'a str), InvalidPath> {
        let inside = text.strip_prefix('<').ok_or(InvalidPath::Brackets)?;
        let end = closing_bracket(inside).ok_or(InvalidPath::Brackets)?;
        let (inside, rest) = inside.split_at_checked(end).ok_or(InvalidPath::Brackets)?;
        let rest = rest.strip_prefix('>').ok_or(InvalidPath::Brackets)?;
        if !rest.is_empty() && !rest.starts_with(' ') {
            return Err(InvalidPath::Blank);
        }
        Ok((Self { mailbox: without_route(inside)? }, rest))
    }

    /// Whether it is `<>`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mailbox.is_empty()
    }

    /// Whether it can only stand where SMTPUTF8 was announced.
    #[must_use]
    pub fn needs_utf8(&self) -> bool {
        !self.mailbox.is_ascii()
    }

    /// The address.
    pub fn address(&self) -> Result<EmailAddress, InvalidAddress> {
        self.mailbox.parse()
    }
}

/// Where the first `>` outside quotes stands.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut quoted = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' if quoted => {
                chars.next();
            }
            '>' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// `@one.example,@two.example:user@example.com` without everything up to the colon.
fn without_route(inside: &str) -> Result<&str, InvalidPath> {
    if !inside.starts_with('@') {
        return Ok(inside);
    }
    let (route, mailbox) = inside.split_once(':').ok_or(InvalidPath::Route)?;
    let hop = |it: &str| it.strip_prefix('@').is_some_and(|host| !host.is_empty());
    if route.split(',').all(hop) && !mailbox.is_empty() {
        Ok(mailbox)
    } else {
        Err(InvalidPath::Route)
    }
}
