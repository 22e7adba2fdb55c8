//! Blocks: sequences of nodes up to a closing tag, and white space that only lays out tags.

use std::ops::Range;

use super::expr::{Cursor, verbatim};
use super::lexer::place;
use super::scan::{Piece, split_name};
use crate::ast::{Block, Node};
use crate::fault::Fault;
use crate::mode::Mode;

/// Nested tags beyond this are refused; the renderer's stack relies on it.
const MAX_NESTING: u32 = 100;

/// No more faults than this are collected from one source.
const MAX_FAULTS: usize = 50;

/// Parses all pieces; faults go to `faults`.
pub fn whole(
    source: &str,
    pieces: Vec<Piece>,
    mode: Mode,
    depth: u32,
    faults: &mut Vec<Fault>,
) -> Block {
    let mut parser = Parser { source, pieces: pieces.into_iter(), mode, depth, faults };
    let mut out = Vec::new();
    while let Some(end) = parser.until(&[], &mut out) {
        let message = format!("`{}` closes nothing here", end.name);
        parser.fault(Fault::new("unexpected_tag", place(end.at), message));
    }
    out.shrink_to_fit();
    out
}

/// What a block parser works on.
pub struct Parser<'s, 'f> {
    pub source: &'s str,
    pieces: std::vec::IntoIter<Piece>,
    pub mode: Mode,
    pub depth: u32,
    pub faults: &'f mut Vec<Fault>,
}

/// A tag that was met.
#[derive(Debug, Clone)]
pub struct Tag<'s> {
    pub at: usize,
    pub name: &'s str,
    pub inside: Range<usize>,
}

impl<'s> Parser<'s, '_> {
    pub fn fault(&mut self, it: Fault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(it);
        }
    }

    pub fn cursor(&self, tag: &Tag<'s>) -> Result<Cursor<'s>, Fault> {
        Cursor::new(self.source, tag.inside.start, tag.inside.end, self.mode)
    }

    /// Parses to one of `ends` (or any tag that only closes or continues a block) and returns it.
    pub fn until(&mut self, ends: &[&str], out: &mut Block) -> Option<Tag<'s>> {
        while let Some(piece) = self.pieces.next() {
            match piece {
                Piece::Text(range) => {
                    out.push(Node::Text(self.source.get(range).unwrap_or_default().into()));
                }
                Piece::Raw(range) => {
                    let text = self.source.get(range).unwrap_or_default();
                    out.push(Node::Output(verbatim(text, self.mode)));
                }
                Piece::Output { at, inside } => {
                    let tag = Tag { at, name: "", inside };
                    match self.output(&tag) {
                        Ok(it) => out.extend(it),
                        Err(it) => self.fault(it),
                    }
                }
                Piece::Tag { at, name, inside } => {
                    let name = self.source.get(name).unwrap_or_default();
                    let tag = Tag { at, name, inside };
                    if ends.contains(&name) || (ends.is_empty() && closes_or_continues(name)) {
                        return Some(tag);
                    }
                    if closes_or_continues(name) {
                        let message = format!("`{name}` closes nothing here");
                        self.fault(Fault::new("unexpected_tag", place(at), message));
                    } else if let Err(it) = self.tag(&tag, out) {
                        self.fault(it);
                    }
                }
            }
        }
        None
    }

    /// An output; `{{ }}` prints nothing.
    #[inline(never)]
    pub fn output(&mut self, tag: &Tag<'s>) -> Result<Option<Node>, Fault> {
        let mut cursor = self.cursor(tag)?;
        if cursor.is_done() {
            return Ok(None);
        }
        let it = cursor.expr()?;
        cursor.done()?;
        Ok(Some(Node::Output(it)))
    }

    /// The body of a block up to one of `ends`; `None` instead of an end is a fault.
    pub fn body(&mut self, open: &Tag<'s>, ends: &[&str]) -> Result<(Block, Tag<'s>), Fault> {
        let mut out = Vec::new();
        self.depth += 1;
        if self.depth > MAX_NESTING {
            self.pieces = Vec::new().into_iter();
            self.depth -= 1;
            let message = format!("tags are nested more than {MAX_NESTING} deep");
            return Err(Fault::new("nesting_too_deep", place(open.at), message));
        }
        let end = self.until(ends, &mut out);
        self.depth -= 1;
        let Some(end) = end else {
            let message = format!("`{}` without its `end{}`", open.name, open.name);
            return Err(Fault::new("unclosed_tag", place(open.at), message));
        };
        out.shrink_to_fit();
        Ok((out, end))
    }

    /// The lines of a `liquid` tag, each a tag without delimiters.
    #[inline(never)]
    pub fn lines(&mut self, tag: &Tag<'s>, out: &mut Block) -> Result<(), Fault> {
        if self.depth >= MAX_NESTING {
            let message = format!("tags are nested more than {MAX_NESTING} deep");
            return Err(Fault::new("nesting_too_deep", place(tag.at), message));
        }
        let pieces = line_pieces(self.source, tag)?;
        out.extend(whole(self.source, pieces, self.mode, self.depth + 1, self.faults));
        Ok(())
    }
}

fn line_pieces(source: &str, tag: &Tag<'_>) -> Result<Vec<Piece>, Fault> {
    let mut pieces = Vec::new();
    let mut start = tag.inside.start;
    let mut comments = 0_u32;
    for line in source.get(tag.inside.clone()).unwrap_or_default().split('\n') {
        let (name, inside) = split_name(source, start..start + line.len());
        start += line.len() + 1;
        match source.get(name.clone()).unwrap_or_default() {
            "comment" => comments += 1,
            "endcomment" if comments > 0 => comments -= 1,
            "" if line.trim().is_empty() => {}
            "#" => {}
            _ if comments > 0 => {}
            _ => pieces.push(Piece::Tag { at: name.start, name, inside }),
        }
    }
    if comments > 0 {
        let message = "`comment` without its `endcomment`";
        return Err(Fault::new("unclosed_tag", place(tag.at), message));
    }
    Ok(pieces)
}

fn closes_or_continues(name: &str) -> bool {
    name.starts_with("end") || matches!(name, "else" | "elsif" | "when")
}

/// Whether a block prints nothing but white space, so that its layout is dropped.
pub fn is_blank(block: &Block) -> bool {
    block.iter().all(|it| match it {
        Node::Text(it) => it.trim().is_empty(),
        Node::Assign { .. } | Node::Capture { .. } => true,
        Node::If { branches, otherwise } => {
            branches.iter().all(|(_, it)| is_blank(it)) && otherwise.as_ref().is_none_or(is_blank)
        }
        Node::Case { arms, .. } => arms.iter().all(|it| is_blank(&it.body)),
        Node::For(it) => is_blank(&it.body) && it.otherwise.as_ref().is_none_or(is_blank),
        Node::IfChanged(it) => is_blank(it),
        Node::Output(_)
        | Node::TableRow(_)
        | Node::Cycle { .. }
        | Node::Increment(_)
        | Node::Decrement(_)
        | Node::Break
        | Node::Continue
        | Node::Call(_) => false,
    })
}

/// Drops the layout of blocks that are all blank.
pub fn drop_blank<'b>(blocks: impl IntoIterator<Item = &'b mut Block>) {
    let mut blocks: Vec<_> = blocks.into_iter().collect();
    if blocks.iter().all(|it| is_blank(it)) {
        for block in &mut blocks {
            block.retain(|it| !matches!(it, Node::Text(_)));
        }
    }
}
