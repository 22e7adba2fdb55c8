//! Names: from text to the wire and back.

use hickory_resolver::proto::rr::Name;

/// The longest name, without its last dot (RFC 1035 section 2.3.4).
const MAX_NAME: usize = 253;
/// The longest label.
const MAX_LABEL: usize = 63;

/// An absolute name, or nothing where there can be none. The root is not queried.
pub(super) fn askable(text: &str) -> Option<Name> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let well_formed = text.len() <= MAX_NAME
        && text.bytes().all(|it| it.is_ascii_graphic())
        && text.split('.').all(|label| (1..=MAX_LABEL).contains(&label.len()));
    if !well_formed {
        return None;
    }
    // By labels, not as text: no escape is read, no search domain appended.
    let mut name = Name::from_labels(text.split('.').map(str::as_bytes)).ok()?.to_lowercase();
    name.set_fqdn(true);
    Some(name)
}

/// A name in its displayed form: lower case, without its last dot; the root as `.`.
pub(super) fn shown(name: &Name) -> String {
    let text = name.to_lowercase().to_ascii();
    match text.strip_suffix('.') {
        Some("") | None => text,
        Some(bare) => bare.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_absolute_lower_case_and_keep_underscores() {
        for (text, expected) in [
            ("Example.COM", "example.com"),
            ("example.com.", "example.com"),
            ("_dmarc.example.com", "_dmarc.example.com"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("com", "com"),
        ] {
            let name = askable(text).expect("askable");
            assert!(name.is_fqdn(), "{text}");
            assert_eq!(shown(&name), expected);
        }
        assert_eq!(shown(&Name::root()), ".");
    }

    #[test]
    fn what_cannot_be_a_name_is_not_asked() {
        let long_label = format!("{}.example", "a".repeat(64));
        let long_name = ["a".repeat(63).as_str(); 4].join(".");
        for text in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a b.example",
            "bücher.example",
            "a\0.b",
            &long_label,
            &long_name,
        ] {
            assert_eq!(askable(text), None, "{text:?}");
        }
        let longest = long_name.get(..MAX_NAME).expect("ASCII");
        assert!(askable(longest).is_some() && askable(&"a".repeat(63)).is_some());
    }
}
