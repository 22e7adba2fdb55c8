//! The diagnostic of a report: in one line, and the reply of the refusing server in it.

use crate::status::EnhancedCode;

/// Longest diagnostic that is kept, in characters.
const MAX_DIAGNOSTIC_CHARS: usize = 1_000;

/// The SMTP reply that a diagnostic quotes: its code, its enhanced code and its text. Other text may stand before it.
pub(super) fn reply(diagnostic: &str) -> (Option<u16>, Option<EnhancedCode>, &str) {
    let diagnostic = quoted_reply(diagnostic).unwrap_or(diagnostic);
    let digits = diagnostic.split_at_checked(3).filter(|(code, rest)| {
        code.bytes().all(|it| it.is_ascii_digit())
            && rest.chars().next().is_none_or(|it| it == ' ' || it == '-')
    });
    let (code, text) = match digits {
        Some((code, rest)) => (code.parse().ok(), rest.trim_start_matches(['-', ' ', '\'', ':'])),
        None => (None, diagnostic),
    };
    (code, EnhancedCode::find(text), text)
}

/// A diagnostic in one line without control characters; none if there is nothing left.
pub(super) fn tidy(text: &str) -> Option<String> {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = printable.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(MAX_DIAGNOSTIC_CHARS).collect();
    (!line.is_empty()).then_some(line)
}

/// From the first permanent (5xx) reply in a text to its end: `550 No such user`, `550-5.1.1 …`.
pub(super) fn quoted_reply(text: &str) -> Option<&str> {
    for (at, _) in text.match_indices('5') {
        let begins = text.get(..at).and_then(|it| it.chars().next_back());
        let alone = begins.is_none_or(|it| !it.is_alphanumeric() && !matches!(it, '.' | '-' | '@'));
        let rest = text.get(at..).unwrap_or_default();
        let bytes = rest.as_bytes();
        let code = matches!(bytes, [b'5', b'0'..=b'7', b'0'..=b'9', b' ' | b'-', ..]);
        // A mere number is no reply: text or an enhanced code follows one.
        let follows = rest.get(4..).and_then(|it| it.chars().next());
        if alone && code && follows.is_some_and(|it| it.is_alphabetic() || "5<'\":*#".contains(it))
        {
            return Some(rest);
        }
    }
    None
}
