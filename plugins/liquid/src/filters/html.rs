//! Escaping, and filters that make or take off markup.

use waxwing_html_text::{decode_entities, plain, strip_tags};

use crate::filter::{Args, Outcome};
use crate::mode::Mode;
use crate::value::{Str, Value, last_word};

/// Writes `text` with `& < > " '` as entities.
pub fn escape_into(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some((at, entity)) = first_entity(rest.as_bytes()) {
        out.push_str(rest.get(..at).unwrap_or_default());
        out.push_str(entity);
        rest = rest.get(at + 1..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// The first character that is written as an entity; eight are looked at in one step, because most texts
/// have none.
fn first_entity(text: &[u8]) -> Option<(usize, &'static str)> {
    let (words, rest) = text.as_chunks::<8>();
    let plain = words.iter().take_while(|it| !has_entity(u64::from_le_bytes(**it))).count();
    if plain == words.len() && (rest.is_empty() || !has_entity(last_word(text))) {
        return None;
    }
    let plain = plain * 8;
    let rest = text.get(plain..).unwrap_or_default();
    rest.iter().enumerate().find_map(|(i, byte)| Some((plain + i, entity(*byte)?)))
}

/// Whether one of eight bytes is `& < > " '`. Of two that differ in one bit, that bit is set first.
const fn has_entity(word: u64) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const fn has_zero(word: u64) -> bool {
        word.wrapping_sub(ONES) & !word & (ONES << 7) != 0
    }
    has_zero((word | (ONES * 0x04)) ^ (ONES * 0x26))
        || has_zero((word | (ONES * 0x02)) ^ (ONES * 0x3E))
        || has_zero(word ^ (ONES * 0x27))
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

/// As markup: text is escaped.
pub fn markup<'a>(it: &Value<'a>) -> Str<'a> {
    if let Value::Safe(it) = it {
        return it.clone();
    }
    let mut out = String::new();
    escape_into(&it.to_text(), &mut out);
    out.into()
}

/// Two values one after the other. Markup joined with text is markup: the text is escaped.
pub fn joined<'a>(a: &Value<'a>, b: &Value<'a>) -> Value<'a> {
    if is_text(a) && is_text(b) {
        return format!("{}{}", &*a.to_text(), &*b.to_text()).into();
    }
    Value::Safe(format!("{}{}", &*markup(a), &*markup(b)).into())
}

/// Whether a value means the same where it is escaped.
pub fn is_text(it: &Value<'_>) -> bool {
    if let Value::Safe(it) = it { it.bytes().all(|it| entity(it).is_none()) } else { true }
}

/// The text that markup stands for, tags and all; other values as they print.
pub fn unescaped<'a>(it: &Value<'a>) -> Str<'a> {
    if let Value::Safe(text) = it { decode_entities(text).into() } else { it.to_text() }
}

/// Markup in which each `&` that begins no entity is one: so it can be searched.
pub fn with_entities(markup: &str) -> String {
    let mut out = String::with_capacity(markup.len());
    for (i, part) in markup.split('&').enumerate() {
        if i > 0 {
            out.push_str(if starts_entity(part) { "&" } else { "&amp;" });
        }
        out.push_str(part);
    }
    out
}

/// Changes the text of markup; tags and entities stay whole.
pub fn outside_tags(markup: &str, mut change: impl FnMut(&str) -> String) -> String {
    let mut out = String::with_capacity(markup.len());
    let mut rest = markup;
    while let Some(at) = rest.find(['<', '&']) {
        let (text, mark) = rest.split_at(at);
        let end = if mark.starts_with('<') {
            mark.find('>')
        } else {
            mark.find(';').filter(|_| starts_entity(mark.get(1..).unwrap_or_default()))
        };
        let (whole, after) = mark.split_at(end.map_or(1, |end| end + 1));
        if !text.is_empty() {
            out.push_str(&change(text));
        }
        out.push_str(whole);
        rest = after;
    }
    if !rest.is_empty() {
        out.push_str(&change(rest));
    }
    out
}

pub fn escape<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    if matches!(it, Value::Nil) {
        return Ok(it);
    }
    if matches!(it, Value::Safe(_)) {
        return escape_once(it, args);
    }
    if args.mode == Mode::Derived {
        return Ok(it);
    }
    let mut out = String::new();
    escape_into(&it.to_text(), &mut out);
    Ok(marked(out, args.mode))
}

/// Entities that are there already stay.
pub fn escape_once<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    if args.mode == Mode::Derived {
        return Ok(it);
    }
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
    if mode.has_markup() { Value::Safe(out.into()) } else { out.into() }
}

pub fn raw<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(if args.mode.has_markup() { Value::Safe(it.to_output()) } else { it })
}

pub fn newline_to_br<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    if args.mode == Mode::Derived && !matches!(it, Value::Safe(_)) {
        return Ok(it);
    }
    let text = if args.mode.has_markup() { markup(&it) } else { it.to_text() };
    Ok(marked(text.replace("\r\n", "\n").replace('\n', "<br />\n"), args.mode))
}

pub fn strip_html<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(if let Value::Safe(markup) = &it { plain(markup) } else { strip_tags(&it.to_text()) }.into())
}

#[cfg(test)]
mod tests {
    use super::{entity, escape_into};

    /// Every byte at every place of a word, and after it.
    #[test]
    fn each_special_character_is_found_wherever_it_stands() {
        for special in (1..=127_u8).map(char::from) {
            for before in 0..20 {
                let plain = "ä.".repeat(before);
                let (mut out, mut wanted) = (String::new(), String::new());
                escape_into(&format!("{plain}{special}{plain}"), &mut out);
                let byte = u8::try_from(special).expect("ASCII");
                let own = special.to_string();
                let written = entity(byte).unwrap_or(&own);
                put!(wanted, "{plain}{written}{plain}");
                assert_eq!(out, wanted);
            }
        }
    }
}
