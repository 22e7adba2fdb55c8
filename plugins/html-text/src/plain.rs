//! The text of HTML: tags go, character references become characters.

use crate::decode_entities;

/// Without tags, and with characters for entities.
#[must_use]
pub fn plain(markup: &str) -> String {
    decode_entities(&strip_tags(markup))
}

/// Without tags and comments, and without what stands in `script` and `style`.
#[must_use]
pub fn strip_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let (before, tag) = rest.split_at(open);
        out.push_str(before);
        let Some(length) = tag_length(tag) else {
            out.push_str(tag);
            return out;
        };
        rest = tag.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn tag_length(tag: &str) -> Option<usize> {
    for (open, close) in [("<script", "</script>"), ("<style", "</style>"), ("<!--", "-->")] {
        if tag.starts_with(open)
            && let Some(at) = tag.find(close)
        {
            return Some(at + close.len());
        }
    }
    tag.find('>').map(|it| it + 1)
}
