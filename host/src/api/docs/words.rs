//! Texts of the document: what stands in backticks is code.

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub is_code: bool,
}

/// The parts of a text, whose lines become one.
pub fn spans(text: &str) -> Vec<Span> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
    parts.map(|(index, part)| Span { text: part.to_owned(), is_code: index % 2 == 1 }).collect()
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
