//! Style sheets as far as a lint looks at them: comments, and what is for clients in the dark.

/// The style with blanks for its comments: places are the same.
pub fn without_comments(style: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(style.len()), style);
    while let Some((before, comment)) = rest.split_once("/*") {
        let length = comment.find("*/").map_or(comment.len(), |at| at + 2);
        let (comment, after) = comment.split_at(length);
        out.push_str(before);
        out.extend(std::iter::repeat_n(' ', 2 + comment.len()));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether a condition is about clients in the dark.
pub fn is_dark(condition: &str) -> bool {
    let is_kept = |c: &char| !c.is_whitespace();
    let condition: String = condition.chars().filter(is_kept).collect();
    condition.to_ascii_lowercase().contains("prefers-color-scheme:dark")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_blanks_and_say_nothing_of_the_dark() {
        assert_eq!(without_comments("a/*é*/b/**/c/* d"), "a      b    c    ");
        assert!(is_dark("@media (Prefers-Color-Scheme : dark)"));
        assert!(!is_dark("@media (prefers-color-scheme: light)"));
    }
}
