//! Numbers: integers while they fit, decimals exactly (10.1 + 2.2 is 12.3), floats for the rest.

#![expect(clippy::float_arithmetic, reason = "Liquid's maths has floats")]

use crate::value::Value;

#[derive(Debug, Clone, Copy)]
pub enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    /// Anything that is not a number counts as 0; of a string its leading digits.
    pub fn of(it: &Value<'_>) -> Self {
        if let Value::Int(it) = it {
            return Self::Int(*it);
        }
        if let Value::Float(it) = it {
            return Self::Float(*it);
        }
        it.as_str().map_or(Self::Int(0), Self::parse)
    }

    fn parse(text: &str) -> Self {
        let text = text.trim();
        let digits = text.strip_prefix('-').unwrap_or(text);
        if let Some((whole, fraction)) = digits.split_once('.') {
            let all = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
            if all(whole) && all(fraction) {
                return Self::Float(text.parse().unwrap_or(0.0));
            }
        }
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let sign = text.len() - digits.len();
        let lead = text.get(..sign + length).unwrap_or_default();
        lead.parse()
            .map_or_else(|_| Self::Float(lead.parse().unwrap_or(0.0)), Self::Int)
            .zero_if_empty(lead)
    }

    fn zero_if_empty(self, lead: &str) -> Self {
        if lead.is_empty() || lead == "-" { Self::Int(0) } else { self }
    }

    #[expect(clippy::cast_precision_loss, reason = "arithmetic with a float is float arithmetic")]
    pub const fn float(self) -> f64 {
        match self {
            Self::Int(it) => it as f64,
            Self::Float(it) => it,
        }
    }

    pub const fn is_zero_int(self) -> bool {
        matches!(self, Self::Int(0))
    }

    pub fn plus(self, other: Self) -> Self {
        self.exact(other, i64::checked_add, |a, b, _| a.checked_add(b), |a, b| a + b)
    }

    pub fn minus(self, other: Self) -> Self {
        self.exact(other, i64::checked_sub, |a, b, _| a.checked_sub(b), |a, b| a - b)
    }

    /// The sign of a zero is kept.
    pub fn times(self, other: Self) -> Self {
        let exact = || {
            let (a, b) = (decimal(self)?, decimal(other)?);
            from_scaled(a.0.checked_mul(b.0)?, a.1 + b.1).filter(|it| *it != 0.0)
        };
        self.combined(other, i64::checked_mul, exact, |a, b| a * b)
    }

    /// Integers divide to the floor, and not by 0.
    pub fn divided_by(self, other: Self) -> Self {
        let ints = |a: i64, b: i64| {
            let rounds_down = a.checked_rem(b).is_some_and(|it| it != 0 && (it < 0) != (b < 0));
            a.checked_div(b).map(|it| it - i64::from(rounds_down))
        };
        let exact = || {
            let (a, b, _) = aligned(self, other)?;
            // A zero has a sign as a float only.
            (a != 0 && b != 0).then(|| quotient(a, b))
        };
        self.combined(other, ints, exact, |a, b| a / b)
    }

    /// The remainder has the divisor's sign; the divisor is not the integer 0.
    pub fn modulo(self, other: Self) -> Self {
        let floored = |a: i128, b: i128| {
            let it = a.checked_rem(b)?;
            Some(if it != 0 && (it < 0) != (b < 0) { it + b } else { it })
        };
        self.exact(
            other,
            |a, b| i64::try_from(floored(a.into(), b.into())?).ok(),
            |a, b, _| floored(a, b),
            |a, b| a - b * (a / b).floor(),
        )
    }

    /// As decimals of one scale, where both can be read so.
    fn exact(
        self,
        other: Self,
        ints: impl Fn(i64, i64) -> Option<i64>,
        decimals: impl Fn(i128, i128, u32) -> Option<i128>,
        floats: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let exact = || {
            let (a, b, scale) = aligned(self, other)?;
            from_scaled(decimals(a, b, scale)?, scale)
        };
        self.combined(other, ints, exact, floats)
    }

    /// Two integers as integers, others exactly; as floats where that has no result.
    fn combined(
        self,
        other: Self,
        ints: impl Fn(i64, i64) -> Option<i64>,
        exact: impl Fn() -> Option<f64>,
        floats: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let as_floats = || floats(self.float(), other.float());
        if let (Self::Int(a), Self::Int(b)) = (self, other) {
            return ints(a, b).map_or_else(|| Self::Float(as_floats()), Self::Int);
        }
        Self::Float(exact().unwrap_or_else(as_floats))
    }

    pub fn value<'a>(self) -> Value<'a> {
        match self {
            Self::Int(it) => Value::Int(it),
            Self::Float(it) => Value::Float(it),
        }
    }

    /// To a whole number by `rule`, e.g. `f64::floor`.
    pub fn whole(self, rule: fn(f64) -> f64) -> Self {
        match self {
            Self::Int(_) => self,
            Self::Float(it) => Self::Int(saturating(rule(it))),
        }
    }

    /// To so many places, halves away from zero.
    pub fn rounded(self, places: i64) -> Self {
        if places <= 0 {
            let unit =
                u32::try_from(places.unsigned_abs()).ok().and_then(|it| 10_i64.checked_pow(it));
            let Self::Int(whole) = self.whole(f64::round) else {
                return self;
            };
            return Self::Int(unit.map_or(0, |unit| {
                let half = unit / 2;
                let away =
                    if whole < 0 { whole.saturating_sub(half) } else { whole.saturating_add(half) };
                away / unit * unit
            }));
        }
        match self {
            Self::Int(_) => self,
            Self::Float(it) => {
                let factor = 10_f64.powi(i32::try_from(places).unwrap_or(300).min(300));
                let scaled = it * factor;
                if scaled.is_finite() { Self::Float(scaled.round() / factor) } else { self }
            }
        }
    }
}

/// An integer, or text of one; none otherwise.
pub fn to_integer(it: &Value<'_>) -> Option<i64> {
    if let Value::Int(it) = it {
        return Some(*it);
    }
    it.as_str()?.trim().parse().ok()
}

/// As `limit:` and `slice` take integers: what is too large is as large as can be, and text may have `_`
/// between its digits.
pub fn saturating_integer(it: &Value<'_>) -> Option<i64> {
    if let Value::Float(it) = it {
        // A number of the data that does not fit in 64 bits was read as a float.
        return (it.abs() >= TWO_POW_63).then(|| saturating(*it));
    }
    to_integer(it).or_else(|| whole_text(it.as_str()?.trim()))
}

const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

fn whole_text(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let all = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    if !digits.split('_').all(all) {
        return None;
    }
    let beyond = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(text.replace('_', "").parse().unwrap_or(beyond))
}

/// A count that is given as an integer: below 0 it is 0. On 32 bits as on 64, what is too large is
/// more than anything can hold.
pub fn count(it: i64) -> usize {
    if it < 0 { 0 } else { usize::try_from(it).unwrap_or(usize::MAX) }
}

#[expect(clippy::cast_possible_truncation, reason = "a float to integer cast saturates")]
pub const fn saturating(it: f64) -> i64 {
    it as i64
}

/// Digits and how many of them are behind the point.
fn decimal(it: Number) -> Option<(i128, u32)> {
    match it {
        Number::Int(it) => Some((it.into(), 0)),
        Number::Float(it) => {
            let text = it.to_string();
            if text.len() > 25 {
                return None;
            }
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            let digits = format!("{whole}{fraction}").parse().ok()?;
            Some((digits, u32::try_from(fraction.len()).ok()?))
        }
    }
}

/// Both as integers at a common scale.
fn aligned(a: Number, b: Number) -> Option<(i128, i128, u32)> {
    let (a, b) = (decimal(a)?, decimal(b)?);
    let scale = a.1.max(b.1);
    let all = |it: (i128, u32)| it.0.checked_mul(10_i128.checked_pow(scale - it.1)?);
    Some((all(a)?, all(b)?, scale))
}

#[expect(clippy::cast_precision_loss, reason = "a quotient is a float")]
const fn quotient(a: i128, b: i128) -> f64 {
    a as f64 / b as f64
}

fn from_scaled(digits: i128, scale: u32) -> Option<f64> {
    format!("{digits}e-{scale}").parse().ok()
}
