//! Record data as text: out of its quotes, for people to read, and names to compare.

/// The most characters of one record that a finding repeats.
const SHOWN_CHARS: usize = 512;

/// TXT data as one text. Accepts the plain text and the presentation form of RFC 1035 section 5.1,
/// `"one " "two"`, whose strings are joined without a space (RFC 7208 section 3.3).
#[must_use]
pub fn unquoted(data: &str) -> String {
    let trimmed = data.trim();
    if trimmed.len() < 2 || !trimmed.starts_with('"') || !trimmed.ends_with('"') {
        return data.to_owned();
    }
    let mut text = String::with_capacity(trimmed.len());
    let mut inside = false;
    let mut chars = trimmed.chars().peekable();
    while let Some(next) = chars.next() {
        match next {
            '"' => inside = !inside,
            '\\' if inside => {
                let mut code = 0;
                let mut digits = 0;
                while digits < 3
                    && let Some(digit) = chars.peek().and_then(|it| it.to_digit(10))
                {
                    code = code * 10 + digit;
                    digits += 1;
                    chars.next();
                }
                let escaped = if digits == 0 { chars.next() } else { char::from_u32(code) };
                text.extend(escaped);
            }
            _ if inside => text.push(next),
            _ => {}
        }
    }
    text
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
