//! The envelope under way: from MAIL to the end of the message.

use waxwing_mail::address::EmailAddress;

use crate::server::data::Content;

/// A sender, and the recipients that were accepted so far.
#[derive(Debug)]
pub struct Envelope {
    /// None is the empty path, `<>`.
    pub sender: Option<EmailAddress>,
    /// Whether this MAIL had the parameter SMTPUTF8 (RFC 6531).
    pub utf8: bool,
    /// Each once, as they came.
    pub recipients: Vec<EmailAddress>,
    /// How many were refused.
    pub refused: usize,
    /// The message, once it comes by chunks (RFC 3030).
    pub chunks: Option<Content>,
    /// Whether a chunk was answered with an error, so that no other can follow.
    pub chunk_failed: bool,
}
