//! Addresses as SMTP paths for the sandbox route, where both ends are ours.
//!
//! The inbox's parser (mailin) takes any UTF-8 between `<` and `>` but a space, a tab and the two
//! brackets, and it refuses the empty path. Those few are percent-encoded, and nothing else: an
//! ordinary address reads the same on the wire. Never use this towards a server that is not ours.

use crate::address::EmailAddress;

/// The bytes that mailin's parser does not take inside a path, and the one that escapes them.
const REFUSED: &[u8] = b" <>%\t";

/// Stands for the empty reverse path `<>`, which mailin's parser refuses.
pub const EMPTY: &str = "%";

/// The address as it stands between `<` and `>`.
#[must_use]
pub fn encode(address: &EmailAddress) -> String {
    escape(&address.to_string())
}

/// What [`encode`] was given. An escape that is not one of ours stays unchanged.
#[must_use]
pub fn decode(path: &str) -> String {
    if path == EMPTY {
        return String::new();
    }
    let mut parts = path.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (first, rest) = unescape(part).unwrap_or(('%', part));
        text.push(first);
        text.push_str(rest);
    }
    text
}

/// Escapes the bytes that are refused.
fn escape(text: &str) -> String {
    let mut path = String::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(c).ok().filter(|byte| REFUSED.contains(byte)) {
            Some(byte) => path.extend(format!("%{byte:02X}").chars()),
            None => path.push(c),
        }
    }
    path
}

/// The character that the two digits at the start of `part` stand for, and what follows them.
fn unescape(part: &str) -> Option<(char, &str)> {
    let (digits, rest) = part.split_at_checked(2)?;
    let byte = u8::from_str_radix(digits, 16).ok()?;
    REFUSED.contains(&byte).then_some((char::from(byte), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_ordinary_address_is_its_own_path() {
        for text in ["ada@example.com", "用户@xn--r8jz45g.example", "o'brien+tag@example.com"] {
            let address = text.parse::<EmailAddress>().expect("valid");
            assert_eq!(encode(&address), text);
        }
    }

    #[test]
    fn a_quoted_local_part_survives_the_path() {
        let address = "\"odd <100%> one\"@example.com".parse::<EmailAddress>().expect("valid");
        let path = encode(&address);
        assert_eq!(path, "\"odd%20%3C100%25%3E%20one\"@example.com");
        assert_eq!(decode(&path), address.to_string());
    }

    #[test]
    fn an_unknown_percent_escape_stays_as_it_is() {
        for path in ["50%", "50%2", "50%zz@example.com", "%41@example.com", "%€@example.com"] {
            let expected = if path == EMPTY { "" } else { path };
            assert_eq!(decode(path), expected);
        }
        assert_eq!(decode(EMPTY), "");
    }

    proptest! {
        #[test]
        fn every_text_comes_back_and_its_path_is_parsable(text in ".{2,60}") {
            let path = escape(&text);
            prop_assert_eq!(decode(&path), text);
            prop_assert!(!path.contains([' ', '<', '>', '\t']));
        }
    }
}
