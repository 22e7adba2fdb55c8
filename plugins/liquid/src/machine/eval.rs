//! Values of expressions and conditions.

use std::cmp::Ordering;

use super::{MAX_MISSING, Machine, Stopped, Whose};
use crate::ast::{
    Comparison, Condition, Expr, FilterCall, Literal, Logic, Operator, Path, Primary, Root,
    Segment, Sense,
};
use crate::filter::{Args, Run};
use crate::filters::{DIVIDED_BY_0, Number};
use crate::locale::ENGLISH;
use crate::value::{Incomparable, Str, Value, kind, order};

impl<'a> Machine<'a> {
    pub(super) fn expr(&mut self, it: &'a Expr) -> Result<Value<'a>, Stopped> {
        let noted = self.missing.len();
        let mut value = self.primary(&it.value);
        for call in &it.filters {
            value = self.filter(value, call)?;
            if call.filter.name == "default" && !matches!(value, Value::Nil) {
                self.missing.truncate(noted);
            }
        }
        Ok(value)
    }

    fn filter(&mut self, value: Value<'a>, call: &'a FilterCall) -> Result<Value<'a>, Stopped> {
        let Run::Function(run) = call.filter.run else { return self.translate(&value, call) };
        let args: Vec<_> = call.args.iter().map(|it| self.primary(it)).collect();
        let named: Vec<_> = call.named.iter().map(|(key, it)| (&**key, self.primary(it))).collect();
        let args = Args {
            positional: &args,
            named: &named,
            mode: self.mode,
            now_unix_ms: self.now_unix_ms,
            locale: self.locale,
        };
        run(value, &args).map_err(|it| {
            let fixed = !call.args.is_empty()
                && call.args.iter().all(|it| matches!(it, Primary::Literal(_)));
            let whose = if it.0 == DIVIDED_BY_0 && fixed { Whose::Template } else { Whose::Data };
            Stopped { whose, ..Stopped::new("render_error", call.at, it.0) }
        })
    }

    pub(super) fn primary(&mut self, it: &'a Primary) -> Value<'a> {
        match it {
            Primary::Literal(it) => literal(it),
            Primary::Path(it) => self.path(it),
            Primary::Range(ends) => {
                let (from, to) = (self.primary(&ends.0), self.primary(&ends.1));
                Value::Range(whole(&from), whole(&to))
            }
        }
    }

    /// A path that leads nowhere is `nil`, and is noted: unless a condition or `default` takes care of
    /// it, the message has a blank in its place.
    fn path(&mut self, path: &'a Path) -> Value<'a> {
        if let Some(value) = self.names.look(path) {
            return value.clone();
        }
        let mut segments = path.segments.as_slice();
        let root = match &path.root {
            Root::Name(name) => self.names.value(name),
            Root::Computed(it) => {
                let name = self.primary(it);
                name.as_str().and_then(|it| self.names.value(it))
            }
            Root::Locale => match self.names.binding("locale") {
                Some(it) => Some(it.value.clone()),
                None => self.of_locale(&mut segments),
            },
        };
        let mut value = root.unwrap_or(Value::Nil);
        for segment in segments {
            let next = match segment {
                Segment::Key(key) => value.property(key),
                Segment::Item(key) => value.item(key),
                Segment::Index(index) => value.element(*index),
                Segment::Computed(key) => {
                    let key = self.primary(key);
                    value.lookup(&key)
                }
            };
            value = next.unwrap_or(Value::Nil);
        }
        if matches!(value, Value::Nil) && self.unprinted == 0 {
            self.note_missing(path);
        }
        value
    }

    /// `lang` or `dir`, as the first of the segments says.
    fn of_locale(&self, segments: &mut &'a [Segment]) -> Option<Value<'a>> {
        let locale = self.locale.unwrap_or(&ENGLISH);
        let (Segment::Key(key) | Segment::Item(key), rest) = segments.split_first()? else {
            return None;
        };
        *segments = rest;
        Some(if &**key == "lang" { locale.lang() } else { locale.dir() }.into())
    }

    fn note_missing(&mut self, path: &Path) {
        if self.missing.len() < MAX_MISSING
            && let Some(path) = self.origin(path)
            && !self.missing.contains(&path)
        {
            self.missing.push(path);
        }
    }

    /// The path in the data that a path of the template stands for.
    pub(super) fn origin(&self, path: &Path) -> Option<String> {
        let name: &str = match &path.root {
            Root::Name(name) => name,
            Root::Locale => "locale",
            Root::Computed(_) => return None,
        };
        let mut out = match self.names.binding(name) {
            None if matches!(path.root, Root::Locale) => return None,
            Some(it) => it.origin.as_deref()?.to_owned(),
            None if matches!(name, "forloop" | "tablerowloop") => return None,
            None if self.names.counter(name).is_some() => return None,
            None => name.to_owned(),
        };
        for segment in &path.segments {
            match segment {
                Segment::Key(key) | Segment::Item(key) => put!(out, ".{key}"),
                Segment::Index(index) => put!(out, "[{index}]"),
                Segment::Computed(_) => return None,
            }
        }
        Some(out)
    }

    /// As [`Machine::origin`], for any value.
    pub(super) fn origin_of(&self, it: &Primary) -> Option<String> {
        if let Primary::Path(path) = it { self.origin(path) } else { None }
    }

    /// A condition prints nothing, so what it finds absent goes out blank nowhere.
    pub(super) fn holds(&mut self, it: &'a Condition) -> Result<bool, Stopped> {
        self.unprinted += 1;
        let holds = self.all_hold(it);
        self.unprinted -= 1;
        holds
    }

    fn all_hold(&mut self, it: &'a Condition) -> Result<bool, Stopped> {
        let mut holds = self.comparison(&it.first)?;
        for (logic, next) in &it.rest {
            match logic {
                Logic::And if !holds => break,
                Logic::Or if holds => break,
                Logic::And | Logic::Or => holds = self.comparison(next)?,
            }
        }
        Ok(holds == (it.sense == Sense::If))
    }

    fn comparison(&mut self, it: &'a Comparison) -> Result<bool, Stopped> {
        let left = self.primary(&it.left);
        let Some((operator, right)) = &it.right else {
            return Ok(left.is_truthy());
        };
        let right = self.primary(right);
        let holds: fn(Ordering) -> bool = match operator {
            Operator::Equal => return Ok(left == right),
            Operator::NotEqual => return Ok(left != right),
            Operator::Contains => return Ok(contains(&left, &right)),
            Operator::Less => Ordering::is_lt,
            Operator::LessOrEqual => Ordering::is_le,
            Operator::Greater => Ordering::is_gt,
            Operator::GreaterOrEqual => Ordering::is_ge,
        };
        if unordered(&left) || unordered(&right) {
            return Ok(false);
        }
        match order(&left, &right) {
            Ok(it) => Ok(holds(it)),
            Err(Incomparable) => self.unlike(it, (&left, &right)).map(|()| false),
        }
    }

    /// A string and a number have no order: to guess which branch is meant could
    /// send what is not true. Of a value in the data it is said where it stands; the render goes on, so
    /// that all such places are named.
    fn unlike(
        &mut self,
        it: &'a Comparison,
        (left, right): (&Value<'a>, &Value<'a>),
    ) -> Result<(), Stopped> {
        let origin = |it: &Primary| self.origin_of(it);
        let right_side = it.right.as_ref().map(|(_, right)| right);
        let (path, value, other) = match (origin(&it.left), right_side.and_then(origin)) {
            // Of two places in the data the string is more likely to be the wrong one.
            (Some(_), Some(path)) if right.as_str().is_some() => (Some(path), right, left),
            (Some(path), _) => (Some(path), left, right),
            (None, Some(path)) => (Some(path), right, left),
            (None, None) => (None, left, right),
        };
        let cure = if matches!(
            (value, other),
            (Value::Str(_) | Value::Safe(_), Value::Int(_) | Value::Float(_))
        ) {
            "; send a number, or make it one in the template with `| plus: 0` in an `assign`"
        } else {
            "; values of different types have no order"
        };
        let what = format!("it is {}, but it is compared with {}{cure}", kind(value), kind(other));
        if path.is_some() {
            self.wrong_type(path, &what);
            return Ok(());
        }
        let fixed = |it: &Primary| matches!(it, Primary::Literal(_) | Primary::Range(_));
        let is_fixed = fixed(&it.left) && right_side.is_some_and(fixed);
        let whose = if is_fixed { Whose::Template } else { Whose::Data };
        let message = format!("{} is compared with {}{cure}", kind(left), kind(right));
        Err(Stopped { whose, ..Stopped::new("render_error", it.at, message) })
    }
}

/// What has no order, as in Ruby: a comparison with it is false, not an error.
const fn unordered(it: &Value<'_>) -> bool {
    match it {
        Value::Int(_) | Value::Str(_) | Value::Safe(_) => false,
        Value::Float(it) => it.is_nan(),
        Value::Nil
        | Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Array(_)
        | Value::Object(_)
        | Value::Range(..)
        | Value::Loop(_) => true,
    }
}

fn contains(left: &Value<'_>, right: &Value<'_>) -> bool {
    if !right.is_truthy() {
        return false;
    }
    match left {
        Value::Str(text) | Value::Safe(text) => text.contains(&*right.to_text()),
        Value::Array(items) => items.contains(right),
        Value::Object(object) => right.as_str().is_some_and(|it| object.get(it).is_some()),
        Value::Range(from, to) => matches!(right, Value::Int(it) if from <= it && it <= to),
        Value::Nil
        | Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Loop(_) => false,
    }
}

fn literal(it: &Literal) -> Value<'_> {
    match it {
        Literal::Nil => Value::Nil,
        Literal::Blank => Value::Blank,
        Literal::Empty => Value::Empty,
        Literal::Bool(it) => Value::Bool(*it),
        Literal::Int(it) => Value::Int(*it),
        Literal::Float(it) => Value::Float(*it),
        Literal::Str(it) => Value::Str(Str::Borrowed(it)),
        Literal::Markup(it) => Value::Safe(Str::Borrowed(it)),
    }
}

/// The end of a range: fractions are cut off, other types count as 0.
fn whole(it: &Value<'_>) -> i64 {
    match Number::of(it).whole(f64::trunc) {
        Number::Int(it) => it,
        Number::Float(_) => 0,
    }
}
