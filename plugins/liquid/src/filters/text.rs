//! Filters on strings.

use super::html::{is_text, joined, markup, outside_tags, with_entities};
use super::items::items_of;
use super::number::{count, saturating_integer};
use waxwing_html_text::plain;

use crate::filter::{Args, Outcome, Refused};
use crate::value::{Str, Value};

pub fn append<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(joined(&it, &args.at(0)))
}

pub fn prepend<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(joined(&args.at(0), &it))
}

/// What `change` makes of a text, and of the text of markup, which stays markup.
fn changed<'a>(it: &Value<'a>, mut change: impl FnMut(&str) -> String) -> Value<'a> {
    if let Value::Safe(markup) = it {
        return Value::Safe(outside_tags(markup, change).into());
    }
    change(&it.to_text()).into()
}

pub fn capitalize<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    let mut is_first = true;
    Ok(changed(&it, |text| {
        let mut chars = text.chars();
        let first = if std::mem::take(&mut is_first) { chars.next() } else { None };
        let first = first.into_iter().flat_map(char::to_uppercase);
        first.chain(chars.as_str().to_lowercase().chars()).collect()
    }))
}

pub fn downcase<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(changed(&it, str::to_lowercase))
}

pub fn upcase<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(changed(&it, str::to_uppercase))
}

pub fn default<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let allow_false = args.named("allow_false").is_some_and(Value::is_truthy);
    let absent = match it {
        Value::Nil | Value::Empty | Value::Blank => true,
        Value::Bool(it) => !it && !allow_false,
        Value::Str(_) | Value::Safe(_) | Value::Array(_) | Value::Object(_) => it.is_empty(),
        Value::Int(_) | Value::Float(_) | Value::Range(..) | Value::Loop(_) => false,
    };
    Ok(if absent { args.at(0) } else { it })
}

pub fn strip<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(cut(it, str::trim))
}

pub fn lstrip<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(cut(it, str::trim_start))
}

pub fn rstrip<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(cut(it, str::trim_end))
}

/// Markup that loses only white space is still markup.
fn cut(it: Value<'_>, rule: fn(&str) -> &str) -> Value<'_> {
    let text = match it.to_text() {
        Str::Borrowed(it) => Str::Borrowed(rule(it)),
        Str::Shared(it) => rule(&it).to_owned().into(),
    };
    if matches!(it, Value::Safe(_)) { Value::Safe(text) } else { Value::Str(text) }
}

pub fn strip_newlines<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    let text: Str<'a> = it.to_text().replace("\r\n", "").replace('\n', "").into();
    Ok(if matches!(it, Value::Safe(_)) { Value::Safe(text) } else { Value::Str(text) })
}

pub fn remove<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(replaced(&it, &args.at(0), &Value::Nil, all_replaced))
}

pub fn remove_first<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(replaced(&it, &args.at(0), &Value::Nil, first_replaced))
}

pub fn remove_last<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(replaced(&it, &args.at(0), &Value::Nil, last_replaced))
}

pub fn replace<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(replaced(&it, &args.at(0), &args.at(1), all_replaced))
}

pub fn replace_first<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(replaced(&it, &args.at(0), &args.at(1), first_replaced))
}

pub fn replace_last<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(replaced(&it, &args.at(0), &args.at(1), last_replaced))
}

/// A rule that takes a text, what is looked for, and what comes in its place.
type Rule = fn(&str, &str, &str) -> String;

/// Markup stays markup, whatever is put in; text becomes markup where markup is put in.
fn replaced<'a>(it: &Value<'a>, old: &Value<'a>, new: &Value<'a>, rule: Rule) -> Value<'a> {
    if let Value::Safe(text) = it {
        return Value::Safe(rule(&with_entities(text), &needle(old), &markup(new)).into());
    }
    let (text, old) = (it.to_text(), old.to_text());
    if is_text(new) {
        return rule(&text, &old, &new.to_text()).into();
    }
    // A character that no text should have stands for the markup until the rest is escaped.
    let marked: Value<'_> = rule(&text, &old, PLACE).into();
    Value::Safe(markup(&marked).replace(PLACE, &markup(new)).into())
}

const PLACE: &str = "\u{FDD0}";

/// What is looked for in markup, as markup has it.
fn needle(it: &Value<'_>) -> String {
    if let Value::Safe(text) = it { with_entities(text) } else { (*markup(it)).to_owned() }
}

fn all_replaced(text: &str, old: &str, new: &str) -> String {
    text.replace(old, new)
}

fn first_replaced(text: &str, old: &str, new: &str) -> String {
    text.replacen(old, new, 1)
}

fn last_replaced(text: &str, old: &str, new: &str) -> String {
    let Some(at) = text.rfind(old) else {
        return text.to_owned();
    };
    let (before, rest) = text.split_at(at);
    let after = rest.get(old.len()..).unwrap_or_default();
    format!("{before}{new}{after}")
}

pub fn split<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    if !is_text(&it) {
        let (text, by) = (with_entities(&it.to_text()), needle(&args.at(0)));
        let parts = pieces(&text, &by).into_iter();
        let mut parts: Vec<Value<'a>> = parts.map(|it| Value::Safe(it.to_owned().into())).collect();
        while parts.last().is_some_and(Value::is_empty) {
            parts.pop();
        }
        return Ok(parts.into());
    }
    let text = it.to_text();
    let by = args.at(0).to_text();
    let mut parts: Vec<Value<'a>> = match text {
        Str::Borrowed(text) => pieces(text, &by).into_iter().map(Value::from).collect(),
        Str::Shared(text) => {
            pieces(&text, &by).into_iter().map(|it| Value::from(it.to_owned())).collect()
        }
    };
    while parts.last().is_some_and(Value::is_empty) {
        parts.pop();
    }
    Ok(parts.into())
}

fn pieces<'t>(text: &'t str, by: &str) -> Vec<&'t str> {
    match by {
        "" => text.split("").filter(|it| !it.is_empty()).collect(),
        " " => words(text).collect(),
        by => text.split(by).collect(),
    }
}

/// White space as Ruby's `split` and `squish` have it: a non-breaking space holds a word together.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|it| !it.is_empty())
}

const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

/// White space before and behind the text goes, and each other run of it is one space.
pub fn squish<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    if matches!(it, Value::Nil) {
        return Ok(Value::Nil);
    }
    let mut out = String::new();
    for word in words(&it.to_text()) {
        out.push_str(if out.is_empty() { "" } else { " " });
        out.push_str(word);
    }
    Ok(if matches!(it, Value::Safe(_)) { Value::Safe(out.into()) } else { out.into() })
}

pub fn slice<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let start = integer(&args.at(0), "slice")?;
    let length = match args.get(1) {
        None | Some(Value::Nil) => 1,
        Some(it) => integer(it, "slice")?,
    };
    let range = |size: usize| {
        let size_int = i64::try_from(size).unwrap_or(i64::MAX);
        let start = if start < 0 { start.saturating_add(size_int) } else { start };
        let from = usize::try_from(start).ok().filter(|it| *it <= size)?;
        (length >= 0).then(|| (from, count(length)))
    };
    if let Value::Array(items) = &it {
        let part =
            range(items.len()).map(|(from, n)| items.iter().skip(from).take(n).cloned().collect());
        return Ok(Value::from(part.unwrap_or_else(Vec::new)));
    }
    let text = shown(&it);
    let part =
        range(text.chars().count()).map(|(from, n)| text.chars().skip(from).take(n).collect());
    Ok(Value::from(part.unwrap_or_else(String::new)))
}

fn integer(it: &Value<'_>, filter: &str) -> Result<i64, Refused> {
    saturating_integer(it).ok_or_else(|| Refused(format!("`{filter}` takes whole numbers")))
}

/// What a reader sees: markup is not cut in the middle of a tag or an entity.
fn shown<'a>(it: &Value<'a>) -> Str<'a> {
    if is_text(it) { it.to_text() } else { plain(&it.to_text()).into() }
}

pub fn truncate<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    if matches!(it, Value::Nil) {
        return Ok(it);
    }
    let length = args.get(0).map_or(Ok(50), |it| integer(it, "truncate"))?;
    let end = args.get(1).map_or(Str::Borrowed("..."), Value::to_text);
    let text = shown(&it);
    if length >= 0 && text.chars().count() <= count(length) {
        return Ok(whole(it, text));
    }
    let kept = count(length).saturating_sub(end.chars().count());
    Ok(text.chars().take(kept).chain(end.chars()).collect::<String>().into())
}

/// What was short enough: markup stays markup.
fn whole<'a>(it: Value<'a>, text: Str<'a>) -> Value<'a> {
    if matches!(it, Value::Safe(_)) { it } else { Value::Str(text) }
}

pub fn truncatewords<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    if matches!(it, Value::Nil) {
        return Ok(it);
    }
    let most = args.get(0).map_or(Ok(15), |it| integer(it, "truncatewords"))?;
    let end = args.get(1).map_or(Str::Borrowed("..."), Value::to_text);
    let text = shown(&it);
    let most = count(most).max(1);
    let mut kept = String::new();
    let mut rest = text.trim_start_matches(is_space);
    let mut left = most;
    // White space behind the last word counts as more to come, as in Ruby.
    while left > 0
        && let Some(at) = rest.find(is_space)
    {
        let (word, after) = rest.split_at(at);
        kept.push_str(if kept.is_empty() { "" } else { " " });
        kept.push_str(word);
        rest = after.trim_start_matches(is_space);
        left -= 1;
    }
    if left > 0 {
        return Ok(whole(it, text));
    }
    Ok(format!("{kept}{}", &*end).into())
}

/// The items of an array, each printed, with `by` between. With markup among them it is markup.
pub fn join_items<'a>(it: &Value<'a>, by: &Value<'a>) -> Result<Value<'a>, Refused> {
    let items = items_of(it)?;
    let mut out = String::new();
    if items.iter().all(is_text) && is_text(by) {
        let by = by.to_text();
        for (i, it) in items.iter().enumerate() {
            out.push_str(if i == 0 { "" } else { &by });
            it.print(&mut out);
        }
        return Ok(out.into());
    }
    let by = markup(by);
    for (i, it) in items.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { &by });
        out.push_str(&markup(it));
    }
    Ok(Value::Safe(out.into()))
}
