//! The text template that an HTML template stands for, made once when it is compiled.
//!
//! Markup goes, Liquid stays: `<p>Hi {{ name }}</p>` becomes `Hi {{ name }}` with marks where lines
//! end, which [`waxwing_html_text::lines`] resolves after rendering. A Liquid tag that stands where text is
//! dropped stays too unless it prints, so that blocks still close.

use waxwing_html_text::{CLOSE, OPEN, Piece as Text, is_reserved, plain};

use crate::fault::Fault;
use crate::parse::{Piece, pieces};

/// The text template of an HTML template.
///
/// # Errors
/// The source cannot be cut into text and Liquid.
pub fn derive(source: &str) -> Result<String, Fault> {
    let (html, liquid) = without_liquid(source)?;
    Ok(waxwing_html_text::of_template(&html, liquid))
}

/// The source with each Liquid piece replaced by its number.
fn without_liquid(source: &str) -> Result<(String, Vec<Text>), Fault> {
    let mut html = String::with_capacity(source.len());
    let mut liquid = Vec::new();
    for piece in pieces(source)? {
        let text = |range| source.get(range).unwrap_or_default();
        let it = match piece {
            Piece::Text(range) => {
                html.extend(text(range).chars().filter(|it| !is_reserved(*it)));
                continue;
            }
            Piece::Raw(range) => Text {
                text: format!("{{% raw %}}{}{{% endraw %}}", plain(text(range))),
                silent: false,
            },
            Piece::Output { inside, .. } => {
                Text { text: format!("{{{{ {} }}}}", text(inside).trim()), silent: false }
            }
            Piece::Tag { name, inside, .. } => {
                let name = text(name);
                let prints =
                    ["echo", "cycle", "increment", "decrement", "include", "render", "liquid"];
                let tag = format!("{name} {}", text(inside).trim());
                let text = format!("{{% {} %}}", tag.trim());
                Text { text, silent: !prints.contains(&name) }
            }
        };
        put!(html, "{OPEN}{}{CLOSE}", liquid.len());
        liquid.push(it);
    }
    Ok((html, liquid))
}

#[cfg(test)]
mod tests;
