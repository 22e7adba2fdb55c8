//! Decimal numbers as they are written: no binary fraction is rounded.

use crate::value::Value;

/// A longer text is no number.
const MAX_NUMBER_BYTES: usize = 1_000;

/// The digits of a number. There are none that mean nothing: no zeros at the start or at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    pub is_negative: bool,
    /// Before the point; empty below 1.
    pub whole: String,
    /// Behind the point.
    pub fraction: String,
}

impl Decimal {
    /// A number, or text that is one: `-1234.5`, `.5`, `1e3`. `None` for others, and for NaN and infinity.
    pub fn of(it: &Value<'_>) -> Option<Self> {
        match it {
            Value::Int(it) => Self::parse(itoa::Buffer::new().format(*it)),
            // The shortest digits that mean this number: those that were sent.
            Value::Float(it) if it.is_finite() => Self::parse(&it.to_string()),
            Value::Str(it) | Value::Safe(it) => Self::parse(it.trim()),
            Value::Nil
            | Value::Blank
            | Value::Empty
            | Value::Bool(_)
            | Value::Float(_)
            | Value::Array(_)
            | Value::Object(_)
            | Value::Range(..)
            | Value::Loop(_) => None,
        }
    }

    /// An amount in minor units, of which `digits` stand behind the point.
    pub fn of_minor(amount: i64, digits: usize) -> Self {
        let text = format!("{:0>width$}", amount.unsigned_abs(), width = digits);
        let (whole, fraction) = text.split_at(text.len() - digits);
        Self { is_negative: amount < 0, whole: whole.to_owned(), fraction: fraction.to_owned() }
            .trimmed()
    }

    fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_NUMBER_BYTES {
            return None;
        }
        let unsigned = text.strip_prefix(['-', '+', '\u{2212}']).unwrap_or(text);
        let is_negative = text.starts_with(['-', '\u{2212}']);
        let (digits, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
        let size = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        let is_number = all(whole)
            && all(fraction)
            && (whole.len() + fraction.len() > 0)
            && all(size)
            && (1..=3).contains(&size.len());
        if !is_number {
            return None;
        }
        let it = Self { is_negative, whole: whole.to_owned(), fraction: fraction.to_owned() };
        Some(it.shifted(exponent.parse().ok()?).trimmed())
    }

    /// Times ten to the power of `places`.
    pub fn shifted(mut self, places: i32) -> Self {
        let count = usize::try_from(places.unsigned_abs()).unwrap_or_default();
        if places >= 0 {
            let mut fraction = format!("{:0<count$}", self.fraction);
            self.fraction = fraction.split_off(count);
            self.whole.push_str(&fraction);
        } else {
            self.whole = format!("{:0>count$}", self.whole);
            let moved = self.whole.split_off(self.whole.len() - count);
            self.fraction.insert_str(0, &moved);
        }
        self.trimmed()
    }

    /// With at most so many digits behind the point; halves go away from zero.
    pub fn rounded(mut self, places: usize) -> Self {
        let Some(next) = self.fraction.as_bytes().get(places).copied() else { return self };
        self.fraction.truncate(places);
        if next >= b'5' {
            // A zero at the start takes what is carried over all nines.
            let mut digits = format!("0{}{}", self.whole, self.fraction).into_bytes();
            let nines = digits.iter().rev().take_while(|it| **it == b'9').count();
            let at = digits.len() - nines;
            digits[at..].fill(b'0');
            digits[at - 1] += 1;
            let (whole, fraction) = digits.split_at(1 + self.whole.len());
            let text = |it: &[u8]| it.iter().copied().map(char::from).collect();
            (self.whole, self.fraction) = (text(whole), text(fraction));
        }
        self.trimmed()
    }

    fn trimmed(mut self) -> Self {
        let zeros = self.whole.bytes().take_while(|it| *it == b'0').count();
        self.whole.drain(..zeros);
        self.fraction.truncate(self.fraction.trim_end_matches('0').len());
        // What is printed as zero has no sign.
        self.is_negative &= !(self.whole.is_empty() && self.fraction.is_empty());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn rounded(text: &str, places: usize) -> String {
        let it = Decimal::parse(text).expect("a number").rounded(places);
        format!("{}{}.{}", if it.is_negative { "-" } else { "" }, it.whole, it.fraction)
    }

    #[test]
    fn halves_are_rounded_away_from_zero_by_their_digits() {
        for (text, places, expected) in [
            ("1.005", 2, "1.01"),
            ("-1.005", 2, "-1.01"),
            ("0.995", 2, "1."),
            ("9.995", 2, "10."),
            ("999.5", 0, "1000."),
            ("0.5", 0, "1."),
            ("0.4", 0, "."),
            ("-0.004", 2, "."),
            ("0.30000000000000004", 2, ".3"),
            ("12.34", 5, "12.34"),
        ] {
            assert_eq!(rounded(text, places), expected, "{text} to {places} places");
        }
    }

    #[test]
    fn text_is_a_number_only_where_all_of_it_is() {
        for (text, expected) in [
            ("007.50", "7.5"),
            (".5", ".5"),
            ("5.", "5."),
            ("-1e3", "-1000."),
            ("1.5e-3", ".0015"),
            ("+2", "2."),
        ] {
            assert_eq!(rounded(text, 99), expected, "{text}");
        }
        let long = "1".repeat(1_001);
        for text in [
            "", "-", ".", "e", "1e", "1e9999", "1,5", "1 000", "NaN", "Infinity", "0x1", "1_0",
            "--1", "1e+-2", &long,
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
