//! Filters on arrays.

use std::cmp::Ordering;
use std::rc::Rc;

use super::items::{items_of, property};
use super::text::join_items;
use crate::filter::{Args, Outcome, Refused};
use crate::value::{Value, order, pair};

pub fn compact<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let mut out = Vec::new();
    for item in items_of(&it)? {
        let kept = match args.get(0) {
            None | Some(Value::Nil) => item != Value::Nil,
            Some(key) => property(&item, key)?.is_some_and(|it| it != Value::Nil),
        };
        if kept {
            out.push(item);
        }
    }
    Ok(out.into())
}

pub fn concat<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let other = args.at(0);
    if !matches!(other, Value::Array(_) | Value::Range(..)) {
        return Refused::because("`concat` takes an array");
    }
    let mut out = items_of(&it)?;
    out.extend(items_of(&other)?);
    Ok(out.into())
}

pub fn first<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(match &it {
        Value::Object(object) => object.entries().first().map_or(Value::Nil, pair),
        Value::Array(_) | Value::Range(..) => it.element(0).unwrap_or(Value::Nil),
        Value::Str(text) | Value::Safe(text) => {
            text.chars().next().map_or(Value::Nil, |it| it.to_string().into())
        }
        Value::Nil
        | Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Loop(_) => Value::Nil,
    })
}

pub fn last<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(match &it {
        Value::Array(_) | Value::Range(..) => it.element(-1).unwrap_or(Value::Nil),
        Value::Str(text) | Value::Safe(text) => {
            text.chars().next_back().map_or(Value::Nil, |it| it.to_string().into())
        }
        Value::Nil
        | Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Object(_)
        | Value::Loop(_) => Value::Nil,
    })
}

pub fn join<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    join_items(&it, args.get(0).unwrap_or(&" ".into()))
}

pub fn map<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let key = args.at(0);
    let mut out = Vec::new();
    for item in items_of(&it)? {
        if !matches!(item, Value::Object(_) | Value::Loop(_)) {
            return Refused::because("`map` takes an array of objects");
        }
        out.push(property(&item, &key)?.unwrap_or(Value::Nil));
    }
    Ok(out.into())
}

pub fn reverse<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    let mut items = items_of(&it)?;
    items.reverse();
    Ok(items.into())
}

pub fn size<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(match &it {
        Value::Object(object) => object.entries().len().into(),
        Value::Array(_) | Value::Range(..) | Value::Str(_) | Value::Safe(_) => {
            it.property("size").unwrap_or(Value::Int(0))
        }
        Value::Nil
        | Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Float(_)
        | Value::Loop(_) => Value::Int(0),
        // Ruby answers the bytes of a machine word.
        Value::Int(_) => Value::Int(8),
    })
}

pub fn sort<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let mut items = keyed(&it, args)?;
    let mut failed = false;
    items.sort_by(|(a, _), (b, _)| match (a, b) {
        (Value::Nil, Value::Nil) => Ordering::Equal,
        (Value::Nil, _) => Ordering::Greater,
        (_, Value::Nil) => Ordering::Less,
        (a, b) => order(a, b).unwrap_or_else(|_| {
            failed = true;
            Ordering::Equal
        }),
    });
    if failed {
        return Refused::because("`sort` cannot order values of different types");
    }
    Ok(items.into_iter().map(|(_, it)| it).collect::<Vec<_>>().into())
}

pub fn sort_natural<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let mut items: Vec<_> = keyed(&it, args)?
        .into_iter()
        .map(|(key, it)| ((key != Value::Nil).then(|| key.to_text().to_lowercase()), it))
        .collect();
    items.sort_by(|(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) => a.cmp(b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    Ok(items.into_iter().map(|(_, it)| it).collect::<Vec<_>>().into())
}

pub fn uniq<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let mut seen = std::collections::BTreeSet::new();
    let mut out = Vec::new();
    for (key, item) in keyed(&it, args)? {
        let mut text = String::new();
        crate::json::write(&key, &mut text);
        if seen.insert(text) {
            out.push(item);
        }
    }
    Ok(out.into())
}

/// Each item with what it is ordered by: itself, or the property that the argument names.
fn keyed<'a>(it: &Value<'a>, args: &Args<'_, 'a>) -> Result<Vec<(Value<'a>, Value<'a>)>, Refused> {
    let key = args.at(0);
    items_of(it)?
        .into_iter()
        .map(|it| {
            let by =
                if matches!(key, Value::Nil) { Some(it.clone()) } else { property(&it, &key)? };
            Ok((by.unwrap_or(Value::Nil), it))
        })
        .collect()
}

/// Items as a loop sees them; `None` for a range, which is never expanded.
pub fn loop_items<'a>(it: &Value<'a>) -> Option<Rc<Vec<Value<'a>>>> {
    match it {
        Value::Array(items) => Some(items.clone()),
        Value::Object(object) => Some(Rc::new(object.entries().iter().map(pair).collect())),
        Value::Str(text) | Value::Safe(text) if !text.is_empty() => Some(Rc::new(vec![it.clone()])),
        Value::Range(..) => None,
        Value::Nil
        | Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Str(_)
        | Value::Safe(_)
        | Value::Loop(_) => Some(Rc::new(Vec::new())),
    }
}
