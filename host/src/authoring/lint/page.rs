//! A template's HTML or MJML as tags, texts and styles, with their places in the source; Liquid is masked.

use std::ops::Range;

use html5gum::{DefaultEmitter, HtmlString, Span, Token as Html, Tokenizer};

use crate::authoring::liquid::{self, Token, TokenKind};

/// A source, taken apart.
#[derive(Debug)]
pub struct Page<'a> {
    pub text: &'a str,
    /// The text with letters for outputs and blanks for tags: places are the same.
    pub masked: String,
    pub liquid: Vec<Token>,
}

/// A piece of markup.
#[derive(Debug)]
pub enum Piece {
    Start(Tag),
    End { name: String, at: usize },
    Text(Range<usize>),
}

#[derive(Debug)]
pub struct Tag {
    /// In lower case.
    pub name: String,
    pub attributes: Vec<Attribute>,
    pub at: usize,
    /// Of MJML: it has no end tag.
    pub is_closed: bool,
}

#[derive(Debug)]
pub struct Attribute {
    /// In lower case.
    pub name: String,
    /// As it is masked, with its entities decoded.
    pub value: String,
    /// The value in the source, without quotes; empty where there is none.
    pub range: Range<usize>,
    pub is_quoted: bool,
    pub at: usize,
}

impl<'a> Page<'a> {
    pub fn new(text: &'a str) -> Self {
        let liquid = liquid::tokens(text);
        Self { text, masked: liquid::masked(text, &liquid), liquid }
    }

    pub fn pieces(&self) -> Vec<Piece> {
        let mut emitter = DefaultEmitter::<usize>::new_with_span();
        // `<style>` and `<title>` have text, not markup.
        emitter.naively_switch_states(true);
        let mut pieces = Vec::new();
        for Ok(token) in Tokenizer::new_with_emitter(self.masked.as_str(), emitter) {
            match token {
                Html::StartTag(tag) => {
                    let attributes =
                        tag.attributes.iter().map(|(name, value)| self.attribute(name, value.span));
                    let mut attributes: Vec<Attribute> = attributes.collect();
                    for (attribute, value) in attributes.iter_mut().zip(tag.attributes.values()) {
                        attribute.value = string(value);
                    }
                    attributes.sort_by_key(|it| it.at);
                    pieces.push(Piece::Start(Tag {
                        name: string(&tag.name),
                        attributes,
                        at: tag.span.start,
                        is_closed: tag.self_closing,
                    }));
                }
                Html::EndTag(tag) => {
                    pieces.push(Piece::End { name: string(&tag.name), at: tag.span.start });
                }
                Html::String(text) => pieces.push(Piece::Text(text.span.start..text.span.end)),
                Html::Comment(_) | Html::Doctype(_) | Html::Error(_) => {}
            }
        }
        pieces
    }

    fn attribute(&self, name: &HtmlString, span: Span<usize>) -> Attribute {
        let written = self.masked.get(span.start..span.end).unwrap_or_default();
        let after_name = written.get(name.len()..).unwrap_or_default();
        let value = after_name.trim_start().strip_prefix('=').map(str::trim_start);
        let quote = value.and_then(|it| it.chars().next()).filter(|it| matches!(it, '"' | '\''));
        let start = span.start + written.len() - value.map_or(0, str::len);
        let end = match (value, quote) {
            (None, _) => start,
            (Some(value), None) => start + value.trim_end_matches('>').trim_end().len(),
            (Some(value), Some(quote)) => {
                let inside = value.get(1..).unwrap_or_default();
                start + 1 + inside.find(quote).unwrap_or(inside.len())
            }
        };
        Attribute {
            name: string(name),
            value: String::new(),
            range: (start + usize::from(quote.is_some()))..end,
            is_quoted: quote.is_some(),
            at: span.start,
        }
    }

    /// The outputs in a part of the source.
    pub fn outputs(&self, range: &Range<usize>) -> impl Iterator<Item = &Token> {
        let first = self.liquid.partition_point(|it| it.range.end <= range.start);
        let end = range.end;
        let rest = self.liquid.get(first..).unwrap_or_default().iter();
        rest.take_while(move |it| it.range.start < end).filter(|it| it.kind == TokenKind::Output)
    }

    /// What is between the braces of a piece of Liquid.
    pub fn inside(&self, token: &Token) -> &'a str {
        let range = token.range.start + 2..token.range.end - 2;
        let inside = self.text.get(range).unwrap_or_default();
        inside.trim_start_matches('-').trim_end_matches('-').trim()
    }
}

impl Tag {
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|it| it.name == name)
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(|it| it.value.trim())
    }

    /// The last value that the style gives a property.
    pub fn style(&self, property: &str) -> Option<&str> {
        let declared = declarations(self.value("style")?);
        declared.filter(|(name, _)| name.eq_ignore_ascii_case(property)).last().map(|it| it.1)
    }
}

/// Properties and values of a style.
pub fn declarations(style: &str) -> impl Iterator<Item = (&str, &str)> {
    style.split(';').filter_map(|it| {
        let (name, value) = it.split_once(':')?;
        let value = value.split('!').next().unwrap_or_default();
        Some((name.trim(), value.trim()))
    })
}

fn string(it: &[u8]) -> String {
    String::from_utf8_lossy(it).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_places_and_quotes() {
        let text = "é<A href = '{{ a }}' alt title=b{{ c }} class=\"d\">x</A>";
        let page = Page::new(text);
        let pieces = page.pieces();
        let Some(Piece::Start(tag)) = pieces.iter().find(|it| matches!(it, Piece::Start(_))) else {
            panic!("{pieces:?}")
        };
        let read: Vec<(&str, &str, bool)> = tag
            .attributes
            .iter()
            .map(|it| (it.name.as_str(), text.get(it.range.clone()).expect("within"), it.is_quoted))
            .collect();
        let wanted = [
            ("href", "{{ a }}", true),
            ("alt", "", false),
            ("title", "b{{ c }}", false),
            ("class", "d", true),
        ];
        assert_eq!(read, wanted);
        assert_eq!(page.outputs(&tag.attributes[2].range).count(), 1);
        assert_eq!(tag.at, 2);
    }
}
