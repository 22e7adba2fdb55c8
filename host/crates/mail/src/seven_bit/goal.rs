//! What a message is rewritten for, and whether octets are so already.

use std::io::BufRead;

/// Octets of a line without its end (RFC 5322 section 2.1.1), at most.
pub const MAX_LINE: usize = 998;

/// What a message is rewritten for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// No octet over 127.
    SevenBit,
    /// No line over 998 octets.
    ShortLines,
}

impl Goal {
    pub(super) fn is_reached(self, octets: &[u8]) -> bool {
        match self {
            Self::SevenBit => octets.is_ascii(),
            Self::ShortLines => !has_long_line(octets),
        }
    }
}

/// Whether a line has over 998 octets.
#[must_use]
pub fn has_long_line(mut octets: &[u8]) -> bool {
    while !octets.is_empty() {
        // The standard library searches with `memchr` here; reading from a slice cannot fail.
        let mut rest = octets;
        let length = rest.skip_until(b'\n').unwrap_or(octets.len());
        let (line, after) = octets.split_at(length.min(octets.len()));
        if line.strip_suffix(b"\r\n").unwrap_or(line).len() > MAX_LINE {
            return true;
        }
        octets = after;
    }
    false
}
