//! Whether a recipient sees anything of what was rendered.

use mail_parser::decoders::html::html_to_text;

/// Whether a text has a character that leaves a mark.
pub fn in_text(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace() && !c.is_control() && !is_invisible(c))
}

/// Whether HTML shows a picture, or has such a text. Style sheets are not applied: what they hide counts
/// as seen.
pub fn in_html(html: &str) -> bool {
    let shows = |tag: &[u8]| {
        html.as_bytes().windows(tag.len()).any(|window| window.eq_ignore_ascii_case(tag))
    };
    in_text(&html_to_text(html)) || shows(b"<img") || shows(b"<svg")
}

/// What layouts fill a preview line with: joiners, fillers, marks of direction.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_fillers_are_nothing_to_see() {
        for text in ["", " \r\n\t", "\u{a0}\u{200c}\u{34f}", "\u{feff}\u{3000}"] {
            assert!(!in_text(text), "{text:?}");
        }
        assert!(in_text("\u{200b}a") && in_text("…"));
    }

    #[test]
    fn markup_alone_is_nothing_to_see() {
        let blank = "<html><head><title>Hi</title><style>p { color: red }</style></head><body>\
                     <!-- note --><p style=\"margin:0\">&nbsp;&#847;&#8204;\u{200c} </p></body></html>";
        assert!(!in_html(blank), "{:?}", html_to_text(blank));
        assert!(in_html("<p>Hi</p>"));
        assert!(in_html("<p><IMG src=\"cid:a\"></p>"));
    }
}
