//! Constants of a source file, their values, and how a person writes them.

use std::collections::BTreeMap;
use std::fmt;

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Count(u64),
    Bytes(u64),
    Micros(u64),
}

/// `const NAME: … = …;` of a file.
pub struct Constant {
    /// Below `host/src`, or `crates/…`.
    pub file: String,
    pub name: String,
    pub value: Value,
}

/// The constants of a source that are numbers or times.
pub fn constants(file: &str, source: &str) -> Vec<Constant> {
    let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut known, mut constants) = (BTreeMap::new(), Vec::new());
    let declared = declarations(code);
    // A constant may be made of one that stands further down.
    for _ in 0..2 {
        for (name, expression) in &declared {
            if let Some(value) = evaluate(expression, &known) {
                known.insert(name.clone(), value);
            }
        }
    }
    for (name, expression) in declared {
        if let Some(value) = evaluate(&expression, &known) {
            let is_time =
                expression.contains("Duration::") || !expression.contains(char::is_numeric);
            let is_size = ["BYTES", "OCTETS", "MEMORY"].iter().any(|it| name.contains(it));
            let value = match value {
                value if is_time => Value::Micros(value),
                value if is_size || expression.contains("<<") => Value::Bytes(value),
                value => Value::Count(value),
            };
            constants.push(Constant { file: file.to_owned(), name, value });
        }
    }
    constants
}

/// Name and expression of each constant.
fn declarations(code: &str) -> Vec<(String, String)> {
    let declared = |line: &str| {
        let (before, rest) = line.trim().split_once("const ")?;
        let (name, rest) = rest.split_once(": ")?;
        let (_, expression) = rest.split_once(" = ")?;
        let is_declaration = before.is_empty() || before.starts_with("pub");
        is_declaration.then(|| (name.to_owned(), expression.trim_end_matches(';').to_owned()))
    };
    code.lines().filter_map(declared).collect()
}

/// Numbers, `*`, `<<`, `-`, the constructors of `Duration` (in microseconds) and `NonZero`, and known names.
fn evaluate(expression: &str, known: &BTreeMap<String, u64>) -> Option<u64> {
    let expression = expression.trim().trim_end_matches(".expect(\"not zero\")");
    let inside = |name: &str| expression.split_once(name)?.1.strip_prefix('(')?.strip_suffix(')');
    for (constructor, micros) in [
        ("Duration::from_micros", 1),
        ("Duration::from_millis", 1_000),
        ("Duration::from_secs", 1_000_000),
        ("Duration::from_mins", 60_000_000),
        ("Duration::from_hours", 3_600_000_000),
    ] {
        if expression.starts_with(constructor) {
            return evaluate(inside(constructor)?, known)?.checked_mul(micros);
        }
    }
    if expression.starts_with("NonZero") {
        return evaluate(inside("::new")?, known);
    }
    let expression =
        expression.strip_prefix('(').and_then(|it| it.strip_suffix(')')).unwrap_or(expression);
    for (operator, apply) in [
        (" - ", u64::checked_sub as fn(u64, u64) -> Option<u64>),
        (" << ", |left, right| left.checked_mul(1_u64.checked_shl(u32::try_from(right).ok()?)?)),
        (" * ", u64::checked_mul),
    ] {
        if let Some((left, right)) = expression.split_once(operator) {
            let left = left.strip_prefix('(').map_or(left, |it| it.trim_end_matches(')'));
            return apply(evaluate(left, known)?, evaluate(right, known)?);
        }
    }
    let digits = expression.replace('_', "");
    digits.parse().ok().or_else(|| known.get(expression).copied())
}

impl Value {
    /// The default of a key; its name says the unit.
    pub fn of_key(name: &str, number: u64) -> Self {
        let per_second = name.ends_with("_per_second") || name.ends_with("_per_minute");
        let unit = |end: &str| !per_second && name.ends_with(end);
        if name.ends_with("_bytes") {
            Self::Bytes(number)
        } else if unit("_ms") {
            Self::Micros(number * 1_000)
        } else if unit("_seconds") || unit("_s") {
            Self::Micros(number * 1_000_000)
        } else if unit("_days") {
            Self::Micros(number * 24 * 3_600_000_000)
        } else {
            Self::Count(number)
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, units): (u64, &[(u64, &str)]) = match *self {
            Self::Count(value) => return f.write_str(&grouped(value)),
            Self::Bytes(value) => {
                (value, &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")])
            }
            Self::Micros(value) => (
                value,
                &[
                    (24 * 3_600_000_000, "days"),
                    (3_600_000_000, "h"),
                    (60_000_000, "min"),
                    (1_000_000, "s"),
                    (1_000, "ms"),
                    (1, "µs"),
                ],
            ),
        };
        // One day is 24 h, and one minute 60 s: a single unit reads worse.
        let fits = |unit: u64| value != 0 && value.is_multiple_of(unit);
        let of_time = matches!(self, Self::Micros(_));
        let chosen = units.iter().find(|(unit, name)| {
            fits(*unit) && !(of_time && value == *unit && matches!(*name, "days"))
        });
        match chosen {
            Some((unit, name)) => write!(f, "{} {name}", grouped(value / unit)),
            None => f.write_str("0"),
        }
    }
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(source: &str) -> Vec<(String, String)> {
        let constants = constants("x.rs", source);
        constants.into_iter().map(|it| (it.name, it.value.to_string())).collect()
    }

    #[test]
    fn values_are_read_from_the_code_and_written_for_people() {
        let source = "/// Octets.\nconst MAX_BYTES: usize = 7 << 20;\npub const A: u32 = 1_024;\n\
                      const HOUR: u64 = 3_600;\nconst B: Duration = Duration::from_secs(48 * HOUR);\n\
                      const C: Duration = Duration::from_hours(24);\nconst TAIL: usize = (4 << 10) - 64;\n\
                      const D: NonZeroU32 = NonZeroU32::new(2).expect(\"not zero\");\n\
                      const E: usize = 253 - \"wx\".len();\nconst NAME: &str = \"x\";\n";
        let expected = [
            ("MAX_BYTES", "7 MiB"),
            ("A", "1,024"),
            ("HOUR", "3,600"),
            ("B", "2 days"),
            ("C", "24 h"),
            ("TAIL", "4,032 bytes"),
            ("D", "2"),
        ];
        assert_eq!(values(source), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
