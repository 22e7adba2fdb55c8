//! The text template that an HTML template stands for, made once when it is compiled.
//!
//! Markup goes, Liquid stays: `<p>Hi {{ name }}</p>` becomes `Hi {{ name }}` with marks where lines
//! end, which [`crate::tidy::lines`] resolves after rendering. A Liquid tag that stands where text is
//! dropped stays too unless it prints, so that blocks still close.

mod markup;

use crate::fault::Fault;
use crate::html_text::{decode_entities, plain};
use crate::parse::{Piece, pieces};
use markup::{Event, events};

/// Around the number of a Liquid piece while the HTML is looked at.
const OPEN: char = '\u{E000}';
const CLOSE: char = '\u{E001}';
/// Ends the line if something stands on it.
pub const FRESH_LINE: char = '\u{E002}';
/// Ends the line and leaves one empty line.
pub const PARAGRAPH: char = '\u{E003}';
/// Ends the line.
pub const LINE_END: char = '\u{E004}';
/// Around the items of a list; an ordered one has the number of its first item behind the mark.
pub const UNORDERED: char = '\u{E005}';
pub const ORDERED: char = '\u{E006}';
pub const LIST_END: char = '\u{E007}';
/// Around an item; its own number may stand behind the mark.
pub const ITEM: char = '\u{E008}';
pub const ITEM_END: char = '\u{E009}';
/// Behind the number that a mark may have.
pub const NUMBER_END: char = '\u{E00A}';
/// Around text that keeps its lines and its spaces.
pub const PRE: char = '\u{E00B}';
pub const PRE_END: char = '\u{E00C}';
/// A line across.
pub const RULE: char = '\u{E00D}';

/// The text template of an HTML template.
///
/// # Errors
/// The source cannot be cut into text and Liquid.
pub fn derive(source: &str) -> Result<String, Fault> {
    let (html, liquid) = without_liquid(source)?;
    Ok(Writer { liquid, is_template: true, ..Writer::default() }.written(&html))
}

/// The text of markup that a value holds, with the marks of its lines.
pub fn of_markup(html: &str) -> String {
    Writer::default().written(html)
}

/// A Liquid piece as source text.
struct Liquid {
    text: String,
    /// A tag that prints nothing: it stays where text is dropped.
    silent: bool,
}

/// The source with each Liquid piece replaced by its number.
fn without_liquid(source: &str) -> Result<(String, Vec<Liquid>), Fault> {
    let mut html = String::with_capacity(source.len());
    let mut liquid = Vec::new();
    for piece in pieces(source)? {
        let text = |range| source.get(range).unwrap_or_default();
        let it = match piece {
            Piece::Text(range) => {
                html.extend(text(range).chars().filter(|it| !(OPEN..=RULE).contains(it)));
                continue;
            }
            Piece::Raw(range) => Liquid {
                text: format!("{{% raw %}}{}{{% endraw %}}", plain(text(range))),
                silent: false,
            },
            Piece::Output { inside, .. } => {
                Liquid { text: format!("{{{{ {} }}}}", text(inside).trim()), silent: false }
            }
            Piece::Tag { name, inside, .. } => {
                let name = text(name);
                let prints =
                    ["echo", "cycle", "increment", "decrement", "include", "render", "liquid"];
                let tag = format!("{name} {}", text(inside).trim());
                let text = format!("{{% {} %}}", tag.trim());
                Liquid { text, silent: !prints.contains(&name) }
            }
        };
        put!(html, "{OPEN}{}{CLOSE}", liquid.len());
        liquid.push(it);
    }
    Ok((html, liquid))
}

#[derive(Default)]
struct Writer {
    liquid: Vec<Liquid>,
    /// What is written is parsed as a template.
    is_template: bool,
    /// How many elements around keep their lines.
    pre: u32,
    out: String,
    /// The element that is dropped with all it holds, and how deep it is nested in itself.
    dropped: Option<(String, u32)>,
    /// The open ones, the innermost last.
    links: Vec<Link>,
}

struct Link {
    address: String,
    /// Where its label starts in the text.
    start: usize,
    has_picture: bool,
}

impl Writer {
    fn written(mut self, html: &str) -> String {
        for event in events(html) {
            self.event(&event);
        }
        self.out
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) if self.dropped.is_none() => self.text(text),
            Event::Text(text) | Event::Comment(text) => self.silent(text),
            Event::Open { name, inside, .. } => {
                self.silent_attributes(name, inside);
                self.open(name, event);
            }
            Event::Close(name) => self.close(name),
        }
    }

    fn open(&mut self, name: &str, event: &Event<'_>) {
        if let Some((dropped, depth)) = &mut self.dropped {
            *depth += u32::from(dropped == name);
            return;
        }
        let is_hidden = event.is_hidden();
        if is_hidden && is_void(name) {
            return;
        }
        if is_dropped(name) || is_hidden {
            self.dropped = Some((name.to_owned(), 1));
            return;
        }
        match name {
            "a" => {
                let address = event.attribute("href").unwrap_or_default();
                let address = self.with_liquid(&decode_entities(address.trim()));
                self.links.push(Link { address, start: self.out.len(), has_picture: false });
            }
            "img" => {
                if let Some(link) = self.links.last_mut() {
                    link.has_picture = true;
                }
                let alt = event.attribute("alt").unwrap_or_default().to_owned();
                self.text(&alt);
            }
            "ul" => self.out.push(UNORDERED),
            "ol" => self.numbered(ORDERED, event.attribute("start")),
            "li" => self.numbered(ITEM, event.attribute("value")),
            "hr" => self.out.push(RULE),
            "pre" => {
                self.pre += 1;
                self.out.push(PRE);
            }
            name => self.boundary(name),
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((dropped, depth)) = &mut self.dropped {
            if dropped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.dropped = None;
                }
            }
            return;
        }
        match name {
            "a" => {
                if let Some(link) = self.links.pop() {
                    self.link_end(&link);
                }
            }
            "br" | "hr" => {}
            "ul" | "ol" => self.out.push(LIST_END),
            "li" => self.out.push(ITEM_END),
            "pre" => {
                self.pre = self.pre.saturating_sub(1);
                self.out.push(PRE_END);
            }
            name => self.boundary(name),
        }
    }

    /// A mark with the number that an attribute gives; it may be Liquid.
    fn numbered(&mut self, mark: char, number: Option<&str>) {
        let number = self.with_liquid(number.unwrap_or_default().trim());
        put!(self.out, "{mark}{number}{NUMBER_END}");
    }

    /// `label (address)`, or the address alone where the label says the same or is a picture. A link that
    /// nobody could click has no address either.
    fn link_end(&mut self, Link { address, start, has_picture }: &Link) {
        let label = self.out.get(*start..).unwrap_or_default().trim();
        let plain = ["mailto:", "tel:"].iter().find_map(|it| address.strip_prefix(it));
        let same = label == *address || plain == Some(label);
        if address.is_empty() || address.starts_with('#') || same {
            return;
        }
        if label.is_empty() && *has_picture {
            self.out.push_str(address);
        } else if !label.is_empty() {
            while self.out.ends_with(' ') {
                self.out.pop();
            }
            put!(self.out, " ({address})");
        }
    }

    fn boundary(&mut self, name: &str) {
        match name {
            "br" => self.out.push(LINE_END),
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "blockquote" => {
                self.out.push(PARAGRAPH);
            }
            "td" | "th" => self.out.push(' '),
            "div" | "tr" | "table" | "section" | "article" | "header" | "footer" | "main"
            | "nav" | "center" | "form" | "dl" | "dt" | "dd" | "figure" | "figcaption" | "body" => {
                self.out.push(FRESH_LINE);
            }
            _ => {}
        }
    }

    /// White space is one space unless it is kept, entities are characters, Liquid is Liquid.
    fn text(&mut self, html: &str) {
        let decoded = decode_entities(html);
        let mut text = String::with_capacity(decoded.len());
        for c in decoded.chars() {
            let c = if c.is_whitespace() && self.pre == 0 { ' ' } else { c };
            // Text that only looks like Liquid stays text.
            if self.is_template && text.ends_with('{') && (c == '{' || c == '%') {
                text.push(' ');
            }
            if c != ' ' || self.pre > 0 || !text.ends_with(' ') {
                text.push(c);
            }
        }
        let text = self.with_liquid(&text);
        self.out.push_str(&text);
    }

    /// Puts Liquid back in place of its numbers.
    fn with_liquid(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            out.push_str(before);
            let (number, after) = after.split_once(CLOSE).unwrap_or((after, ""));
            let it = number.parse().ok().and_then(|it: usize| self.liquid.get(it));
            out.push_str(it.map_or("", |it| &it.text));
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// Of text that is dropped, the tags that print nothing.
    fn silent(&mut self, text: &str) {
        for part in text.split(OPEN).skip(1) {
            let number = part.split(CLOSE).next().unwrap_or_default();
            let it = number.parse().ok().and_then(|it: usize| self.liquid.get(it));
            if let Some(it) = it.filter(|it| it.silent) {
                self.out.push_str(&it.text);
            }
        }
    }

    /// An address, an alternative text or a number keeps its Liquid itself.
    fn silent_attributes(&mut self, name: &str, inside: &str) {
        let kept = match name {
            "a" => "href",
            "img" => "alt",
            "ol" => "start",
            "li" => "value",
            _ => "",
        };
        if self.dropped.is_some() || kept.is_empty() {
            self.silent(inside);
            return;
        }
        for (key, value) in markup::attributes(inside) {
            self.silent(key);
            if !key.eq_ignore_ascii_case(kept) {
                self.silent(value);
            }
        }
    }
}

fn is_dropped(name: &str) -> bool {
    matches!(
        name,
        "head" | "style" | "script" | "title" | "template" | "svg" | "object" | "noscript"
    )
}

fn is_void(name: &str) -> bool {
    matches!(
        name,
        "br" | "hr" | "img" | "input" | "link" | "meta" | "col" | "area" | "base" | "wbr"
    )
}

#[cfg(test)]
mod tests;
