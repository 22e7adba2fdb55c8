//! Text on one line: which characters a name may have, and how text that others have written is shown.
//!
//! Unicode's embeddings, overrides and isolates (UAX 9) turn the direction of the text beside them: a name with such a
//! character reads as another name, and in a list the text after the name is turned, too.

/// How a refusal says what [`is_one_line`] asks of a name.
pub const ONE_LINE: &str = "on one line, without characters that turn the direction of text";

/// Whether a character ends a line, steers a terminal, or turns the direction of the text beside it.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a text is one line that everybody reads in the order in which it is written.
#[must_use]
pub fn is_one_line(text: &str) -> bool {
    !text.chars().any(is_unsafe)
}

/// A text as it is safe in a page, a log or a terminal: on one line, with U+FFFD in place of what is unsafe.
#[must_use]
pub fn printable(text: &str) -> String {
    let shown = |c: char| if matches!(c, '\t' | '\r' | '\n') { ' ' } else { visible(c) };
    text.chars().map(shown).collect()
}

/// As [`printable`], for a text of several lines: line feeds and tabs stay.
#[must_use]
pub fn printable_lines(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' | '\n' => c,
        '\r' => ' ',
        c => visible(c),
    };
    text.chars().map(shown).collect()
}

/// Nobody sees the marks of direction (U+200E, U+200F): what a stranger has written is shown without them.
fn visible(c: char) -> char {
    if is_unsafe(c) || matches!(c, '\u{200e}' | '\u{200f}') {
        char::REPLACEMENT_CHARACTER
    } else {
        c
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_turns_no_text_around_and_ends_no_line() {
        for name in ["Acme", "Müller & Söhne", "日本 🐦", "\u{5d0}\u{5d1}\u{200f} 12", ""] {
            assert!(is_one_line(name), "{name:?}");
        }
        let turning = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}');
        for c in turning.chain(['\0', '\n', '\r', '\t', '\u{1b}', '\u{85}', '\u{2028}', '\u{2029}'])
        {
            assert!(!is_one_line(&format!("Acme{c}moc")), "{c:?}");
        }
    }

    #[test]
    fn what_a_stranger_wrote_is_shown_without_what_is_unsafe() {
        let text = "a\u{1b}[31m\tb\0\u{202e}\u{85}c\r\nd";
        assert_eq!(printable(text), "a\u{fffd}[31m b\u{fffd}\u{fffd}\u{fffd}c  d");
        assert_eq!(printable_lines(text), "a\u{fffd}[31m\tb\u{fffd}\u{fffd}\u{fffd}c \nd");
    }

    proptest! {
        #[test]
        fn what_is_printable_is_one_line(text: String) {
            prop_assert!(is_one_line(&printable(&text)));
            prop_assert!(printable_lines(&text).split(['\n', '\t']).all(is_one_line));
        }
    }
}
