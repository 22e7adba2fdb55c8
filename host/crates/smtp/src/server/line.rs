//! Command lines out of a stream of bytes: CRLF only, bounded, and nothing read twice.

use bytes::{Bytes, BytesMut};

/// Octets of a command line with its CRLF; RFC 5321 wants 512 and what the extensions add.
pub const MAX_LINE_OCTETS: usize = 2048;

/// Octets of an over-long line that are discarded before the session is closed.
pub const MAX_DISCARDED_OCTETS: usize = 64 << 10;

/// What the input begins with.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A command line, without its CRLF.
    Whole(Bytes),
    /// Its end is still to come.
    Incomplete,
    /// A line that ends in a bare LF, or holds a CR or a NUL: it must not be executed.
    Broken,
    /// A line over [`MAX_LINE_OCTETS`], the whole of it discarded.
    TooLong,
    /// A line over [`MAX_DISCARDED_OCTETS`]: the session is closed without waiting for its end.
    Endless,
}

/// Splits the input into command lines. Its only state is how much of an over-long line is discarded so far.
#[derive(Debug, Default)]
pub struct LineReader {
    discarded: usize,
}

impl LineReader {
    /// Takes one line from the input, where a whole one is there.
    pub fn next(&mut self, input: &mut BytesMut) -> Line {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
            if self.discarded > 0 || input.len() >= MAX_LINE_OCTETS {
                self.discarded += input.len();
                input.clear();
            }
            return if self.discarded > MAX_DISCARDED_OCTETS {
                Line::Endless
            } else {
                Line::Incomplete
            };
        };
        let line = input.split_to(end + 1).freeze();
        let length = std::mem::take(&mut self.discarded) + line.len();
        if length > MAX_DISCARDED_OCTETS {
            return Line::Endless;
        }
        if length > MAX_LINE_OCTETS {
            return Line::TooLong;
        }
        match line.strip_suffix(b"\r\n") {
            Some(text) if !text.contains(&b'\r') && !text.contains(&0) => {
                Line::Whole(line.slice_ref(text))
            }
            _ => Line::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> Vec<Line> {
        let mut lines = LineReader::default();
        let mut input = BytesMut::from(input);
        let mut all = Vec::new();
        loop {
            let line = lines.next(&mut input);
            if line == Line::Incomplete {
                return all;
            }
            all.push(line);
        }
    }

    fn whole(text: &'static str) -> Line {
        Line::Whole(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn lines_end_in_crlf() {
        assert_eq!(lines(b"NOOP\r\n\r\nQUIT\r\nRS"), [whole("NOOP"), whole(""), whole("QUIT")]);
    }

    #[test]
    fn what_another_server_might_read_otherwise_is_no_line() {
        for line in [&b"NOOP\n"[..], b"NO\rOP\r\n", b"NOOP\r\r\n", b"NO\0OP\r\n", b"\n", b"\r\r\n"]
        {
            assert_eq!(lines(line), [Line::Broken], "{}", line.escape_ascii());
        }
    }

    #[test]
    fn a_long_line_is_discarded_to_its_end_in_bounded_memory() {
        let longest = [vec![b'a'; MAX_LINE_OCTETS - 2], b"\r\n".to_vec()].concat();
        assert!(matches!(lines(&longest).as_slice(), [Line::Whole(_)]));
        let longer = [b"a".to_vec(), longest, b"QUIT\r\n".to_vec()].concat();
        assert_eq!(lines(&longer), [Line::TooLong, whole("QUIT")]);

        let mut lines = LineReader::default();
        let mut input = BytesMut::from(&vec![b'a'; MAX_DISCARDED_OCTETS][..]);
        assert_eq!(lines.next(&mut input), Line::Incomplete);
        input.extend_from_slice(b"a");
        assert_eq!(lines.next(&mut input), Line::Endless, "nobody waits for its end");

        let mut lines = LineReader::default();
        let mut input = BytesMut::new();
        for piece in longer.chunks(100) {
            input.extend_from_slice(piece);
            if lines.next(&mut input) == Line::TooLong {
                assert_eq!(&input[..], b"QUIT\r\n");
                return;
            }
            assert!(input.len() < MAX_LINE_OCTETS);
        }
        unreachable!("the line has an end");
    }
}
