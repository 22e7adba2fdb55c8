//! Texts in which what stands in backticks is code.

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub is_code: bool,
}

/// The parts of a text, whose lines become one.
#[must_use]
pub fn spans(text: &str) -> Vec<Span> {
    marked(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The parts of a text. A backtick without a second one is text.
#[must_use]
pub fn marked(text: &str) -> Vec<Span> {
    let (mut spans, mut rest) = (Vec::new(), text);
    let mut push = |text: &str, is_code| {
        if !text.is_empty() {
            spans.push(Span { text: text.to_owned(), is_code });
        }
    };
    while let Some((before, behind)) = rest.split_once('`')
        && let Some((code, after)) = behind.split_once('`')
    {
        push(before, false);
        push(code, true);
        rest = after;
    }
    push(rest, false);
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_backticks_is_code() {
        let found = spans("`BAD_REQUEST`: all\n  faults, see `errors`");
        let found: Vec<(&str, bool)> =
            found.iter().map(|it| (it.text.as_str(), it.is_code)).collect();
        let wanted = [("BAD_REQUEST", true), (": all faults, see ", false), ("errors", true)];
        assert_eq!(found, wanted);
        assert_eq!(spans(""), []);
    }
}
