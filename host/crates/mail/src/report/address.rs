//! An address as reports write it.

use crate::address::EmailAddress;

/// Reads an address: with a type, in angle brackets, with a remark.
pub(super) fn address(text: &str) -> Option<EmailAddress> {
    let (kind, rest) = text.split_once(';').unwrap_or(("", text));
    let bare = if kind.contains('@') { text } else { rest };
    let inside = bare.split_once('<').map_or(bare, |(_, it)| it.split('>').next().unwrap_or(it));
    let first = inside.split_whitespace().next()?;
    first.trim_matches(['<', '>', '"', '\'', ',']).parse().ok()
}
