//! Record data as text: out of its quotes, for people to read, and names to compare.

/// The most characters of one record that a finding repeats.
const SHOWN_CHARS: usize = 512;

/// The most characters of one record that a sentence repeats.
const QUOTED_CHARS: usize = 80;

/// TXT data as one text. Accepts the plain text and the presentation form of RFC 1035 section 5.1,
/// `"one " "two"`, whose strings are joined without a space (RFC 7208 section 3.3). Bytes that are no
/// UTF-8 stay as `\DDD`.
#[must_use]
pub fn unquoted(data: &str) -> String {
    let trimmed = data.trim();
    if trimmed.len() < 2 || !trimmed.starts_with('"') || !trimmed.ends_with('"') {
        return data.to_owned();
    }
    let mut bytes = Vec::with_capacity(trimmed.len());
    let mut inside = false;
    let mut chars = trimmed.chars();
    while let Some(next) = chars.next() {
        match next {
            '"' => inside = !inside,
            '\\' if inside => {
                let rest = chars.as_str();
                if let Some(byte) = rest.get(..3).and_then(decimal) {
                    bytes.push(byte);
                    chars = rest.get(3..).unwrap_or_default().chars();
                } else if let Some(escaped) = chars.next() {
                    push(&mut bytes, escaped);
                }
            }
            _ if inside => push(&mut bytes, next),
            _ => {}
        }
    }
    readable(&bytes)
}

fn push(bytes: &mut Vec<u8>, it: char) {
    bytes.extend_from_slice(it.encode_utf8(&mut [0; 4]).as_bytes());
}

/// `DDD` of an escape.
fn decimal(digits: &str) -> Option<u8> {
    digits.bytes().all(|it| it.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// A character may be cut by the end of a string, so text is made of the joined bytes only.
fn readable(bytes: &[u8]) -> String {
    let piece = |it: std::str::Utf8Chunk<'_>| {
        let escapes = it.invalid().iter().map(|byte| format!("\\{byte:03}"));
        std::iter::once(it.valid().to_owned()).chain(escapes).collect::<String>()
    };
    bytes.utf8_chunks().map(piece).collect()
}

/// Records inside a sentence: the first one, shortened, and how many more there are.
#[must_use]
pub fn quoted(records: &[String]) -> String {
    let Some(first) = records.first() else { return "nothing".to_owned() };
    let text = shown(first);
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(QUOTED_CHARS).collect();
    let cut = if chars.next().is_some() { "…" } else { "" };
    match records.len() {
        1 if start.is_empty() => "an empty text".to_owned(),
        1 => format!("`{start}{cut}`"),
        several => format!("`{start}{cut}` and {} more", several - 1),
    }
}

/// Data for a finding: one line, of bounded length.
#[must_use]
pub fn shown(data: &str) -> String {
    let mut chars = data.chars();
    let mut text: String =
        chars.by_ref().take(SHOWN_CHARS).map(|it| if it.is_control() { ' ' } else { it }).collect();
    if chars.next().is_some() {
        text.push('…');
    }
    text
}

/// Host names are equal whatever their case and with or without the last dot (RFC 4343).
#[must_use]
pub fn same_host(one: &str, other: &str) -> bool {
    bare(one).eq_ignore_ascii_case(bare(other))
}

/// Whether `name` is `domain` or below it.
#[must_use]
pub fn is_within(name: &str, domain: &str) -> bool {
    let (name, domain) = (bare(name).to_ascii_lowercase(), bare(domain).to_ascii_lowercase());
    name == domain || name.strip_suffix(&domain).is_some_and(|it| it.ends_with('.'))
}

/// A host name without white space and without its last dot.
#[must_use]
pub fn bare(name: &str) -> &str {
    let name = name.trim();
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_strings_are_joined_without_a_space() {
        assert_eq!(unquoted(r#""v=DKIM1; p=MII" "BIj""#), "v=DKIM1; p=MIIBIj");
        assert_eq!(unquoted(r#" "one" "#), "one");
        assert_eq!(unquoted(r#""""#), "");
    }

    #[test]
    fn escapes_count_inside_quotes_only() {
        assert_eq!(unquoted(r#""v=DKIM1\; a\"b\\c\032d""#), r#"v=DKIM1; a"b\c d"#);
        assert_eq!(unquoted(r"v=DKIM1\; p=x"), r"v=DKIM1\; p=x");
        assert_eq!(unquoted(r#"""#), r#"""#);
        assert_eq!(unquoted(r#""a\""#), r#"a""#);
    }

    #[test]
    fn bytes_are_characters_only_where_they_are_utf_8() {
        assert_eq!(unquoted(r#""caf\195" "\169""#), "café");
        assert_eq!(unquoted("\"café\""), "café");
        assert_eq!(unquoted(r#""caf\233 \255""#), r"caf\233 \255");
        assert_eq!(unquoted(r#""\300\4""#), "3004");
    }

    #[test]
    fn quotes_that_are_part_of_the_value_stay() {
        assert_eq!(unquoted(r#""\"v=spf1 -all\"""#), r#""v=spf1 -all""#);
        assert_eq!(unquoted(r#""\"a" "b\"""#), r#""ab""#);
    }

    #[test]
    fn a_sentence_repeats_one_record_shortened() {
        let records =
            |all: &[&str]| quoted(&all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(records(&["a", "b", "c"]), "`a` and 2 more");
        assert_eq!((records(&[""]), records(&[])), ("an empty text".into(), "nothing".into()));
        assert_eq!(records(&[&"é".repeat(81)]), format!("`{}…`", "é".repeat(80)));
    }

    #[test]
    fn what_is_shown_has_one_line_and_a_bound() {
        assert_eq!(shown("a\r\nb"), "a  b");
        assert_eq!(shown(&"é".repeat(600)).chars().count(), SHOWN_CHARS + 1);
    }

    #[test]
    fn hosts_compare_without_case_and_last_dot() {
        assert!(same_host("RP.Example.com.", "rp.example.com"));
        assert!(!same_host("rp.example.com", "rp.example.org"));
        assert!(
            is_within("a.Example.com", "example.com.") && is_within("example.com", "example.com")
        );
        assert!(!is_within("notexample.com", "example.com"));
    }
}
