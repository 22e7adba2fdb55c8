//! DNS records as lines of a zone file (RFC 1035 section 5), which every DNS provider's import and every name server read.

use std::fmt::Write as _;

/// The longest string of a TXT record (RFC 1035 section 3.3).
const TXT_STRING_BYTES: usize = 255;

/// The line of one record in a zone file. `name`, and a host name at the end of `value`, may lack the final dot; the text of a
/// TXT record is given without quotation marks.
#[must_use]
pub fn line(name: &str, kind: &str, value: &str) -> String {
    let name = name.trim_end_matches('.');
    let value = match kind {
        "TXT" => strings(value),
        "CNAME" | "MX" | "NS" | "PTR" => format!("{}.", value.trim_end_matches('.')),
        _ => value.to_owned(),
    };
    format!("{name}. 3600 IN {kind} {value}")
}

fn strings(text: &str) -> String {
    let chunks = text.as_bytes().chunks(TXT_STRING_BYTES);
    let quoted: Vec<String> = chunks.map(|it| format!("\"{}\"", escaped(it))).collect();
    quoted.join(" ")
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                let _infallible = write!(text, "\\{byte:03}");
            }
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_in_strings_of_at_most_255_octets() {
        let shown = line("s1._domainkey.example.org", "TXT", &"k".repeat(410));
        let (one, two) = ("k".repeat(255), "k".repeat(155));
        assert_eq!(shown, format!("s1._domainkey.example.org. 3600 IN TXT \"{one}\" \"{two}\""));
    }

    #[test]
    fn what_a_string_cannot_hold_as_it_is_is_escaped() {
        let shown = line("example.org", "TXT", "a\"b\\c é");
        assert_eq!(shown, r#"example.org. 3600 IN TXT "a\"b\\c \195\169""#);
    }

    #[test]
    fn each_name_ends_with_one_dot() {
        for target in ["bounce.example.net", "bounce.example.net."] {
            let shown = line("bounce.example.org.", "CNAME", target);
            assert_eq!(shown, "bounce.example.org. 3600 IN CNAME bounce.example.net.");
        }
        assert_eq!(line("a.example.org", "A", "192.0.2.1"), "a.example.org. 3600 IN A 192.0.2.1");
    }
}
