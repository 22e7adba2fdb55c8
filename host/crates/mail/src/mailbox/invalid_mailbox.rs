//! The error of an address field that is not read.

use crate::address::InvalidAddress;

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
    /// An unquoted display name that some receivers read as another address.
    #[error("an unquoted name must not hold an address of another domain; put the name in quotes")]
    OtherAddress,
    /// A comment that some receivers read as another address.
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
