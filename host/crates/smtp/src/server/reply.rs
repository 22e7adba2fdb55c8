//! Everything that the relay says: the only place with reply codes (RFC 5321, RFC 3463).
//!
//! A reply is ASCII, a line at most 512 octets long, and never holds a line break of its own.

mod list;

pub use list::{Reply, Topic};

/// Octets of a line with its CRLF (RFC 5321 section 4.5.3.1.5), at most.
const MAX_LINE_OCTETS: usize = 512;

/// One of the closed list of replies, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub reply: Reply,
    /// One text a line; without any, the reply's own text.
    pub lines: Vec<String>,
}

impl Answer {
    /// Appends the whole reply, with CRLF and the codes on each line.
    pub fn write(&self, output: &mut Vec<u8>) {
        match self.lines.split_last() {
            None => self.write_line(self.reply.text(), b' ', output),
            Some((last, before)) => {
                for line in before {
                    self.write_line(line, b'-', output);
                }
                self.write_line(last, b' ', output);
            }
        }
    }

    fn write_line(&self, text: &str, separator: u8, output: &mut Vec<u8>) {
        let start = output.len();
        output.extend_from_slice(self.reply.code().to_string().as_bytes());
        output.push(separator);
        if let Some(enhanced) = self.reply.enhanced() {
            output.extend_from_slice(enhanced.as_bytes());
            output.push(b' ');
        }
        let room = MAX_LINE_OCTETS - 2 - (output.len() - start);
        let printable = ascii(text);
        if printable.len() <= room {
            output.extend_from_slice(printable.as_bytes());
        } else {
            output.extend(printable.bytes().take(room - 3));
            output.extend_from_slice(b"...");
        }
        output.extend_from_slice(b"\r\n");
    }
}

/// ASCII: typographic quotes, dashes and ellipses become their plain forms, every other character a question mark.
fn ascii(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' => line.push(c),
            '…' => line.push_str("..."),
            '‘' | '’' => line.push('\''),
            '“' | '”' | '„' => line.push('"'),
            '‐' | '‑' | '–' | '—' => line.push('-'),
            '\u{a0}' => line.push(' '),
            _ => line.push('?'),
        }
    }
    line
}

impl Reply {
    /// This reply in other words than its own.
    #[must_use]
    pub fn with(self, text: impl Into<String>) -> Answer {
        Answer { reply: self, lines: vec![text.into()] }
    }

    /// The code word that its text begins with, as in `UNAUTHORIZED`; the name of a reply without one.
    #[must_use]
    pub fn name(self) -> String {
        let first = self.text().split(' ').next().unwrap_or_default();
        let is_word =
            first.len() > 1 && first.bytes().all(|it| it == b'_' || it.is_ascii_uppercase());
        if is_word && self.code() >= 400 { first.to_owned() } else { format!("{self:?}") }
    }

    /// Whether the server closes the session after this reply (RFC 5321 section 3.8).
    #[must_use]
    pub fn closes(self) -> bool {
        matches!(self.code(), 221 | 421)
    }

    /// Whether it is the answer to a wrong key.
    #[must_use]
    pub fn is_failed_login(self) -> bool {
        self.code() == 535
    }

    /// Whether it counts as an error of the client: after 20 of these the session ends.
    ///
    /// Refused messages and addresses are not counted: an application does not choose what its
    /// users type, and a hundred good recipients are not lost for twenty bad ones.
    #[must_use]
    pub fn is_misuse(self) -> bool {
        matches!(self.topic(), Topic::Login | Topic::Protocol) && self.code() >= 500
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, lines: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
