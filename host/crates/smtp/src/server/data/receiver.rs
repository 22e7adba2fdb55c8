//! DATA: finds the end of the message and takes the stuffed dots out (RFC 5321 section 4.5.2).
//!
//! The end is CRLF.CRLF and nothing else. What another server might take for the end, a bare LF or
//! CR around a dot, stays in the message, which is refused for it, or gets CRLF in its place.
//!
//! Clients that end lines with LF stuff dots behind LF, so a dot goes there too; but only where another
//! one follows, for some clients stuff behind CRLF alone.

use bytes::{Buf, BytesMut};

use super::{BareNewline, Content, line_length};

/// How far over four times the limit a client may go on.
const GRACE: u64 = 1024 * 1024;

/// A message under way.
#[derive(Debug)]
pub struct Receiver {
    content: Content,
    place: Place,
    /// Octets that may still come before the session is ended.
    patience: u64,
}

/// Where the next octet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// After CRLF, or at the beginning.
    LineStart,
    /// After a bare LF.
    BareLineStart,
    /// After a dot behind a bare LF; it is not taken yet.
    BareDot,
    /// After a dot that began a line.
    Dot,
    /// After a dot that began a line, and a CR.
    DotCr,
    /// In a line, not after a CR.
    Line,
    /// In a line, after a CR.
    LineCr,
}

/// What receiving came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All input was taken, and the end was not in it.
    More,
    /// The end was reached; what is left of the input are commands.
    End,
    /// Far too much was sent.
    Flood,
}

impl Receiver {
    /// At the beginning of a message of at most `limit` octets.
    #[must_use]
    pub fn new(limit: usize, bare_newline: BareNewline) -> Self {
        let patience = (limit as u64).saturating_mul(4).saturating_add(GRACE);
        Self { content: Content::new(limit, bare_newline), place: Place::LineStart, patience }
    }

    /// Takes the input up to the end of the message.
    pub fn receive(&mut self, input: &mut BytesMut) -> Progress {
        while let Some(first) = input.first().copied() {
            let taken = match (self.place, first) {
                (Place::LineStart, b'.') => self.step(Place::Dot),
                (Place::BareLineStart, b'.') => self.step(Place::BareDot),
                (Place::BareDot, b'.') => self.line(input),
                // Nobody stuffs a dot that stands alone, and it ends no message.
                (Place::BareDot, _) | (Place::Dot, b'\n') => {
                    self.content.push(b".");
                    self.step(Place::Line);
                    0
                }
                (Place::Dot, b'\r') => self.step(Place::DotCr),
                (Place::DotCr, b'\n') => {
                    input.advance(1);
                    return Progress::End;
                }
                (Place::DotCr, _) => {
                    // The dot was stuffed, and the line begins with this bare CR.
                    self.content.push(b"\r");
                    self.place = Place::LineCr;
                    0
                }
                (
                    Place::LineStart
                    | Place::BareLineStart
                    | Place::Dot
                    | Place::Line
                    | Place::LineCr,
                    _,
                ) => self.line(input),
            };
            input.advance(taken);
            self.patience = self.patience.saturating_sub(taken as u64);
            if self.patience == 0 {
                return Progress::Flood;
            }
        }
        Progress::More
    }

    /// The message so far.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Lets the message go; its end is still looked for.
    pub fn lose(&mut self) {
        self.content.lose();
    }

    #[must_use]
    pub fn into_content(self) -> Content {
        self.content
    }

    fn step(&mut self, place: Place) -> usize {
        self.place = place;
        1
    }

    /// Takes the rest of a line, or as much of it as is there.
    fn line(&mut self, input: &[u8]) -> usize {
        let length = line_length(input);
        let piece = input.get(..length).unwrap_or(input);
        self.content.push(piece);
        let after_cr = self.place == Place::LineCr;
        self.place = match piece {
            [.., b'\r', b'\n'] => Place::LineStart,
            [b'\n'] if after_cr => Place::LineStart,
            [.., b'\n'] => Place::BareLineStart,
            [.., b'\r'] => Place::LineCr,
            _ => Place::Line,
        };
        length
    }
}
