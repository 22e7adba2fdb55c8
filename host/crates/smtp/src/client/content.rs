//! DATA content for the wire: dot-stuffing and the final dot (RFC 5321 section 4.5.2), in chunks.

/// Octets of the message in one chunk; stuffed dots come on top.
pub const PIECE: usize = 64 << 10;

/// A message whose lines end in CRLF, in pieces for the wire.
#[derive(Debug, Clone)]
pub struct Content<'a> {
    rest: &'a [u8],
    octets: usize,
    /// The final dot, and the line end before it where the message has none.
    end: &'static [u8],
    has_dots: bool,
    is_at_line_start: bool,
    is_done: bool,
}

impl<'a> Content<'a> {
    /// None if the message has a bare CR or a bare LF.
    #[expect(clippy::needless_bitwise_bool, reason = "without branches it becomes vector code")]
    #[must_use]
    pub fn new(message: &'a [u8]) -> Option<Self> {
        let follows = message.get(1..).unwrap_or_default();
        let (is_bare, has_dots) =
            message.iter().zip(follows).fold((false, false), |(is_bare, has_dots), (a, b)| {
                let is_end = *b == b'\n';
                let is_dot = (*a == b'\n') & (*b == b'.');
                (is_bare | ((*a == b'\r') != is_end), has_dots | is_dot)
            });
        if is_bare || message.starts_with(b"\n") || message.ends_with(b"\r") {
            return None;
        }
        let is_whole = message.is_empty() || message.ends_with(b"\r\n");
        Some(Self {
            rest: message,
            octets: if is_whole { message.len() } else { message.len() + 2 },
            end: if is_whole { b".\r\n" } else { b"\r\n.\r\n" },
            has_dots: has_dots || message.starts_with(b"."),
            is_at_line_start: true,
            is_done: false,
        })
    }

    /// Octets of the message as SIZE counts them (RFC 1870): with the final line end, without stuffed dots.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Octets of the message that are still to come.
    #[must_use]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Replaces the content of `piece` with the next chunk; false when all chunks were taken.
    pub fn next(&mut self, piece: &mut Vec<u8>) -> bool {
        piece.clear();
        if self.is_done {
            return false;
        }
        let (now, later) = self.rest.split_at(self.rest.len().min(PIECE));
        self.rest = later;
        piece.reserve(now.len() + now.len() / 64 + 8);
        if self.has_dots {
            for line in now.split_inclusive(|byte| *byte == b'\n') {
                if self.is_at_line_start && line.starts_with(b".") {
                    piece.push(b'.');
                }
                piece.extend_from_slice(line);
                self.is_at_line_start = line.ends_with(b"\n");
            }
        } else {
            piece.extend_from_slice(now);
        }
        if self.rest.is_empty() {
            piece.extend_from_slice(self.end);
            self.is_done = true;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn on_the_wire(message: &[u8]) -> Vec<u8> {
        let mut content = Content::new(message).expect("no bare line ends");
        let (mut piece, mut all) = (Vec::new(), Vec::new());
        while content.next(&mut piece) {
            all.extend_from_slice(&piece);
        }
        assert_eq!(content.left(), 0);
        all
    }

    #[test]
    fn a_message_ends_with_one_dot_and_no_further_line() {
        for (message, wire) in [
            ("", ".\r\n"),
            ("\r\n", "\r\n.\r\n"),
            ("a\r\n", "a\r\n.\r\n"),
            ("a", "a\r\n.\r\n"),
            (".\r\n", "..\r\n.\r\n"),
            (".a\r\n..\r\n.b", "..a\r\n...\r\n..b\r\n.\r\n"),
            ("a.\r\nb .\r\n", "a.\r\nb .\r\n.\r\n"),
        ] {
            assert_eq!(on_the_wire(message.as_bytes()), wire.as_bytes(), "{message:?}");
        }
    }

    #[test]
    fn bare_line_ends_are_found_wherever_they_stand() {
        for message in
            ["\n", "\r", "a\nb\r\n", "a\rb\r\n", "a\r\r\n", "a\r\n\n", "\n.\r\n", "a\r\n\r"]
        {
            assert!(Content::new(message.as_bytes()).is_none(), "{message:?}");
        }
    }

    #[test]
    fn a_dot_is_stuffed_where_a_piece_begins_with_it() {
        let mut message = vec![b'x'; PIECE - 2];
        message.extend_from_slice(b"\r\n.dot\r\n");
        let wire = on_the_wire(&message);
        assert!(wire.ends_with(b"x\r\n..dot\r\n.\r\n"));
        let mut message = vec![b'.'; PIECE];
        message.extend_from_slice(b".dot\r\n");
        assert_eq!(on_the_wire(&message).len(), message.len() + 4);
    }

    proptest! {
        #[test]
        fn a_server_reads_what_was_given(
            lines in prop::collection::vec("[.a]{0,4}", 0..40),
            filler in 0_usize..3,
        ) {
            let mut message = vec![b'y'; filler * (PIECE - 40)];
            message.extend_from_slice(lines.join("\r\n").as_bytes());
            let wire = on_the_wire(&message);
            let text = wire.strip_suffix(b".\r\n").expect("the final dot");
            let read: Vec<u8> = text
                .split_inclusive(|byte| *byte == b'\n')
                .flat_map(|line| line.strip_prefix(b".").unwrap_or(line))
                .copied()
                .collect();
            let sent = Content::new(&message).expect("no bare line ends").octets();
            prop_assert_eq!(read.len(), sent);
            prop_assert!(read.starts_with(&message));
            prop_assert!(!text.windows(5).any(|it| it == b"\r\n.\r\n"));
        }
    }
}
