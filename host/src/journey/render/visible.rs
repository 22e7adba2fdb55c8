//! Whether a recipient sees anything of what was rendered.

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};

/// Whether a text has a character that leaves a mark.
#[must_use]
pub fn in_text(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace() && !c.is_control() && !is_invisible(c))
}

/// Whether HTML shows a picture, or has such a text. Attributes that hide an element are heeded; style
/// sheets are not applied: what they hide counts as seen.
#[must_use]
pub fn in_html(html: &str) -> bool {
    let mut emitter = DefaultEmitter::default();
    // `<style>` and `<title>` have text, not markup.
    emitter.naively_switch_states(true);
    let mut hidden: Option<Hidden> = None;
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match (token, &mut hidden) {
            (Token::StartTag(tag), None) if hides(&tag) => hidden = Hidden::begun_by(tag),
            (Token::StartTag(tag), None) if is_picture(&tag) => return true,
            (Token::String(text), None) if in_text(&String::from_utf8_lossy(&text)) => return true,
            (Token::StartTag(tag), Some(inside)) if !tag.self_closing => inside.begin(&tag.name),
            (Token::EndTag(tag), Some(inside)) => inside.end(&tag.name),
            _ => {}
        }
        hidden = hidden.filter(|it| it.open > 0);
    }
    false
}

/// An element that is not shown, and those of its name within.
struct Hidden {
    name: HtmlString,
    open: usize,
}

impl Hidden {
    /// An element that never has content hides none.
    fn begun_by(tag: StartTag<()>) -> Option<Self> {
        let name = String::from_utf8_lossy(&tag.name);
        (!VOID.contains(&&*name)).then_some(Self { name: tag.name, open: 1 })
    }

    fn begin(&mut self, name: &HtmlString) {
        let text = String::from_utf8_lossy(name);
        // Where end tags may be left out the next one of the name ends it.
        if *name == self.name {
            self.open = if ENDED_BY_THE_NEXT.contains(&&*text) { 0 } else { self.open + 1 };
        }
    }

    fn end(&mut self, name: &HtmlString) {
        if *name == self.name {
            self.open -= 1;
        }
    }
}

/// The void elements of HTML: they have no content and no end tag.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
const ENDED_BY_THE_NEXT: [&str; 8] = ["p", "li", "dt", "dd", "tr", "td", "th", "option"];
/// Their text is not the page's.
const APART: [&str; 4] = ["title", "style", "script", "template"];

fn hides(tag: &StartTag<()>) -> bool {
    let value = |name: &[u8]| tag.attributes.get(name).map(|it| String::from_utf8_lossy(it));
    APART.contains(&&*String::from_utf8_lossy(&tag.name))
        || value(b"hidden").is_some()
        || value(b"style").is_some_and(|style| style.split(';').any(declares_nothing_shown))
}

fn declares_nothing_shown(declaration: &str) -> bool {
    let declaration: String = declaration.split_whitespace().collect();
    let declaration = declaration.to_ascii_lowercase();
    let declaration = declaration.strip_suffix("!important").unwrap_or(&declaration);
    matches!(declaration, "display:none" | "visibility:hidden" | "visibility:collapse")
}

fn is_picture(tag: &StartTag<()>) -> bool {
    let style = tag.attributes.get(b"style".as_slice());
    matches!(&**tag.name, b"img" | b"svg" | b"video" | b"input")
        || tag.attributes.contains_key(b"background".as_slice())
        || style.is_some_and(|style| String::from_utf8_lossy(style).contains("url("))
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
        assert!(!in_html(blank));
        assert!(in_html("<p>Hi</p>"));
        assert!(in_html("<p><IMG src=\"cid:a\"></p>"));
    }

    #[test]
    fn a_hidden_element_without_content_hides_nothing_after_it() {
        for name in VOID {
            assert!(in_html(&format!("<{name} hidden><p>Hi</p>")), "{name}");
        }
        assert!(in_html("<table><col style=\"visibility:collapse\"><tr><td>Hi</td></tr></table>"));
    }

    #[test]
    fn what_a_recipient_cannot_see_is_nothing_to_see() {
        for blank in [
            "<title>Hi</title>",
            "<p style=\"DISPLAY : none !important\">Hi <b>there</b><br></p>",
            "<div hidden><div>x</div>y<img src=a></div>",
            "<div style=\"color:red;visibility:hidden\">Hi",
            "<a href=\"https://example.com\"></a>",
            "<!--[if mso]>Hi<![endif]-->",
            "<img style=\"display:none\" src=a>",
            "<template>Hi</template>",
        ] {
            assert!(!in_html(blank), "{blank}");
        }
        for seen in [
            "<div style=\"display:none\">preview<div>x</div></div>Hi",
            "<br hidden>Hi",
            "<p hidden>x<p>Hi",
            "<table><tr><td hidden>x<td>Hi</table>",
            "<a href=\"https://example.com\">Hi</a>",
            "<td background=\"cid:a\"></td>",
            "<![if !mso]>Hi<![endif]>",
            "a < b",
            "<style>p{}</style>Hi",
            "<p title='<b hidden>'>Hi",
        ] {
            assert!(in_html(seen), "{seen}");
        }
    }
}
