//! Filters that look at a property of each item: `where`, `reject`, `find`, `has`.

use super::items::{items_of, property};
use crate::filter::{Args, Outcome, Refused};
use crate::value::Value;

/// The items and whether each matches; `None` where one cannot be asked.
type Matched<'a> = Option<Vec<(bool, Value<'a>)>>;

fn matched<'a>(it: &Value<'a>, args: &Args<'_, 'a>) -> Result<Matched<'a>, Refused> {
    let (key, wanted) = (args.at(0), args.at(1));
    let mut out = Vec::new();
    for item in items_of(it)? {
        let Some(found) = property(&item, &key)? else {
            return Ok(None);
        };
        let matches =
            if matches!(wanted, Value::Nil) { found.is_truthy() } else { found == wanted };
        out.push((matches, item));
    }
    Ok(Some(out))
}

pub fn r#where<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    kept(matched(&it, args)?, true)
}

pub fn reject<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    kept(matched(&it, args)?, false)
}

fn kept(items: Matched<'_>, sense: bool) -> Outcome<'_> {
    Ok(items.map_or(Value::Nil, |items| {
        items
            .into_iter()
            .filter(|(it, _)| *it == sense)
            .map(|(_, it)| it)
            .collect::<Vec<_>>()
            .into()
    }))
}

pub fn find<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let found = matched(&it, args)?.and_then(|it| it.into_iter().find(|(it, _)| *it));
    Ok(found.map_or(Value::Nil, |(_, it)| it))
}

pub fn find_index<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let found = matched(&it, args)?.and_then(|it| it.iter().position(|(it, _)| *it));
    Ok(found.map_or(Value::Nil, Value::from))
}

pub fn has<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let found = matched(&it, args)?.map(|it| it.iter().any(|(it, _)| *it));
    Ok(found.map_or(Value::Nil, Value::Bool))
}
