//! The chunk of a message that BDAT announced (RFC 3030), while its octets come.

use crate::server::command::bdat::Last;
use crate::server::reply::Answer;

/// A chunk under way.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) announced: u64,
    pub(super) left: u64,
    pub(super) last: Last,
    pub(super) fate: Fate,
}

/// What becomes of the octets.
#[derive(Debug)]
pub(super) enum Fate {
    /// They are part of the message.
    Kept,
    /// They are discarded, and then this is the reply.
    Refused(Answer),
}
