//! The requests of a run: a text for each template, with the recipient's number changed in place.

use std::io;

use serde_json::Value;

use crate::args::{Mode, Template};

/// Every recipient's number has that many digits, so that all requests have one length.
const DIGITS: usize = 9;

pub const TEMPLATES_FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/load/templates");

/// All requests to one server.
pub struct Requests(Vec<Text>);

struct Text {
    bytes: Vec<u8>,
    number_at: usize,
}

impl Requests {
    /// Requests with that key.
    pub async fn new(template: Template, mode: Mode, api_key: &str) -> io::Result<Self> {
        let slug = format!("load-{}", template.folder());
        Self::of_templates(template, mode, &[(api_key, slug)]).await
    }

    /// Requests with keys and the slugs of templates that take the same data, in an order like a random one.
    pub async fn of_templates(
        template: Template,
        mode: Mode,
        templates: &[(&str, String)],
    ) -> io::Result<Self> {
        // Parsed and written again: a client's JSON has no line breaks.
        let data: Value = serde_json::from_str(template.data())?;
        let send_at = match mode {
            Mode::Deliver => String::new(),
            Mode::Hold => format!(r#","sendAt":"{}""#, in_an_hour().await?),
        };
        Ok(Self(templates.iter().map(|of| Text::new(of, &data, &send_at)).collect()))
    }

    /// Whom the request of that number is to.
    pub fn recipient(number: u32) -> String {
        format!("load-{number:0>DIGITS$}@example.com")
    }

    /// Writes the request of that number.
    pub fn write(&self, number: u32, request: &mut Vec<u8>) {
        // Multiplied by the golden ratio of 2^64, neighbours are far from each other.
        let spread = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let text = &self.0[usize::try_from(spread).unwrap_or_default() % self.0.len()];
        request.clone_from(&text.bytes);
        let digits = format!("{number:0>DIGITS$}");
        request[text.number_at..text.number_at + DIGITS].copy_from_slice(digits.as_bytes());
    }
}

impl Text {
    fn new((api_key, slug): &(&str, String), data: &Value, send_at: &str) -> Self {
        let body = format!(
            r#"{{"to":"load-{:0>DIGITS$}@example.com","type":"EMAIL","template":"{slug}","data":{data}{send_at}}}"#,
            0
        );
        let head = format!(
            "POST /messages/send HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {api_key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let number_at = head.len() + r#"{"to":"load-"#.len();
        Self { bytes: [head, body].concat().into_bytes(), number_at }
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
        let mut request = Vec::new();
        requests.write(4_711, &mut request);
        let text = String::from_utf8(request).expect("text");
        assert!(text.contains(r#"{"to":"load-000004711@example.com","type""#), "{text}");
        assert_eq!(text.len(), requests.0[0].bytes.len());
    }
}
