//! The message under way: bounded while it comes, and checked as a whole at its end.

mod receiver;

use std::io::BufRead;

use crate::server::reply::{Answer, Reply};

pub use receiver::{Progress, Receiver};

/// What becomes of a line feed that stands alone. It never ends a message, whatever becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BareNewline {
    /// It becomes CRLF.
    Normalise,
    /// The message is refused for it.
    Refuse,
}

/// The octets of a message, or the knowledge that they are lost.
#[derive(Debug)]
pub struct Content {
    limit: usize,
    bare_newline: BareNewline,
    /// Line feeds that became CRLF.
    normalised: usize,
    octets: Result<Vec<u8>, Loss>,
}

#[derive(Debug, Clone, Copy)]
enum Loss {
    TooLarge,
    Memory,
}

impl Content {
    /// Nothing yet; it keeps at most `limit` octets.
    #[must_use]
    pub fn new(limit: usize, bare_newline: BareNewline) -> Self {
        Self { limit, bare_newline, normalised: 0, octets: Ok(Vec::new()) }
    }

    /// Appends; once the limit is passed, everything is let go.
    pub fn push(&mut self, piece: &[u8]) {
        if self.bare_newline == BareNewline::Refuse {
            return self.append(piece);
        }
        for line in lines(piece) {
            match line.strip_suffix(b"\n") {
                Some(text) if !self.is_after_cr(text) => {
                    self.append(text);
                    self.append(b"\r\n");
                    self.normalised += 1;
                }
                Some(_) | None => self.append(line),
            }
        }
    }

    /// Whether line feeds became CRLF: other servers may see the message's end elsewhere.
    #[must_use]
    pub fn was_normalised(&self) -> bool {
        self.normalised > 0
    }

    fn is_after_cr(&self, text: &[u8]) -> bool {
        let before = self.octets.as_ref().ok().and_then(|octets| octets.last());
        text.last().or(before) == Some(&b'\r')
    }

    fn append(&mut self, piece: &[u8]) {
        if let Ok(octets) = &mut self.octets {
            if piece.len() <= self.limit.saturating_sub(octets.len()) {
                let wanted = octets.len() + piece.len();
                if wanted > octets.capacity() {
                    // As a vector grows by itself, but not past what a message may have.
                    let capacity = wanted.max(2 * octets.capacity()).min(self.limit);
                    octets.reserve_exact(capacity - octets.len());
                }
                octets.extend_from_slice(piece);
            } else {
                self.octets = Err(Loss::TooLarge);
            }
        }
    }

    /// Lets everything go for want of memory.
    pub fn lose(&mut self) {
        if self.octets.is_ok() {
            self.octets = Err(Loss::Memory);
        }
    }

    /// The memory that it takes.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.octets.as_ref().map_or(0, Vec::capacity)
    }

    /// Why it is lost, where it is.
    #[must_use]
    pub fn loss(&self) -> Option<Answer> {
        self.octets.as_ref().err().map(|loss| match loss {
            Loss::TooLarge => too_large(self.limit),
            Loss::Memory => Reply::MemoryFull.into(),
        })
    }

    /// The message: CRLF lines of any length without NUL, the last one ended too.
    ///
    /// # Errors
    /// It is lost, or it is no such message.
    pub fn into_message(self) -> Result<Vec<u8>, Answer> {
        let message = self.ended()?;
        check(&message)?;
        Ok(message)
    }

    /// A report: CRLF lines of any length, for mail systems put whole diagnostics into one.
    ///
    /// # Errors
    /// It is lost, or its lines end otherwise.
    pub fn into_report(self) -> Result<Vec<u8>, Answer> {
        let report = self.ended()?;
        let whole = |line: &[u8]| line.strip_suffix(b"\r\n").is_some_and(|it| !it.contains(&b'\r'));
        if lines(&report).all(whole) { Ok(report) } else { Err(Reply::BareLineEnding.into()) }
    }

    /// All of it, its last line ended too.
    fn ended(self) -> Result<Vec<u8>, Answer> {
        if let Some(answer) = self.loss() {
            return Err(answer);
        }
        let mut octets = self.octets.unwrap_or_default();
        if !octets.is_empty() && !octets.ends_with(b"\r\n") {
            octets.extend_from_slice(b"\r\n");
        }
        Ok(octets)
    }
}

/// The answer to a message over the limit.
#[must_use]
pub fn too_large(limit: usize) -> Answer {
    Reply::TooLarge.with(format!("PAYLOAD_TOO_LARGE the message has more than {limit} octets"))
}

/// A line ending that two servers can read differently is the gravest fault, so it is named first.
fn check(message: &[u8]) -> Result<(), Answer> {
    let whole = |line: &[u8]| line.strip_suffix(b"\r\n").is_some_and(|it| !it.contains(&b'\r'));
    if !lines(message).all(whole) {
        return Err(Reply::BareLineEnding.into());
    }
    if message.contains(&0) {
        return Err(Reply::BadContent.with("BAD_REQUEST the message holds a NUL octet"));
    }
    Ok(())
}

/// The lines with their LF; the last one may have none.
fn lines(mut octets: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (line, rest) = octets.split_at_checked(line_length(octets))?;
        octets = rest;
        (!line.is_empty()).then_some(line)
    })
}

/// Octets up to and with the first LF, or all; the standard library searches with `memchr` here.
fn line_length(octets: &[u8]) -> usize {
    let mut rest = octets;
    rest.skip_until(b'\n').unwrap_or(octets.len())
}

#[cfg(test)]
mod tests;
