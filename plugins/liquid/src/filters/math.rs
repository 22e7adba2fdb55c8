//! Filters on numbers.

use super::items::items_of;
use super::number::Number;
use crate::filter::{Args, Outcome, Refused};
use crate::value::Value;

pub fn abs<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(match Number::of(&it) {
        Number::Int(it) => it.checked_abs().map_or(Value::Int(i64::MAX), Value::Int),
        Number::Float(it) => Value::Float(it.abs()),
    })
}

pub fn at_least<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let (a, b) = (Number::of(&it), Number::of(&args.at(0)));
    Ok(if a.float() < b.float() { b } else { a }.value())
}

pub fn at_most<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let (a, b) = (Number::of(&it), Number::of(&args.at(0)));
    Ok(if a.float() > b.float() { b } else { a }.value())
}

pub fn ceil<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(Number::of(&it).whole(f64::ceil).value())
}

pub fn floor<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(Number::of(&it).whole(f64::floor).value())
}

pub fn round<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let places = Number::of(&args.at(0)).whole(f64::round);
    let Number::Int(places) = places else {
        return Ok(it);
    };
    Ok(Number::of(&it).rounded(places).value())
}

pub fn plus<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(Number::of(&it).plus(Number::of(&args.at(0))).value())
}

pub fn minus<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(Number::of(&it).minus(Number::of(&args.at(0))).value())
}

pub fn times<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(Number::of(&it).times(Number::of(&args.at(0))).value())
}

pub fn divided_by<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let (it, by) = (Number::of(&it), Number::of(&args.at(0)));
    // A float divided by 0 is infinite, as in Ruby.
    let by = if matches!(it, Number::Float(_)) { by } else { divisor(args)? };
    Ok(it.divided_by(by).value())
}

pub fn modulo<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let by = divisor(args)?;
    Ok(Number::of(&it).modulo(by).value())
}

/// The one refusal that a template can cause by itself.
pub const DIVIDED_BY_0: &str = "divided by 0";

fn divisor(args: &Args<'_, '_>) -> Result<Number, Refused> {
    let by = Number::of(&args.at(0));
    if by.is_zero_int() { Err(Refused(DIVIDED_BY_0.to_owned())) } else { Ok(by) }
}

pub fn sum<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let mut total = Number::Int(0);
    for item in items_of(&it)? {
        let item = match args.get(0) {
            None | Some(Value::Nil) => item,
            Some(key) => super::items::property(&item, key)?.unwrap_or(Value::Nil),
        };
        total = total.plus(Number::of(&item));
    }
    Ok(total.value())
}
