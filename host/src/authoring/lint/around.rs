//! What is around the HTML of a template: the layout's background and colours, and what an element says of its own.

use super::color::Color;
use super::css;
use super::page::{Attribute, Page, Piece, Tag};
use crate::authoring::liquid::{self, TokenKind};
use crate::template::locale::LocaleTag;
use crate::template::source::{SourcePart, TemplateSource};
use crate::template::version::Blocks;

const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// What a layout gives to the HTML that it surrounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Around {
    pub background: Background,
    pub color: Option<Color>,
    pub has_dark_styles: bool,
    pub shows_preheader: bool,
    pub is_layout: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Background {
    #[default]
    None,
    /// A picture, or the sender's data.
    Unknown,
    Is(Color),
}

impl Background {
    /// The colour, where it is known.
    pub fn color(self) -> Option<Color> {
        match self {
            Self::Is(color) => Some(color),
            Self::None | Self::Unknown => None,
        }
    }
}

impl Around {
    /// The HTML of a template's layout in a locale.
    pub fn layout<'a>(
        source: &TemplateSource,
        blocks: &'a Blocks,
        locale: &LocaleTag,
    ) -> Option<&'a str> {
        let layout = blocks.layout.as_ref().filter(|_| source.layout.is_some())?;
        layout.source.part(SourcePart::Html, locale).map(String::as_str)
    }

    /// What the HTML of a layout gives.
    pub fn of(layout: Option<&str>) -> Self {
        let Some(text) = layout else { return Self::default() };
        let page = Page::new(text);
        let pieces = page.pieces();
        let outputs = || page.liquid.iter().filter(|it| it.kind == TokenKind::Output);
        let hole = outputs().find(|it| root(page.inside(it)) == "content");
        let mut around = Self {
            has_dark_styles: has_dark_styles(&page, &pieces),
            shows_preheader: outputs().any(|it| root(page.inside(it)) == "preheader"),
            is_layout: true,
            ..Self::default()
        };
        let Some(hole) = hole else { return around };
        let mut open: Vec<(String, Background, Option<Color>)> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Start(tag) if tag.at > hole.range.start => break,
                Piece::End { at, .. } if at > hole.range.start => break,
                Piece::Start(tag) if is_void(&tag) => {}
                Piece::Start(tag) => {
                    let last = open.last();
                    let inherited = last.map_or((Background::None, None), |it| (it.1, it.2));
                    let (background, color) = colors(&tag, &page, inherited.0);
                    let background =
                        if background == Background::None { inherited.0 } else { background };
                    open.push((tag.name, background, color.or(inherited.1)));
                }
                Piece::End { name, .. } => {
                    if let Some(at) = open.iter().rposition(|it| it.0 == name) {
                        open.truncate(at);
                    }
                }
                Piece::Text(_) => {}
            }
        }
        if let Some((_, background, color)) = open.last() {
            (around.background, around.color) = (*background, *color);
        }
        around
    }
}

/// Whether a style says something of clients in the dark. What stands in a comment does not.
pub fn has_dark_styles(page: &Page<'_>, pieces: &[Piece]) -> bool {
    let mut in_style = false;
    pieces.iter().any(|piece| match piece {
        Piece::Start(tag) => {
            in_style = is_style(&tag.name);
            tag.attributes.iter().any(|it| {
                it.value.contains("light-dark(") || (it.name == "media" && css::is_dark(&it.value))
            })
        }
        Piece::End { .. } => {
            in_style = false;
            false
        }
        Piece::Text(range) if in_style => {
            let text = page.masked.get(range.clone()).unwrap_or_default();
            let text = css::without_comments(text);
            text.contains("light-dark(") || css::is_dark(&text)
        }
        Piece::Text(_) => false,
    })
}

/// Whether an element holds a style sheet.
pub fn is_style(name: &str) -> bool {
    name == "style" || name == "mj-style"
}

/// The first name of an expression.
pub fn root(expression: &str) -> &str {
    liquid::word(expression)
}

pub fn is_void(tag: &Tag) -> bool {
    VOID.contains(&tag.name.as_str()) || (tag.is_closed && tag.name.starts_with("mj"))
}

/// What an element says of its own colours, on the background that is around it.
pub fn colors(tag: &Tag, page: &Page<'_>, outer: Background) -> (Background, Option<Color>) {
    let has_data = |it: &Attribute| page.outputs(&it.range).next().is_some();
    let of = |attribute: &str| {
        let found = tag.get(attribute)?;
        match Color::over(&found.value, outer.color()) {
            Some(color) => Some(Background::Is(color)),
            None if has_data(found) || !found.value.is_empty() => Some(Background::Unknown),
            None => None,
        }
    };
    let styled = ["background-color", "background"].iter().find_map(|it| tag.style(it)).map(|it| {
        let picture = it.contains("url(") || it.contains("gradient(");
        let color = Color::over(it, outer.color()).filter(|_| !picture);
        color.map_or(Background::Unknown, Background::Is)
    });
    let attributes = [
        "background",
        "background-url",
        "bgcolor",
        "background-color",
        "container-background-color",
    ];
    let background = styled.or_else(|| attributes.iter().find_map(|it| of(it)));
    let is_button = tag.name == "mj-button";
    let background = background.or(is_button.then_some(Background::Is(Color(0x41, 0x41, 0x41))));
    let background = background.unwrap_or_default();
    let below = if background == Background::None { outer } else { background };
    let color = tag.style("color").or(tag.value("color"));
    (background, color.and_then(|it| Color::over(it, below.color())))
}
