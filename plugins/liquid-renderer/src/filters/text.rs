//! Filters on strings.

use super::array::items_of;
use super::html::joined;
use super::number::to_integer;
use super::{Args, Outcome, Refused};
use crate::value::{Str, Value};

pub fn append<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(joined(&it, &args.at(0), args.mode))
}

pub fn prepend<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(joined(&args.at(0), &it, args.mode))
}

pub fn capitalize<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    let text = it.to_text();
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    Ok(first
        .into_iter()
        .flatten()
        .chain(chars.as_str().to_lowercase().chars())
        .collect::<String>()
        .into())
}

pub fn downcase<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(it.to_text().to_lowercase().into())
}

pub fn upcase<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(it.to_text().to_uppercase().into())
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
        Str::Shared(it) => Str::Shared(rule(&it).into()),
    };
    if matches!(it, Value::Safe(_)) { Value::Safe(text) } else { Value::Str(text) }
}

pub fn strip_newlines<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    let text: Str<'a> = it.to_text().replace("\r\n", "").replace('\n', "").into();
    Ok(if matches!(it, Value::Safe(_)) { Value::Safe(text) } else { Value::Str(text) })
}

pub fn remove<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(it.to_text().replace(&*args.at(0).to_text(), "").into())
}

pub fn remove_first<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(it.to_text().replacen(&*args.at(0).to_text(), "", 1).into())
}

pub fn remove_last<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(last_replaced(&it.to_text(), &args.at(0).to_text(), "").into())
}

pub fn replace<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(it.to_text().replace(&*args.at(0).to_text(), &args.at(1).to_text()).into())
}

pub fn replace_first<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(it.to_text().replacen(&*args.at(0).to_text(), &args.at(1).to_text(), 1).into())
}

pub fn replace_last<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(last_replaced(&it.to_text(), &args.at(0).to_text(), &args.at(1).to_text()).into())
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
        " " => text.split_whitespace().collect(),
        by => text.split(by).collect(),
    }
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
        Some((from, usize::try_from(length).ok()?))
    };
    if let Value::Array(items) = &it {
        let part =
            range(items.len()).map(|(from, n)| items.iter().skip(from).take(n).cloned().collect());
        return Ok(Value::from(part.unwrap_or_else(Vec::new)));
    }
    let text = it.to_text();
    let part =
        range(text.chars().count()).map(|(from, n)| text.chars().skip(from).take(n).collect());
    Ok(Value::from(part.unwrap_or_else(String::new)))
}

fn integer(it: &Value<'_>, filter: &str) -> Result<i64, Refused> {
    to_integer(it).ok_or_else(|| Refused(format!("`{filter}` takes whole numbers")))
}

pub fn truncate<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let length = args.get(0).map_or(Ok(50), |it| integer(it, "truncate"))?;
    let end = args.get(1).map_or(Str::Borrowed("..."), Value::to_text);
    let text = it.to_text();
    let length = usize::try_from(length).unwrap_or(0);
    if text.chars().count() <= length {
        return Ok(it);
    }
    let kept = length.saturating_sub(end.chars().count());
    Ok(text.chars().take(kept).chain(end.chars()).collect::<String>().into())
}

pub fn truncatewords<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let count = args.get(0).map_or(Ok(15), |it| integer(it, "truncatewords"))?;
    let end = args.get(1).map_or(Str::Borrowed("..."), Value::to_text);
    let text = it.to_text();
    let count = usize::try_from(count).unwrap_or(0).max(1);
    let mut words = text.split_whitespace();
    let kept: Vec<&str> = words.by_ref().take(count).collect();
    if words.next().is_none() {
        return Ok(it);
    }
    Ok(format!("{}{}", kept.join(" "), &*end).into())
}

/// The items of an array, each printed, with `by` between.
pub fn join_items(it: &Value<'_>, by: &str) -> Result<String, Refused> {
    let mut out = String::new();
    for (i, it) in items_of(it)?.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { by });
        it.print(&mut out);
    }
    Ok(out)
}
