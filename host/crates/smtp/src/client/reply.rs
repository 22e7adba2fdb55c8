//! A server's reply (RFC 5321 section 4.2) and its enhanced status code (RFC 3463).

use std::fmt;

use waxwing_mail::status::{EnhancedCode, StatusClass};

use super::reader::ReplyLines;

/// Characters of a reply's text that are kept, at most.
const MAX_TEXT: usize = 1_000;

/// What a server says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Its code, 200 to 599.
    pub code: u16,
    /// Its enhanced status code, as in `5.1.1`, where its class is that of the code.
    pub enhanced: Option<EnhancedCode>,
    /// Its lines, joined by spaces, without the codes: at most 1,000 characters, none a control.
    pub text: String,
}

impl Reply {
    /// Whether it is 421: the server closes the connection, whatever the command was (RFC 5321 section 3.8).
    #[must_use]
    pub fn closes_connection(&self) -> bool {
        self.code == 421
    }

    #[must_use]
    pub fn is_positive(&self) -> bool {
        self.code < 300
    }

    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.code >= 400
    }
}

impl From<ReplyLines> for Reply {
    fn from(lines: ReplyLines) -> Self {
        let first = lines.texts.first().map(String::as_str).unwrap_or_default();
        let word = first.split(' ').next().unwrap_or_default();
        let enhanced = enhanced(word, lines.code);
        let mut text = String::new();
        for line in &lines.texts {
            // Many servers repeat it on each line.
            let rest = enhanced.and_then(|_| line.strip_prefix(word)).unwrap_or(line).trim();
            if !text.is_empty() && !rest.is_empty() {
                text.push(' ');
            }
            text.push_str(rest);
        }
        if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
            text.truncate(end);
        }
        Self { code: lines.code, enhanced, text }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(enhanced) = self.enhanced {
            write!(f, " {enhanced}")?;
        }
        if self.text.is_empty() { Ok(()) } else { write!(f, " {}", self.text) }
    }
}

/// The enhanced code that a reply begins with, where its class is that of the reply's code.
fn enhanced(word: &str, code: u16) -> Option<EnhancedCode> {
    let class = match code {
        200..300 => StatusClass::Success,
        400..500 => StatusClass::Temporary,
        500..600 => StatusClass::Permanent,
        _ => return None,
    };
    word.parse().ok().filter(|it: &EnhancedCode| it.class() == class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(code: u16, lines: &[&str]) -> Reply {
        Reply::from(ReplyLines { code, texts: lines.iter().map(|&it| it.to_owned()).collect() })
    }

    #[test]
    fn an_enhanced_code_is_taken_from_the_first_line() {
        let reply =
            reply(550, &["5.1.1 The account", "5.1.1 does not exist.", "", "https://x/?p=1 "]);
        assert_eq!(reply.enhanced, "5.1.1".parse().ok());
        assert_eq!(reply.text, "The account does not exist. https://x/?p=1");
        assert_eq!(reply.to_string(), "550 5.1.1 The account does not exist. https://x/?p=1");
    }

    #[test]
    fn what_only_looks_like_an_enhanced_code_is_text() {
        for (code, line) in [
            (550, "4.1.1 other class"),
            (354, "3.0.0 no class of that name"),
            (550, "5.1 short"),
            (550, "5.1.1.1 long"),
            (550, "5.1000.1 wide"),
            (550, "5..1 empty"),
            (550, "05.1.1 padded"),
            (550, "5.1.1, with a comma"),
            (550, "5.1.x"),
            (550, ""),
        ] {
            let reply = reply(code, &[line]);
            assert_eq!(reply.enhanced, None, "{line}");
            assert_eq!(reply.text, line);
        }
        assert_eq!(reply(250, &["2.0.0"]).enhanced, "2.0.0".parse().ok());
        assert_eq!(reply(452, &["4.5.100 x"]).enhanced, "4.5.100".parse().ok());
        assert_eq!(reply(250, &[""]).to_string(), "250");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let reply = reply(550, &["ü".repeat(900).as_str(), "ü".repeat(900).as_str()]);
        assert_eq!(reply.text.chars().count(), MAX_TEXT);
    }
}
