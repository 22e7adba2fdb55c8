//! `BDAT octets [LAST]` (RFC 3030 section 2).

use crate::server::reply::{Answer, Reply};

/// The arguments of BDAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// How many octets follow the command line.
    pub octets: u64,
    /// Whether the message ends with them.
    pub last: Last,
}

/// Whether a chunk is the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// More chunks follow.
    No,
    /// The message ends with it.
    Yes,
}

/// Reads what follows the verb.
///
/// # Errors
/// The size is missing or no number: the end of the chunk is unknown.
pub fn parse(argument: &[u8]) -> Result<Chunk, Answer> {
    let malformed = || Reply::BadArgument.with("syntax: BDAT <size> [LAST]");
    let text = str::from_utf8(argument).map_err(|_| malformed())?;
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let octets = words.next().filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
    // A size that overflows saturates; the size limit refuses it.
    let octets = octets.ok_or_else(malformed)?.parse().unwrap_or(u64::MAX);
    let last = match words.next() {
        None => Last::No,
        Some(word) if word.eq_ignore_ascii_case("LAST") => Last::Yes,
        Some(_) => return Err(malformed()),
    };
    if words.next().is_some() {
        return Err(malformed());
    }
    Ok(Chunk { octets, last })
}
