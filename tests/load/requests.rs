//! The requests of a run: one text, with the recipient's number changed in place.

use std::io;

use serde_json::Value;

use crate::args::{Mode, Template};

/// Every recipient's number has that many digits, so that all requests have one length.
const DIGITS: usize = 9;

/// All requests to one server.
pub struct Requests {
    text: Vec<u8>,
    number_at: usize,
}

impl Requests {
    /// Requests with that key.
    pub async fn new(template: Template, mode: Mode, api_key: &str) -> io::Result<Self> {
        // Parsed and written again: a client's JSON has no line breaks.
        let data: Value = serde_json::from_str(template.data())?;
        let send_at = match mode {
            Mode::Deliver => String::new(),
            Mode::Hold => format!(r#","sendAt":"{}""#, in_an_hour().await?),
        };
        let slug = template.folder();
        let body = format!(
            r#"{{"to":"load-{:0>DIGITS$}@example.com","type":"EMAIL","template":"load-{slug}","data":{data}{send_at}}}"#,
            0
        );
        let head = format!(
            "POST /messages/send HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {api_key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let number_at = head.len() + r#"{"to":"load-"#.len();
        Ok(Self { text: [head, body].concat().into_bytes(), number_at })
    }

    /// A request of one's own, to be numbered by [`Requests::number`].
    pub fn copy(&self) -> Vec<u8> {
        self.text.clone()
    }

    /// Writes a recipient's number into a copy.
    pub fn number(&self, copy: &mut [u8], number: u32) {
        let digits = format!("{number:0>DIGITS$}");
        copy[self.number_at..self.number_at + DIGITS].copy_from_slice(digits.as_bytes());
    }
}

/// RFC 3339, by the system's own `date`.
pub async fn in_an_hour() -> io::Result<String> {
    let mut date = tokio::process::Command::new("date");
    let output = date.args(["--utc", "--date", "+1 hour", "+%FT%TZ"]).output().await?;
    String::from_utf8(output.stdout)
        .map(|text| text.trim().to_owned())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_number_changes_the_recipient_and_nothing_else() {
        let requests = Requests::new(Template::Line, Mode::Deliver, "key").await.expect("requests");
        let mut copy = requests.copy();
        requests.number(&mut copy, 4_711);
        let text = String::from_utf8(copy).expect("text");
        assert!(text.contains(r#"{"to":"load-000004711@example.com","type""#), "{text}");
        assert_eq!(text.len(), requests.text.len());
    }
}
