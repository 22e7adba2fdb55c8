//! Filters that look at a property of each item: `where`, `reject`, `find`, `has`.

use super::items::{items_of, property};
use crate::filter::{Args, Outcome, Refused};
use crate::value::Value;

/// Asks items whether their property is what is wanted.
struct Question<'a> {
    key: Value<'a>,
    wanted: Value<'a>,
}

impl<'a> Question<'a> {
    fn of(args: &Args<'_, 'a>) -> Self {
        Self { key: args.at(0), wanted: args.at(1) }
    }

    /// `None` where an item has no properties.
    fn answer(&self, item: &Value<'a>) -> Result<Option<bool>, Refused> {
        let found = property(item, &self.key)?;
        Ok(found.map(|found| {
            if matches!(self.wanted, Value::Nil) { found.is_truthy() } else { found == self.wanted }
        }))
    }
}

pub fn r#where<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    kept(&it, args, Kept::Matching)
}

pub fn reject<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    kept(&it, args, Kept::Others)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Matching,
    Others,
}

fn kept<'a>(it: &Value<'a>, args: &Args<'_, 'a>, kept: Kept) -> Outcome<'a> {
    let question = Question::of(args);
    let mut out = Vec::new();
    for item in items_of(it)? {
        match question.answer(&item)? {
            None => return Ok(Value::Nil),
            Some(is_match) if is_match == (kept == Kept::Matching) => out.push(item),
            Some(_) => {}
        }
    }
    Ok(out.into())
}

/// The first item that matches; those behind it are not asked.
fn first<'a>(it: &Value<'a>, args: &Args<'_, 'a>) -> Result<Found<'a>, Refused> {
    let question = Question::of(args);
    for (i, item) in items_of(it)?.into_iter().enumerate() {
        match question.answer(&item)? {
            None => return Ok(Found::Unknown),
            Some(true) => return Ok(Found::At(i, item)),
            Some(false) => {}
        }
    }
    Ok(Found::Nothing)
}

enum Found<'a> {
    At(usize, Value<'a>),
    Nothing,
    /// An item has no properties.
    Unknown,
}

pub fn find<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(match first(&it, args)? {
        Found::At(_, it) => it,
        Found::Nothing | Found::Unknown => Value::Nil,
    })
}

pub fn find_index<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(match first(&it, args)? {
        Found::At(i, _) => i.into(),
        Found::Nothing | Found::Unknown => Value::Nil,
    })
}

pub fn has<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(match first(&it, args)? {
        Found::At(..) => Value::Bool(true),
        Found::Nothing => Value::Bool(false),
        Found::Unknown => Value::Nil,
    })
}
