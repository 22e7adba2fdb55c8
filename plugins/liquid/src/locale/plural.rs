//! The plural forms of CLDR, and what of a number decides which one it takes.

use super::decimal::Decimal;

/// The forms of CLDR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plural {
    Zero,
    One,
    Two,
    Few,
    Many,
    Other,
}

impl Plural {
    pub const ALL: [Self; 6] =
        [Self::Zero, Self::One, Self::Two, Self::Few, Self::Many, Self::Other];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::One => "one",
            Self::Two => "two",
            Self::Few => "few",
            Self::Many => "many",
            Self::Other => "other",
        }
    }
}

/// A number as the rules see it, under the names of UTS #35.
#[derive(Debug)]
pub struct Operands {
    /// The digits before the point.
    pub i: u64,
    /// How many digits stand behind the point.
    pub v: usize,
    /// These digits as a number.
    pub f: u64,
    /// The same without zeros at the end.
    pub t: u64,
}

impl Operands {
    /// Of a number as [`super::number`] writes it, and of the absolute value.
    pub fn of(it: Decimal) -> Self {
        let it = it.rounded(3);
        // No rule looks at more than the last six digits of a large number.
        let kept = it.whole.len().saturating_sub(15);
        let last: u64 = it.whole.get(kept..).and_then(|it| it.parse().ok()).unwrap_or(0);
        let i = if kept > 0 { last + 1_000_000_000_000_000 } else { last };
        let fraction = it.fraction.parse().unwrap_or(0);
        Self { i, v: it.fraction.len(), f: fraction, t: fraction }
    }
}
