//! Record data as text and back (RFC 1035 section 5.1).

use std::fmt::Write as _;
use std::str;

use hickory_resolver::proto::rr::RData;

use super::name::shown;

/// The presentation form; nothing for a type that is not queried.
pub(super) fn presentation(data: &RData) -> Option<String> {
    if let RData::TXT(txt) = data {
        return Some(quoted(&txt.txt_data));
    }
    if let RData::MX(mx) = data {
        return Some(format!("{} {}", mx.preference, shown(&mx.exchange)));
    }
    if let RData::SRV(srv) = data {
        let target = shown(&srv.target);
        return Some(format!("{} {} {} {target}", srv.priority, srv.weight, srv.port));
    }
    if let RData::CAA(caa) = data {
        return Some(format!("{} {} {}", caa.flags(), caa.tag, quoted(&[&caa.value])));
    }
    if let RData::CNAME(_) | RData::NS(_) | RData::PTR(_) = data {
        return target(data);
    }
    if let RData::A(_) | RData::AAAA(_) | RData::TLSA(_) = data {
        return Some(data.to_string().to_ascii_lowercase());
    }
    None
}

fn target(data: &RData) -> Option<String> {
    if let RData::CNAME(cname) = data {
        Some(shown(&cname.0))
    } else if let RData::NS(ns) = data {
        Some(shown(&ns.0))
    } else if let RData::PTR(ptr) = data {
        Some(shown(&ptr.0))
    } else {
        None
    }
}

/// Strings in quotes, one pair for each. Text that is UTF-8 as a whole stays readable, a character
/// that two strings share standing in the first of them; of any other text, what is not printable
/// ASCII is `\DDD`, byte by byte.
pub(super) fn quoted<T: AsRef<[u8]>>(strings: &[T]) -> String {
    let whole: Vec<u8> = strings.iter().flat_map(AsRef::as_ref).copied().collect();
    let readable = str::from_utf8(&whole).ok();
    let mut quoted = String::with_capacity(whole.len() + 3 * strings.len());
    let mut rest = readable.unwrap_or_default();
    let mut end = 0;
    for string in strings {
        let string = string.as_ref();
        end += string.len();
        quoted.push_str(if quoted.is_empty() { "\"" } else { " \"" });
        if readable.is_some() {
            let taken = whole.len() - rest.len();
            let part = rest.get(..boundary(rest, end.saturating_sub(taken))).unwrap_or_default();
            rest = rest.strip_prefix(part).unwrap_or_default();
            for next in part.chars() {
                push_char(&mut quoted, next);
            }
        } else {
            for byte in string {
                push_byte(&mut quoted, *byte);
            }
        }
        quoted.push('"');
    }
    quoted
}

/// The first boundary of characters at or after `index`.
fn boundary(text: &str, index: usize) -> usize {
    (index..text.len()).find(|it| text.is_char_boundary(*it)).unwrap_or(text.len())
}

fn push_char(text: &mut String, next: char) {
    match u8::try_from(next) {
        Ok(byte) if byte.is_ascii() => push_byte(text, byte),
        Ok(_) | Err(_) => text.push(next),
    }
}

fn push_byte(text: &mut String, byte: u8) {
    match byte {
        b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
        b' '..=b'~' => text.push(char::from(byte)),
        _ => write!(text, "\\{byte:03}").expect("a string takes all that is written"),
    }
}

/// The bytes of a TXT record from its presentation form, its strings joined (RFC 7208 section 3.3).
/// Data without quotes is taken unchanged.
#[must_use]
pub fn text(data: &str) -> Vec<u8> {
    if !data.starts_with('"') {
        return data.as_bytes().to_vec();
    }
    let mut bytes = Vec::with_capacity(data.len());
    let mut inside = false;
    let mut rest = data.as_bytes();
    while let Some((next, after)) = rest.split_first() {
        rest = after;
        match next {
            b'"' => inside = !inside,
            b'\\' if inside => {
                let (byte, after) = escaped(rest);
                bytes.extend(byte);
                rest = after;
            }
            _ if inside => bytes.push(*next),
            _ => {}
        }
    }
    bytes
}

/// What follows a backslash: three digits, or a byte that stands for itself.
fn escaped(rest: &[u8]) -> (Option<u8>, &[u8]) {
    let code = rest.split_at_checked(3).and_then(|(digits, after)| {
        let digits =
            str::from_utf8(digits).ok().filter(|it| it.bytes().all(|b| b.is_ascii_digit()));
        Some((digits?.parse().ok()?, after))
    });
    match code {
        Some((byte, after)) => (Some(byte), after),
        None => rest.split_first().map_or((None, rest), |(byte, after)| (Some(*byte), after)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn strings_stand_in_quotes_and_are_escaped() {
        let cases: [(&[&[u8]], &str); 8] = [
            (&[b"v=spf1 -all"], r#""v=spf1 -all""#),
            (&[b"one ", b"two"], r#""one " "two""#),
            (&[b""], r#""""#),
            (&[b"", b"x", b""], r#""" "x" """#),
            (&[b"a\"b\\c"], r#""a\"b\\c""#),
            (&["schön\n".as_bytes()], r#""schön\010""#),
            (&["schön".as_bytes(), b"\xff"], r#""sch\195\182n" "\255""#),
            (&[b"sch\xc3", b"\xb6n"], r#""schö" "n""#),
        ];
        for (strings, expected) in cases {
            assert_eq!(quoted(strings), expected);
            assert_eq!(text(expected), strings.concat());
        }
    }

    #[test]
    fn a_character_over_several_strings_stands_in_the_first() {
        let strings: [&[u8]; 4] = [b"\xf0", b"\x9f", b"\x98", b"\x80!"];
        assert_eq!(quoted(&strings), r#""😀" "" "" "!""#);
    }

    #[test]
    fn foreign_presentations_are_read_too() {
        assert_eq!(text("plain"), b"plain");
        assert_eq!(text(r#""a\;b""#), b"a;b");
        assert_eq!(text(r#""a" ignored "b""#), b"ab");
        assert_eq!(text(r#""\999""#), b"999");
        assert_eq!(text(r#""open\"#), b"open");
    }

    proptest! {
        #[test]
        fn the_bytes_come_back(strings: Vec<Vec<u8>>) {
            prop_assert_eq!(text(&quoted(&strings)), strings.concat());
        }

        #[test]
        fn the_bytes_of_readable_text_come_back(whole in ".{0,40}", cuts in prop::collection::vec(1usize..9, 1..9)) {
            let mut rest = whole.as_bytes();
            let mut strings = Vec::new();
            for cut in cuts {
                let (string, after) = rest.split_at(cut.min(rest.len()));
                strings.push(string);
                rest = after;
            }
            strings.push(rest);
            let shown = quoted(&strings);
            prop_assert_eq!(text(&shown), whole.as_bytes());
            prop_assert!(!shown.contains(['\n', '\r', '\0']));
        }
    }
}
