//! Escaping, and filters that make or take off markup.

use super::{Args, Outcome};
use crate::mode::Mode;
use crate::value::{Str, Value};

/// Writes `text` with `& < > " '` as entities.
pub fn escape_into(text: &str, out: &mut String) {
    let mut from = 0;
    for (i, byte) in text.bytes().enumerate() {
        let Some(entity) = entity(byte) else { continue };
        out.push_str(text.get(from..i).unwrap_or_default());
        out.push_str(entity);
        from = i + 1;
    }
    out.push_str(text.get(from..).unwrap_or_default());
}

const fn entity(byte: u8) -> Option<&'static str> {
    match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'"' => Some("&quot;"),
        b'\'' => Some("&#39;"),
        _ => None,
    }
}

/// As text, in an HTML part escaped unless it is markup.
fn markup<'a>(it: &Value<'a>) -> Str<'a> {
    if let Value::Safe(it) = it {
        return it.clone();
    }
    let mut out = String::new();
    escape_into(&it.to_text(), &mut out);
    out.into()
}

/// Two values one after the other. Markup joined with text is markup: the text is escaped.
pub fn joined<'a>(a: &Value<'a>, b: &Value<'a>, mode: Mode) -> Value<'a> {
    let some_markup = matches!(a, Value::Safe(_)) || matches!(b, Value::Safe(_));
    if mode == Mode::Html && some_markup {
        return Value::Safe(format!("{}{}", &*markup(a), &*markup(b)).into());
    }
    format!("{}{}", &*a.to_text(), &*b.to_text()).into()
}

pub fn escape<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    if matches!(it, Value::Safe(_)) {
        return escape_once(it, args);
    }
    let mut out = String::new();
    escape_into(&it.to_text(), &mut out);
    Ok(marked(out, args.mode))
}

/// Entities that are there already stay.
pub fn escape_once<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let text = it.to_text();
    let mut out = String::with_capacity(text.len());
    for (i, part) in text.split('&').enumerate() {
        if i > 0 {
            out.push_str(if starts_entity(part) { "&" } else { "&amp;" });
        }
        escape_into(part, &mut out);
    }
    Ok(marked(out, args.mode))
}

fn starts_entity(after_ampersand: &str) -> bool {
    let Some((name, _)) = after_ampersand.split_once(';') else {
        return false;
    };
    let number = name.strip_prefix('#');
    let digits = number.map_or(name, |it| it.strip_prefix(['x', 'X']).unwrap_or(it));
    !digits.is_empty() && digits.len() < 32 && digits.bytes().all(|it| it.is_ascii_alphanumeric())
}

fn marked<'a>(out: String, mode: Mode) -> Value<'a> {
    if mode == Mode::Html { Value::Safe(out.into()) } else { out.into() }
}

pub fn raw<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(if args.mode == Mode::Html { Value::Safe(it.to_text()) } else { it })
}

pub fn same<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(it)
}

/// In derived text: the text of markup.
pub fn to_text<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    if it.as_str().is_none() {
        return Ok(it);
    }
    Ok(crate::plaintext::decode_entities(&strip_tags(&it.to_text())).into())
}

pub fn newline_to_br<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let text = if args.mode == Mode::Html { markup(&it) } else { it.to_text() };
    Ok(marked(text.replace("\r\n", "\n").replace('\n', "<br />\n"), args.mode))
}

pub fn strip_html<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(strip_tags(&it.to_text()).into())
}

/// Without tags and comments, and without what stands in `script` and `style`.
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
