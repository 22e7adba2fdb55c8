//! The messages of a run: one text of 2 KiB, with its number changed in place.

/// The header and body of a message, without the end of data.
pub const BYTES: usize = 2 << 10;
/// Every number has that many digits, so that all messages have one length.
const DIGITS: usize = 9;
const LINE: &str = "Thank you for your order. We have packed it and it leaves our house today.\r\n";
const END: &[u8] = b"\r\n.\r\n";

/// A message and its envelope.
#[derive(Debug, Clone)]
pub struct Letter {
    envelope: Numbered,
    content: Numbered,
}

#[derive(Debug, Clone)]
struct Numbered {
    text: Vec<u8>,
    places: Vec<usize>,
}

impl Letter {
    /// From this address; `hold` is a header field that keeps the server from delivering it, or
    /// nothing.
    pub fn new(from: &str, hold: &str) -> Self {
        let number = "0".repeat(DIGITS);
        let to = format!("load-{number}@example.com");
        let mut text = format!(
            "From: Load <{from}>\r\nTo: {to}\r\nSubject: Your order {number}\r\n\
             Date: Thu, 01 Jan 2026 00:00:00 +0000\r\nMessage-ID: <{number}@load.example>\r\n\
             MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
        );
        text.extend(std::iter::repeat_n(LINE, BYTES / LINE.len()));
        text.truncate(BYTES - 2);
        // A cut between CR and LF would leave a bare one.
        let mut text = text.trim_end().to_owned();
        text.extend(std::iter::repeat_n('.', BYTES - text.len()));
        let mut content = [hold, &text].concat().into_bytes();
        content.extend(END);
        let envelope = format!("MAIL FROM:<{from}>\r\nRCPT TO:<{to}>\r\nDATA\r\n");
        Self {
            envelope: Numbered::new(envelope.into_bytes(), number.as_bytes()),
            content: Numbered::new(content, number.as_bytes()),
        }
    }

    /// Makes it another message.
    pub fn number(&mut self, number: u32) {
        let digits = format!("{number:0>DIGITS$}");
        self.envelope.write(digits.as_bytes());
        self.content.write(digits.as_bytes());
    }

    /// MAIL, RCPT and DATA.
    pub fn envelope(&self) -> &[u8] {
        &self.envelope.text
    }

    /// What follows, to the end of data.
    pub fn content(&self) -> &[u8] {
        &self.content.text
    }
}

impl Numbered {
    fn new(text: Vec<u8>, number: &[u8]) -> Self {
        let windows = text.windows(number.len()).enumerate();
        let places = windows.filter(|(_, window)| *window == number).map(|(at, _)| at).collect();
        Self { text, places }
    }

    fn write(&mut self, digits: &[u8]) {
        for at in &self.places {
            self.text[*at..*at + digits.len()].copy_from_slice(digits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_has_2_kib_of_whole_lines() {
        let letter = Letter::new("hello@sandbox.test", "");
        assert_eq!(letter.content().len(), BYTES + END.len());
        let text = str::from_utf8(letter.content()).expect("text");
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
        assert_eq!(text.matches('\r').count(), text.matches("\r\n").count());
        assert!(text.lines().all(|line| line == "." || !line.starts_with('.')), "{text}");
    }

    #[test]
    fn a_number_stands_wherever_it_matters() {
        let mut letter = Letter::new("hello@sandbox.test", "X-Hold: 1\r\n");
        letter.number(4_711);
        let text = str::from_utf8(letter.content()).expect("text");
        assert!(text.starts_with("X-Hold: 1\r\nFrom: "), "{text}");
        assert_eq!(text.matches("000004711").count(), 3, "{text}");
        let envelope = str::from_utf8(letter.envelope()).expect("text");
        assert!(envelope.contains("RCPT TO:<load-000004711@example.com>\r\n"), "{envelope}");
    }
}
