//! The content of a message, as it was before its lines were dot-stuffed (RFC 5321 section 4.5.2).

use crate::behaviour::Keeps;
use crate::session::path::value;
use crate::situation::Recipient;

/// A line that is longer is taken in pieces.
const PIECE: usize = 64 << 10;
/// The longest line, its end included (RFC 5321 section 4.5.3.1.6).
const LINE: usize = 1_000;

/// Takes data in pieces of any size. Only CRLF ends a line, only CRLF.CRLF the data.
#[derive(Debug)]
pub(crate) struct Unstuffed {
    keeps: Keeps,
    content: Vec<u8>,
    content_octets: usize,
    octets: usize,
    at_line_start: bool,
    ended: bool,
    faults: Vec<Fault>,
}

/// What data may hold although it may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Bare,
    Long,
    EightBit,
}

impl Unstuffed {
    pub fn new(keeps: Keeps) -> Self {
        Self {
            keeps,
            content: Vec::new(),
            content_octets: 0,
            octets: 0,
            at_line_start: true,
            ended: false,
            faults: Vec::new(),
        }
    }

    /// Takes what it can use; what is left belongs behind the data, or is the beginning of a line.
    pub fn take(&mut self, input: &[u8]) -> usize {
        let mut used = 0;
        while !self.ended {
            let rest = input.get(used..).unwrap_or_default();
            let Some(end) = rest.iter().position(|it| *it == b'\n') else {
                if rest.len() > PIECE {
                    let piece = rest.strip_suffix(b"\r").unwrap_or(rest);
                    used += piece.len();
                    self.line(piece);
                }
                break;
            };
            let line = rest.get(..=end).unwrap_or_default();
            used += line.len();
            self.line(line);
        }
        self.octets += used;
        used
    }

    fn line(&mut self, line: &[u8]) {
        if self.at_line_start && line == b".\r\n" {
            self.ended = true;
            return;
        }
        let content = if self.at_line_start { line.strip_prefix(b".") } else { None };
        let content = content.unwrap_or(line);
        self.at_line_start = line.ends_with(b"\r\n");
        self.content_octets += content.len();
        if self.keeps == Keeps::Everything {
            let text = content.strip_suffix(b"\r\n").unwrap_or(content);
            let found = [
                (text.iter().any(|it| matches!(it, b'\r' | b'\n')), Fault::Bare),
                (content.len() > LINE, Fault::Long),
                (!content.is_ascii(), Fault::EightBit),
            ];
            for (_, fault) in found.into_iter().filter(|(is_there, _)| *is_there) {
                if !self.faults.contains(&fault) {
                    self.faults.push(fault);
                }
            }
            self.content.extend_from_slice(content);
        }
    }

    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Octets that were taken, dots and all.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Octets of the content.
    pub fn content_octets(&self) -> usize {
        self.content_octets
    }

    pub fn content(self) -> Vec<u8> {
        self.content
    }

    /// What a client may not send.
    pub fn violations(&self, sender: Option<&Recipient>) -> Vec<&'static str> {
        let declared = sender.is_some_and(|sender| {
            value(sender, "BODY").is_some_and(|it| it.eq_ignore_ascii_case("8BITMIME"))
        });
        let told = |fault: &Fault| match fault {
            Fault::Bare => Some("a bare CR or LF in the data"),
            Fault::Long => Some("a line of more than 1,000 octets in the data"),
            Fault::EightBit if declared => None,
            Fault::EightBit => Some("8-bit data that was not declared"),
        };
        self.faults.iter().filter_map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_the_same_in_pieces_of_any_size() {
        let wire = b"a: b\r\n\r\n..dot\r\n.\rx\r\nbare\n.\n\r\n..\r\n.\r\nQUIT\r\n";
        for size in 1..=wire.len() {
            let mut data = Unstuffed::new(Keeps::Everything);
            let mut buffer = Vec::new();
            for piece in wire.chunks(size) {
                buffer.extend_from_slice(piece);
                let used = data.take(&buffer);
                buffer.drain(..used);
            }
            assert!(data.is_ended());
            assert_eq!(buffer, b"QUIT\r\n");
            assert_eq!(data.violations(None), ["a bare CR or LF in the data"]);
            assert_eq!(data.octets(), wire.len() - 6);
            assert_eq!(data.content(), b"a: b\r\n\r\n.dot\r\n\rx\r\nbare\n.\n\r\n.\r\n");
        }
    }

    #[test]
    fn a_long_line_is_taken_in_pieces_without_losing_its_end() {
        let mut data = Unstuffed::new(Keeps::Everything);
        let mut line = vec![b'x'; PIECE + 1];
        line.push(b'\r');
        assert_eq!(data.take(&line), PIECE + 1);
        assert_eq!(data.take(b"\r\n.\r\n"), 5);
        assert!(data.is_ended());
        assert_eq!(data.content_octets(), PIECE + 3);
        assert_eq!(data.violations(None), ["a line of more than 1,000 octets in the data"]);
    }
}
