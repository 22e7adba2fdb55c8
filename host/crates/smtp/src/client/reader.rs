//! Parses single-line and multiline replies out of a stream of octets (RFC 5321 section 4.2.1); bounded, without I/O.

use super::transcript::Transcript;
use super::violation::Violation;
use waxwing_mail::line;

/// Octets of one reply line, at most; RFC 5321 section 4.5.3.1.5 has 512, some servers send more.
const MAX_LINE: usize = 2 << 10;
/// Octets of one reply with all its lines, at most.
const MAX_OCTETS: usize = 64 << 10;
/// Lines of one reply, at most.
const MAX_LINES: usize = 200;

/// Buffers octets from the server until a reply is whole.
#[derive(Debug, Default)]
pub struct ReplyReader {
    buffer: Vec<u8>,
    /// Octets of the buffer that are known to have no line feed.
    searched: usize,
    /// The lines so far of a reply that is not whole.
    lines: Option<ReplyLines>,
    octets: usize,
}

/// A whole reply: one code, and what follows it on each line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyLines {
    pub code: u16,
    /// Without control characters; at least one.
    pub texts: Vec<String>,
}

impl ReplyReader {
    /// Appends octets from the server.
    pub fn push(&mut self, octets: &[u8]) {
        self.buffer.extend_from_slice(octets);
    }

    /// Whether no octets and no part of a reply are buffered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.lines.is_none()
    }

    /// Drops the buffered octets, and writes them to the transcript.
    pub fn discard(&mut self, transcript: &mut Transcript) {
        if !self.buffer.is_empty() {
            transcript.server(&printable(&self.buffer));
        }
        *self = Self::default();
    }

    /// The next whole reply, if it has come.
    pub fn next_reply(
        &mut self,
        transcript: &mut Transcript,
    ) -> Result<Option<ReplyLines>, Violation> {
        while let Some(line) = self.line()? {
            transcript.server(&printable(&line));
            self.octets += line.len();
            let (code, is_last, text) = parse(&line)?;
            let lines = self.lines.get_or_insert_with(|| ReplyLines { code, texts: Vec::new() });
            if lines.code != code {
                return Err(Violation::MixedCodes);
            }
            lines.texts.push(printable(text));
            if lines.texts.len() > MAX_LINES || self.octets > MAX_OCTETS {
                return Err(Violation::TooLong);
            }
            if is_last {
                self.octets = 0;
                return Ok(self.lines.take());
            }
        }
        Ok(None)
    }

    /// The next whole line, without its end.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Violation> {
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        let end =
            unsearched.iter().position(|byte| *byte == b'\n').map(|at| self.searched + at + 1);
        if end.unwrap_or(self.buffer.len()) > MAX_LINE {
            return Err(Violation::LineTooLong);
        }
        let Some(end) = end else {
            self.searched = self.buffer.len();
            return Ok(None);
        };
        self.searched = 0;
        let mut line: Vec<u8> = self.buffer.drain(..end).collect();
        while let Some(b'\r' | b'\n') = line.last() {
            line.pop();
        }
        Ok(Some(line))
    }
}

/// A line's code, whether it is the last of its reply, and its text.
fn parse(line: &[u8]) -> Result<(u16, bool, &[u8]), Violation> {
    let (code, rest) = line.split_at_checked(3).ok_or(Violation::NotAReply)?;
    let code = str::from_utf8(code).ok().filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
    let code = code.and_then(|code| code.parse::<u16>().ok()).ok_or(Violation::NotAReply)?;
    if !(200..600).contains(&code) {
        return Err(Violation::NotAReply);
    }
    match rest {
        [b'-', text @ ..] => Ok((code, false, text)),
        [b' ', text @ ..] => Ok((code, true, text)),
        [] => Ok((code, true, rest)),
        [..] => Err(Violation::NotAReply),
    }
}

/// Text that is safe in a log or a terminal.
fn printable(octets: &[u8]) -> String {
    line::printable(&String::from_utf8_lossy(octets))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All replies of a stream that comes in pieces of that size.
    fn read(stream: &[u8], piece: usize) -> (Vec<ReplyLines>, Option<Violation>) {
        let (mut reader, mut transcript) = (ReplyReader::default(), Transcript::default());
        let mut replies = Vec::new();
        for piece in stream.chunks(piece) {
            reader.push(piece);
            loop {
                match reader.next_reply(&mut transcript) {
                    Ok(Some(lines)) => replies.push(lines),
                    Ok(None) => break,
                    Err(violation) => return (replies, Some(violation)),
                }
            }
        }
        (replies, None)
    }

    fn lines(code: u16, texts: &[&str]) -> ReplyLines {
        ReplyLines { code, texts: texts.iter().map(|&it| it.to_owned()).collect() }
    }

    #[test]
    fn replies_of_every_form_are_read() {
        let stream = b"220 hello\r\n250-a\n250-\r\n250\r\n354 go\r\r\n550\t";
        let whole = [lines(220, &["hello"]), lines(250, &["a", "", ""]), lines(354, &["go"])];
        for piece in [1, 2, 3, 7, 100] {
            assert_eq!(read(stream, piece), (whole.to_vec(), None));
        }
    }

    #[test]
    fn what_is_no_reply_is_told_by_its_fault() {
        for (stream, fault) in [
            ("SSH-2.0-OpenSSH_9.6\r\n", Violation::NotAReply),
            ("HTTP/1.1 400 Bad Request\r\n", Violation::NotAReply),
            ("\r\n", Violation::NotAReply),
            ("25\r\n", Violation::NotAReply),
            ("2500 x\r\n", Violation::NotAReply),
            ("100 x\r\n", Violation::NotAReply),
            ("600 x\r\n", Violation::NotAReply),
            ("+25 x\r\n", Violation::NotAReply),
            ("250_x\r\n", Violation::NotAReply),
            ("250-a\r\n550 b\r\n", Violation::MixedCodes),
            ("250-a\r\nb\r\n", Violation::NotAReply),
        ] {
            assert_eq!(read(stream.as_bytes(), 5).1, Some(fault), "{stream}");
        }
    }

    #[test]
    fn a_reply_is_bounded_in_lines_and_octets() {
        let long = |len: usize| format!("250 {}\r\n", "x".repeat(len));
        assert_eq!(read(long(2_000).as_bytes(), 500).0.len(), 1);
        assert_eq!(read(long(2_050).as_bytes(), 500).1, Some(Violation::LineTooLong));
        let endless = vec![b'2'; 5_000];
        assert_eq!(read(&endless, 4_096).1, Some(Violation::LineTooLong));
        assert_eq!(read("250-\r\n".repeat(201).as_bytes(), 4_096).1, Some(Violation::TooLong));
        let wide = long(1_000).replace("250 ", "250-").repeat(66);
        assert_eq!(read(wide.as_bytes(), 4_096).1, Some(Violation::TooLong));
        let many = format!("{}250 x\r\n", "250-\r\n".repeat(199)).repeat(3);
        assert_eq!(read(many.as_bytes(), 4_096).0.len(), 3);
    }

    #[test]
    fn nothing_of_a_text_acts_where_it_is_shown() {
        let text = printable(b"a\x1b[31m\tb\x00\xff\xe2\x80\xae\xc2\x85c");
        assert_eq!(text, "a\u{fffd}[31m b\u{fffd}\u{fffd}\u{fffd}\u{fffd}c");
    }

    proptest! {
        #[test]
        fn no_stream_is_read_differently_in_pieces(
            stream in prop_oneof![
                "([2-5][0-9]{2}[ -]?[a-z]{0,4}(\r\n|\n|\r)?){0,8}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..80),
            ],
            piece in 1_usize..9,
        ) {
            prop_assert_eq!(read(&stream, piece), read(&stream, stream.len().max(1)));
        }
    }
}
