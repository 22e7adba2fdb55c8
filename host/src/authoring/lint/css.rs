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

/// What a lint looks at in a style sheet.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Declarations outside of `@media`, or in an `@media` that every screen matches, as `@media screen` is.
    Rule(&'a str),
    /// Declarations under `@media (prefers-color-scheme: dark)`.
    DarkRule(&'a str),
    /// `@import`.
    Import,
}

/// The pieces of a style sheet without comments, each with its place. What stands in other conditions (`@media`,
/// `@supports`) is for clients that understand more.
pub fn pieces(style: &str) -> Vec<(usize, Piece<'_>)> {
    let mut pieces = Vec::new();
    let (mut depth, mut skipped, mut start) = (0_u32, 0_u32, 0);
    let mut in_dark = false;
    for (at, c) in style.char_indices() {
        let before = style.get(start..at).unwrap_or_default();
        match c {
            '{' => {
                if skipped == 0 && before.contains('@') && !is_every_screen(before) {
                    skipped = depth + 1;
                    in_dark = is_dark(before);
                }
                depth += 1;
            }
            '}' => {
                if skipped == 0 {
                    pieces.push((start, Piece::Rule(before)));
                } else if in_dark {
                    pieces.push((start, Piece::DarkRule(before)));
                }
                if skipped == depth {
                    skipped = 0;
                }
                depth = depth.saturating_sub(1);
            }
            ';' if depth == 0 => {
                let statement = before.trim_start();
                if statement.to_ascii_lowercase().starts_with("@import") {
                    pieces.push((at - statement.len(), Piece::Import));
                }
            }
            _ => continue,
        }
        start = at + 1;
    }
    pieces
}

/// Whether a condition is met wherever mail is shown: `@media screen`, `@media all`.
fn is_every_screen(condition: &str) -> bool {
    let condition = condition.trim().to_ascii_lowercase();
    let Some(media) = condition.strip_prefix("@media") else { return false };
    let mut media = media.split(',').map(|it| it.trim().trim_start_matches("only ").trim());
    media.any(|it| matches!(it, "screen" | "all"))
}

/// Whether a condition is about clients in the dark.
pub fn is_dark(condition: &str) -> bool {
    let is_kept = |c: &char| !c.is_whitespace();
    let condition: String = condition.chars().filter(is_kept).collect();
    let condition = condition.to_ascii_lowercase();
    condition.contains("prefers-color-scheme:dark")
        && !condition.contains("not(")
        && !condition.contains("@medianot")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_sheet_is_rules_for_all_for_the_dark_and_imports() {
        let style = " @IMPORT url(a.css); @charset 'utf-8'; p { a: b; c: d } \
                     @media (prefers-color-scheme: dark) { p { e: f } } @media print { p { g: h } } q { i: j }";
        let found = pieces(style);
        let found: Vec<_> = found.iter().map(|(at, it)| (style.split_at(*at).1, it)).collect();
        assert!(found[0].0.starts_with("@IMPORT url(a.css)") && *found[0].1 == Piece::Import);
        let rules: Vec<_> = found.into_iter().skip(1).map(|(_, it)| it).collect();
        let wanted = [
            Piece::Rule(" a: b; c: d "),
            Piece::DarkRule(" e: f "),
            Piece::DarkRule(" "),
            Piece::Rule(" i: j "),
        ];
        assert_eq!(rules, wanted.iter().collect::<Vec<_>>());
    }

    #[test]
    fn what_every_screen_shows_is_under_no_condition() {
        let style = "@media only screen { p { a: b } @media (x) { p { c: d } } } \
                     @media print, ALL { p { e: f } } @media screen and (x) { p { g: h } }";
        let rules = pieces(style).into_iter().filter_map(|(_, it)| match it {
            Piece::Rule(rule) => Some(rule.trim()).filter(|it| !it.is_empty()),
            Piece::DarkRule(_) | Piece::Import => None,
        });
        assert_eq!(rules.collect::<Vec<_>>(), ["a: b", "e: f"]);
    }

    #[test]
    fn comments_are_blanks_and_say_nothing_of_the_dark() {
        assert_eq!(without_comments("a/*é*/b/**/c/* d"), "a      b    c    ");
        assert!(is_dark("@media (Prefers-Color-Scheme : dark)"));
        assert!(!is_dark("@media (prefers-color-scheme: light)"));
    }
}
