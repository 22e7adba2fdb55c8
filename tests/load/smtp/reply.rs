//! Replies (RFC 5321 section 4.2), read from bytes as they come.

use std::io;

/// A whole reply, all its lines.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    pub code: u16,
    pub text: &'a str,
}

/// The first reply of these bytes; none if not all of it is there.
pub fn first(bytes: &[u8]) -> io::Result<Option<Reply<'_>>> {
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.last() != Some(&b'\n') {
            return Ok(None);
        }
        end += line.len();
        if line.get(3) == Some(&b'-') {
            continue;
        }
        let text = str::from_utf8(&bytes[..end]).map_err(|_| malformed())?;
        let digits = str::from_utf8(&line[..line.len().min(3)]).map_err(|_| malformed())?;
        return Ok(Some(Reply { code: digits.parse().map_err(|_| malformed())?, text }));
    }
    Ok(None)
}

impl Reply<'_> {
    /// Whether a reply to EHLO names this extension.
    pub fn offers(&self, keyword: &str) -> bool {
        let words = self.text.lines().filter_map(|line| line.get(4..)?.split_whitespace().next());
        words.skip(1).any(|word| word.eq_ignore_ascii_case(keyword))
    }

    pub fn expect(&self, code: u16) -> io::Result<()> {
        if self.code == code {
            return Ok(());
        }
        let text = self.text.trim_end();
        Err(io::Error::other(format!("the server answers {text:?} where {code} was expected")))
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the server answers something that is no reply")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_ends_with_its_last_line() {
        let bytes = b"250-a.test\r\n250-PIPELINING\r\n250 SIZE 10\r\n354 go\r\n";
        let reply = first(bytes).expect("well formed").expect("whole");
        assert_eq!(reply.text.len() + "354 go\r\n".len(), bytes.len());
        assert_eq!(reply.code, 250);
        assert!(reply.offers("pipelining") && reply.offers("SIZE"));
        assert!(!reply.offers("a.test") && !reply.offers("10"));
    }

    #[test]
    fn half_a_reply_is_none() {
        for bytes in [&b""[..], b"250-a.test\r\n", b"250-a.test\r\n250 SI"] {
            assert_eq!(first(bytes).expect("well formed"), None);
        }
    }

    #[test]
    fn another_protocol_is_an_error() {
        assert!(first(b"HTTP/1.1 200 OK\r\n").is_err());
        assert!(first(b"\r\n").is_err());
    }

    #[test]
    fn an_unexpected_reply_is_told() {
        let reply = Reply { code: 451, text: "451 4.7.0 later\r\n" };
        let error = reply.expect(250).expect_err("another code").to_string();
        assert!(error.contains("451 4.7.0 later"), "{error}");
        assert!(reply.expect(451).is_ok());
    }
}
