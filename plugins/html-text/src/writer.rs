//! Markup to text with marks where lines, lists and items begin and end; `layout` resolves them.

use std::fmt::{Arguments, Write};

use crate::decode_entities;
use crate::markup::{self, Event, events};

/// Around the number of a piece of a template while the HTML is looked at.
pub const OPEN: char = '\u{E000}';
/// Behind that number.
pub const CLOSE: char = '\u{E001}';
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

/// Whether a character is one of the marks, so that text may not hold it.
#[must_use]
pub fn is_reserved(it: char) -> bool {
    (OPEN..=RULE).contains(&it)
}

/// A piece of a template language, which stands in HTML as [`OPEN`], its index and [`CLOSE`].
#[derive(Debug, Clone)]
pub struct Piece {
    /// What it becomes in the text.
    pub text: String,
    /// It prints nothing, and stays where text is dropped, so that blocks still close.
    pub silent: bool,
}

/// The text of markup, with the marks of its lines.
#[must_use]
pub fn of_markup(html: &str) -> String {
    Writer::default().written(html)
}

/// The text template of an HTML template, with the marks of its lines.
#[must_use]
pub fn of_template(html: &str, pieces: Vec<Piece>) -> String {
    Writer { pieces, is_template: true, ..Writer::default() }.written(html)
}

#[derive(Default)]
struct Writer {
    pieces: Vec<Piece>,
    /// What is written is parsed as a template.
    is_template: bool,
    /// How many elements around keep their lines.
    pre: u32,
    out: String,
    /// The element that is dropped with all it holds, and how deep it is nested in itself.
    dropped: Option<(String, u32)>,
    /// The open ones, the innermost last.
    links: Vec<Link>,
    /// The last link that is a picture without a text, and where it ends.
    picture: Option<(Link, usize)>,
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
                let address = self.with_pieces(&decode_entities(address.trim()));
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
                    self.link_end(link);
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

    /// A mark with the number that an attribute gives; it may be a piece.
    fn numbered(&mut self, mark: char, number: Option<&str>) {
        let number = self.with_pieces(number.unwrap_or_default().trim());
        put(&mut self.out, format_args!("{mark}{number}{NUMBER_END}"));
    }

    /// `label (address)`, or the address alone where the label says the same or is a picture. A link that
    /// nobody could click has no address either.
    fn link_end(&mut self, mut link: Link) {
        link.start -= self.drop_repeated_picture(&link);
        let Link { address, start, has_picture } = &link;
        let label = self.out.get(*start..).unwrap_or_default().trim();
        let plain = ["mailto:", "tel:"].iter().find_map(|it| address.strip_prefix(it));
        let same = label == *address || plain == Some(label);
        if address.is_empty() || address.starts_with('#') || same {
            return;
        }
        if label.is_empty() && *has_picture {
            self.out.push_str(address);
            self.picture = Some((link, self.out.len()));
        } else if !label.is_empty() {
            while self.out.ends_with(' ') {
                self.out.pop();
            }
            put(&mut self.out, format_args!(" ({address})"));
        }
    }

    /// An icon and the words beside it are often two links with one address: the words say it. Answers how
    /// many bytes are gone.
    fn drop_repeated_picture(&mut self, link: &Link) -> usize {
        let has_label = self.out.get(link.start..).is_some_and(|it| !it.trim().is_empty());
        let Some((picture, end)) = self.picture.take_if(|_| has_label) else { return 0 };
        let between = self.out.get(end..link.start).unwrap_or_default();
        let stands_beside = between.chars().all(|it| it.is_whitespace() || it == FRESH_LINE);
        if picture.address != link.address || !stands_beside {
            return 0;
        }
        self.out.replace_range(picture.start..link.start, "");
        link.start - picture.start
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

    /// White space is one space unless it is kept, entities are characters, pieces are pieces.
    fn text(&mut self, html: &str) {
        let decoded = decode_entities(html);
        let mut text = String::with_capacity(decoded.len());
        for c in decoded.chars() {
            let c = if c.is_whitespace() && self.pre == 0 { ' ' } else { c };
            // Text that only looks like a piece stays text.
            if self.is_template && text.ends_with('{') && (c == '{' || c == '%') {
                text.push(' ');
            }
            if c != ' ' || self.pre > 0 || !text.ends_with(' ') {
                text.push(c);
            }
        }
        let text = self.with_pieces(&text);
        self.out.push_str(&text);
    }

    /// Puts the pieces back in place of their numbers.
    fn with_pieces(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            out.push_str(before);
            let (number, after) = after.split_once(CLOSE).unwrap_or((after, ""));
            let it = number.parse().ok().and_then(|it: usize| self.pieces.get(it));
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
            let it = number.parse().ok().and_then(|it: usize| self.pieces.get(it));
            if let Some(it) = it.filter(|it| it.silent) {
                self.out.push_str(&it.text);
            }
        }
    }

    /// An address, an alternative text or a number keeps its pieces itself.
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

fn put(out: &mut String, text: Arguments<'_>) {
    out.write_fmt(text).expect("a string takes any text");
}
