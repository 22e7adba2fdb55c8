//! The error of a message that cannot be re-encoded.

use super::goal::MAX_LINE;
use crate::field::InvalidHeader;

/// MIME parts within each other, at most.
pub(super) const MAX_DEPTH: usize = 50;

/// Why a message cannot be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CannotConvert {
    /// A header field with octets over 127 that only SMTPUTF8 could carry.
    #[error("a header field of the message is not ASCII and needs SMTPUTF8")]
    Header,
    /// A line of a part's header that is too long.
    #[error("the header of a part has a line over {MAX_LINE} octets")]
    LongHeader,
    /// A signature covers the octets as they are (RFC 1847).
    #[error("a part of the message that must be re-encoded is signed")]
    Signed,
    /// A part may not be encoded, or is not encoded as it says.
    #[error(
        "a part of the message that must be re-encoded has a type that forbids it or a wrong header"
    )]
    Encoding,
    /// The header of a part is malformed.
    #[error("a header of the message is malformed: {0}")]
    Malformed(#[from] InvalidHeader),
    /// A multipart without a boundary, or without one of its lines.
    #[error("a multipart of the message has no boundary lines")]
    NoBoundary,
    /// Parts within parts.
    #[error("parts of the message are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}
