//! Cuts a source into text, `{{ outputs }}` and `{% tags %}`; white space control, `raw`,
//! `comment`, `doc` and `#` end here.

use std::ops::Range;

use super::lexer::place;
use crate::fault::Fault;

#[derive(Debug, Clone)]
pub enum Piece {
    Text(Range<usize>),
    /// What stands in a `raw` block: never blank.
    Raw(Range<usize>),
    Output {
        at: usize,
        inside: Range<usize>,
    },
    Tag {
        at: usize,
        name: Range<usize>,
        inside: Range<usize>,
    },
}

/// Cuts the whole source.
pub fn pieces(source: &str) -> Result<Vec<Piece>, Fault> {
    // Editors put a byte order mark first; it is not text.
    let at = if source.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let mut scan = Scan { source, at, pieces: Vec::new(), trim: Edge::Kept };
    while scan.step()? {}
    Ok(scan.pieces)
}

/// What becomes of the white space at one end of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Kept,
    /// The tag beside it has a `-`.
    Trimmed,
}

impl Edge {
    fn beside(byte: Option<&u8>) -> Self {
        if byte == Some(&b'-') { Self::Trimmed } else { Self::Kept }
    }

    /// Bytes of the tag that say so.
    fn len(self) -> usize {
        match self {
            Self::Kept => 0,
            Self::Trimmed => 1,
        }
    }
}

struct Scan<'s> {
    source: &'s str,
    at: usize,
    pieces: Vec<Piece>,
    /// Trimmed where the piece before ended in `-%}` or `-}}`.
    trim: Edge,
}

/// A tag as it stands, without looking at its inside.
struct Delimited {
    start: usize,
    inside: Range<usize>,
    end: usize,
    trim_before: Edge,
    trim_after: Edge,
}

impl Scan<'_> {
    fn step(&mut self) -> Result<bool, Fault> {
        let Some(open) = self.find_open(self.at) else {
            self.text(self.at..self.source.len(), Edge::Kept);
            return Ok(false);
        };
        let is_tag = self.source.as_bytes()[open + 1] == b'%';
        let mut it = self.delimited(open, if is_tag { "%}" } else { "}}" })?;
        // `{{-}}` prints nothing and trims on both sides.
        if !is_tag && it.trim_before == Edge::Trimmed && it.inside.is_empty() {
            it.trim_after = Edge::Trimmed;
        }
        self.text(self.at..open, it.trim_before);
        self.at = it.end;
        self.trim = it.trim_after;
        if is_tag {
            self.tag(&it)?;
        } else {
            self.pieces.push(Piece::Output { at: open, inside: it.inside });
        }
        Ok(true)
    }

    fn find_open(&self, from: usize) -> Option<usize> {
        let bytes = self.source.as_bytes();
        (from..bytes.len().saturating_sub(1))
            .find(|i| bytes[*i] == b'{' && (bytes[i + 1] == b'{' || bytes[i + 1] == b'%'))
    }

    fn delimited(&self, start: usize, close: &str) -> Result<Delimited, Fault> {
        let Some(length) = self.source.get(start + 2..).and_then(|it| it.find(close)) else {
            let open = if close == "%}" { "{%" } else { "{{" };
            let message = format!("`{open}` without its `{close}`");
            return Err(Fault::new("unclosed_tag", place(start), message));
        };
        let close_at = start + 2 + length;
        let bytes = &self.source.as_bytes()[start + 2..close_at];
        let trim_before = Edge::beside(bytes.first());
        let from = start + 2 + trim_before.len();
        let trim_after = Edge::beside(bytes.get(trim_before.len()..).and_then(<[u8]>::last));
        let inside = from..close_at - trim_after.len();
        Ok(Delimited { start, inside, end: close_at + 2, trim_before, trim_after })
    }

    fn text(&mut self, mut range: Range<usize>, after: Edge) {
        self.trim_range(&mut range, self.trim, after);
        self.trim = Edge::Kept;
        if !range.is_empty() {
            self.pieces.push(Piece::Text(range));
        }
    }

    fn trim_range(&self, range: &mut Range<usize>, before: Edge, after: Edge) {
        let mut text = self.source.get(range.clone()).unwrap_or_default();
        if before == Edge::Trimmed {
            range.start += text.len() - text.trim_start().len();
            text = text.trim_start();
        }
        if after == Edge::Trimmed {
            range.end -= text.len() - text.trim_end().len();
        }
    }

    fn tag(&mut self, it: &Delimited) -> Result<(), Fault> {
        let (name, inside) = split_name(self.source, it.inside.clone());
        match self.source.get(name.clone()).unwrap_or_default() {
            "#" => hash_comment(self.source, inside),
            "raw" => self.raw(it),
            "doc" => self.doc(it, inside),
            "comment" => self.comment(it),
            _ => {
                self.pieces.push(Piece::Tag { at: it.start, name, inside });
                Ok(())
            }
        }
    }

    fn raw(&mut self, open: &Delimited) -> Result<(), Fault> {
        let close = self.find_end(open, "raw")?;
        self.pieces.push(Piece::Raw(open.end..close.start));
        self.at = close.end;
        self.trim = close.trim_after;
        Ok(())
    }

    fn doc(&mut self, open: &Delimited, inside: Range<usize>) -> Result<(), Fault> {
        if !self.source.get(inside).unwrap_or_default().trim().is_empty() {
            return Err(Fault::new("syntax", place(open.start), "`doc` takes no arguments"));
        }
        let close = self.find_end(open, "doc")?;
        self.at = close.end;
        self.trim = close.trim_after;
        Ok(())
    }

    /// The first `{% end… %}`; nothing else inside is looked at.
    fn find_end(&self, open: &Delimited, name: &str) -> Result<Delimited, Fault> {
        let mut from = open.end;
        while let Some(start) = self.source.get(from..).and_then(|it| it.find("{%")) {
            let start = from + start;
            if let Ok(it) = self.delimited(start, "%}") {
                // What stands behind the name is not looked at, as in Ruby.
                let (word, rest) = split_name(self.source, it.inside.clone());
                let is_end = self.source.get(word).and_then(|it| it.strip_prefix("end"));
                let holds_another = self.source.get(rest).is_some_and(|it| it.contains("{%"));
                if is_end == Some(name) && !holds_another {
                    return Ok(it);
                }
            }
            from = start + 2;
        }
        let message = format!("`{name}` without its `end{name}`");
        Err(Fault::new("unclosed_tag", place(open.start), message))
    }

    /// Comments nest, and a `raw` inside hides its tags.
    fn comment(&mut self, open: &Delimited) -> Result<(), Fault> {
        let mut depth = 1_u32;
        let mut from = open.end;
        while let Some(start) = self.source.get(from..).and_then(|it| it.find("{%")) {
            let Ok(it) = self.delimited(from + start, "%}") else {
                break;
            };
            let (name, _) = split_name(self.source, it.inside.clone());
            from = it.end;
            match self.source.get(name).unwrap_or_default() {
                "comment" => depth += 1,
                "endcomment" => depth -= 1,
                "raw" => from = self.find_end(&it, "raw").map_or(from, |it| it.end),
                _ => {}
            }
            if depth == 0 {
                self.at = it.end;
                self.trim = it.trim_after;
                return Ok(());
            }
        }
        let message = "`comment` without its `endcomment`";
        Err(Fault::new("unclosed_tag", place(open.start), message))
    }
}

/// The name of a tag and what follows it.
pub fn split_name(source: &str, inside: Range<usize>) -> (Range<usize>, Range<usize>) {
    let text = source.get(inside.clone()).unwrap_or_default();
    let start = inside.start + (text.len() - text.trim_start().len());
    let rest = text.trim_start();
    let length = if rest.starts_with('#') {
        1
    } else {
        rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
    };
    (start..start + length, start + length..inside.end)
}

/// Every line of a `#` comment starts with `#`.
fn hash_comment(source: &str, inside: Range<usize>) -> Result<(), Fault> {
    let text = source.get(inside.clone()).unwrap_or_default();
    let stray = text.split('\n').skip(1).find(|it| {
        let it = it.trim_start();
        !it.is_empty() && !it.starts_with('#')
    });
    match stray {
        None => Ok(()),
        Some(_) => Err(Fault::new(
            "syntax",
            place(inside.start),
            "every line of a `#` comment starts with `#`",
        )),
    }
}
