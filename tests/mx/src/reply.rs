//! What a server says, rightly or wrongly, and what it does then.

use std::fmt::Write as _;
use std::time::Duration;

/// An answer to one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub(crate) says: Says,
    pub(crate) pace: Pace,
    pub(crate) delay: Duration,
    pub(crate) then: Then,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Says {
    Text(u16, String),
    Octets(Vec<u8>),
    EndlessLines(u16),
    EndlessLine(u16),
    Nothing,
    NeverAnything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    AtOnce,
    OctetByOctet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Stay,
    Close,
}

impl Reply {
    /// A reply in good form; line breaks in `text` make it one of several lines. After 421 the
    /// server closes.
    #[must_use]
    pub fn new(code: u16, text: &str) -> Self {
        let reply = Self::of(Says::Text(code, text.to_owned()));
        if code == 421 { reply.then_close() } else { reply }
    }

    /// Exactly these octets. It has the effect of the code that they begin with.
    #[must_use]
    pub fn octets(octets: &[u8]) -> Self {
        Self::of(Says::Octets(octets.to_vec()))
    }

    /// A code and a text, and the line does not end.
    #[must_use]
    pub fn without_line_end(code: u16, text: &str) -> Self {
        Self::octets(format!("{code} {text}").as_bytes())
    }

    /// One more line, and one more.
    #[must_use]
    pub fn endless_lines(code: u16) -> Self {
        Self::of(Says::EndlessLines(code))
    }

    /// One line, longer and longer.
    #[must_use]
    pub fn endless_line(code: u16) -> Self {
        Self::of(Says::EndlessLine(code))
    }

    /// The connection is cut without a word.
    #[must_use]
    pub fn cut() -> Self {
        Self::of(Says::Nothing).then_close()
    }

    /// Nothing is said, and the connection stays, until the server is given another behaviour:
    /// then that is asked.
    #[must_use]
    pub fn silence() -> Self {
        Self::of(Says::NeverAnything)
    }

    /// The connection is closed behind it.
    #[must_use]
    pub fn then_close(self) -> Self {
        Self { then: Then::Close, ..self }
    }

    /// Written octet by octet, each in a packet of its own.
    #[must_use]
    pub fn octet_by_octet(self) -> Self {
        Self { pace: Pace::OctetByOctet, ..self }
    }

    /// After so much time of the system's clock.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// The code that it begins with, which decides what it does.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match &self.says {
            Says::Text(code, _) | Says::EndlessLines(code) | Says::EndlessLine(code) => Some(*code),
            Says::Octets(octets) => {
                let digits = octets.first_chunk::<3>()?;
                std::str::from_utf8(digits).ok()?.parse().ok()
            }
            Says::Nothing | Says::NeverAnything => None,
        }
    }

    /// A line with an enhanced code in the text, such as `2.0.0 ok`.
    pub(crate) fn ok() -> Self {
        Self::new(250, "2.0.0 ok")
    }

    /// What goes over the wire, where that has an end.
    pub(crate) fn wire(&self) -> Vec<u8> {
        match &self.says {
            Says::Octets(octets) => octets.clone(),
            Says::Text(code, text) => {
                let lines: Vec<&str> = text.split('\n').collect();
                let mut wire = String::with_capacity(text.len() + 8 * lines.len());
                for (index, line) in lines.iter().enumerate() {
                    let mark = if index + 1 == lines.len() { ' ' } else { '-' };
                    write!(wire, "{code}{mark}{line}\r\n").expect("a string takes everything");
                }
                wire.into_bytes()
            }
            Says::EndlessLines(_) | Says::EndlessLine(_) | Says::Nothing | Says::NeverAnything => {
                Vec::new()
            }
        }
    }

    fn of(says: Says) -> Self {
        Self { says, pace: Pace::AtOnce, delay: Duration::ZERO, then: Then::Stay }
    }
}

/// Whether a code says yes: 2xx, and 3xx where more is to come.
pub(crate) fn is_positive(code: Option<u16>) -> bool {
    code.is_some_and(|code| (200..400).contains(&code))
}
