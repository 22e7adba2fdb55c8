//! The error of a header field that has no form in ASCII.

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
