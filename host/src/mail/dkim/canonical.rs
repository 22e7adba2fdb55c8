//! The canonical form "relaxed" (RFC 6376 sections 3.4.2 and 3.4.4), given out in pieces.

use aws_lc_rs::digest::{Context, Digest, SHA256};

use super::super::field::unfold;

/// A CR or LF that is not part of a CRLF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BareLineEnd;

/// A line: its text, and the same with its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    text: &'a [u8],
    whole: &'a [u8],
}

impl Line<'_> {
    fn has_end(&self) -> bool {
        self.whole.len() > self.text.len()
    }
}

/// The lines of `data`; the last one may lack its end.
pub(super) fn lines(data: &[u8]) -> impl Iterator<Item = Result<Line<'_>, BareLineEnd>> {
    let mut rest = data;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        let Some(next) = after.strip_prefix(b"\r\n") else {
            rest = &[];
            return Some(if after.is_empty() {
                Ok(Line { text, whole: text })
            } else {
                Err(BareLineEnd)
            });
        };
        let whole = rest.get(..end + 2).unwrap_or(rest);
        rest = next;
        Some(Ok(Line { text, whole }))
    })
}

pub(super) fn hash_body(body: &[u8]) -> Result<Digest, BareLineEnd> {
    let mut hash = Context::new(&SHA256);
    self::body(body, |piece| hash.update(piece))?;
    Ok(hash.finish())
}

/// Gives out a body: white space at line ends goes, elsewhere a run of it becomes one space; empty
/// lines at the end go, and every line that is left ends in CRLF.
pub(super) fn body(body: &[u8], mut give: impl FnMut(&[u8])) -> Result<(), BareLineEnd> {
    let mut empty = 0_usize;
    for line in lines(body) {
        let line = line?;
        let text = trim_end(line.text);
        if text.is_empty() {
            empty += 1;
            continue;
        }
        for _ in 0..std::mem::take(&mut empty) {
            give(b"\r\n");
        }
        let is_canonical = line.has_end() && text.len() == line.text.len();
        if is_canonical && first_run(text).is_none() {
            give(line.whole);
        } else {
            squeeze(text, &mut give);
            give(b"\r\n");
        }
    }
    Ok(())
}

/// Gives out a header field, without a line end: its name in lower case, its value on one line
/// without outer white space, a run of it inside as one space.
pub(super) fn field(name: &str, value: &[u8], mut give: impl FnMut(&[u8])) {
    give(name.to_ascii_lowercase().as_bytes());
    give(b":");
    let line = unfold(value);
    squeeze(trim_start(trim_end(&line)), &mut give);
}

/// Gives out `text`, which does not end in white space, with one space for each run of it.
fn squeeze(mut text: &[u8], give: &mut impl FnMut(&[u8])) {
    while let Some((before, run)) = first_run(text).map(|at| text.split_at(at)) {
        give(before);
        give(b" ");
        text = trim_start(run);
    }
    give(text);
}

/// Where the first white space is that is not a single space.
fn first_run(text: &[u8]) -> Option<usize> {
    text.windows(2).position(|pair| matches!(pair, [b'\t', _] | [b' ', b' ' | b'\t']))
}

fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1);
    text.get(..end).unwrap_or_default()
}

/// White space within a line (`WSP` of RFC 5234).
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
