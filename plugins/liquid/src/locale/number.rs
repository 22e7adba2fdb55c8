//! Numbers, shares and amounts by the patterns of a locale (UTS #35, part 3).

use super::conventions::SIGNS;
use super::decimal::Decimal;
use super::language::Locale;
use super::writing::Conventions;

/// How many digits stand behind the point.
#[derive(Debug, Clone, Copy)]
struct Digits {
    least: usize,
    most: usize,
}

/// With at most three digits behind the point, or with exactly so many.
pub fn number(it: Decimal, locale: &Locale, places: Option<usize>) -> String {
    let digits = Digits { least: places.unwrap_or(0), most: places.unwrap_or(3) };
    Writer::plain(locale.conventions).write(it, locale.conventions.number, digits)
}

/// 0.25 is 25 %.
pub fn percent(it: Decimal, locale: &Locale, places: usize) -> String {
    let digits = Digits { least: places, most: places };
    Writer::plain(locale.conventions).write(it.shifted(2), locale.conventions.percent, digits)
}

/// An amount with so many digits behind the point. A `sign` that is empty is left out.
pub fn amount(it: Decimal, locale: &Locale, sign: &str, places: usize) -> String {
    let conventions = locale.conventions;
    let pattern =
        if sign.is_empty() { conventions.money_bare } else { conventions.money_pattern(sign) };
    Writer { sign, decimal: conventions.money_decimal, group: conventions.money_group, conventions }
        .write(it, pattern, Digits { least: places, most: places })
}

/// The sign of a currency; its code where the locale has none.
pub fn sign<'c>(locale: &Locale, code: &'c str) -> &'c str {
    let of = |list: &'static str| {
        list.split('|').find_map(|it| it.strip_prefix(code)?.strip_prefix('='))
    };
    if code.len() == 3 {
        of(locale.conventions.signs).or_else(|| of(SIGNS)).unwrap_or(code)
    } else {
        code
    }
}

impl Conventions {
    fn money_pattern(&self, sign: &str) -> &'static str {
        let is_before = self.money.find('¤') < self.money.find('#');
        let beside = if is_before { sign.chars().next_back() } else { sign.chars().next() };
        if beside.is_some_and(char::is_alphabetic) { self.money_letters } else { self.money }
    }
}

/// What stands for the marks of a pattern.
struct Writer<'c> {
    conventions: &'static Conventions,
    decimal: &'static str,
    group: &'static str,
    sign: &'c str,
}

impl Writer<'static> {
    const fn plain(conventions: &'static Conventions) -> Self {
        let Conventions { decimal, group, .. } = conventions;
        Self { conventions, decimal, group, sign: "" }
    }
}

impl Writer<'_> {
    fn write(&self, it: Decimal, pattern: &str, digits: Digits) -> String {
        let it = it.rounded(digits.most);
        let (positive, negative) = match pattern.split_once(';') {
            Some((positive, negative)) => (Pattern::of(positive), Some(Pattern::of(negative))),
            None => (Pattern::of(pattern), None),
        };
        let affixes = negative.as_ref().filter(|_| it.is_negative).unwrap_or(&positive);
        let mut out = String::new();
        if it.is_negative && negative.is_none() {
            out.push_str(self.conventions.minus);
        }
        self.affix(affixes.prefix, &mut out);
        if affixes.prefix.ends_with('¤') && needs_space(self.sign.chars().next_back()) {
            out.push('\u{a0}');
        }
        self.digits(&it, &positive, digits, &mut out);
        if affixes.suffix.starts_with('¤') && needs_space(self.sign.chars().next()) {
            out.push('\u{a0}');
        }
        self.affix(affixes.suffix, &mut out);
        out
    }

    fn affix(&self, affix: &str, out: &mut String) {
        for c in affix.chars() {
            match c {
                '¤' => out.push_str(self.sign),
                '%' => out.push_str(self.conventions.percent_sign),
                '-' => out.push_str(self.conventions.minus),
                '\'' => {}
                c => out.push(c),
            }
        }
    }

    fn digits(&self, it: &Decimal, pattern: &Pattern<'_>, digits: Digits, out: &mut String) {
        let zero = self.conventions.zero;
        let whole = if it.whole.is_empty() { "0" } else { &it.whole };
        let (first, others) = pattern.groups;
        let is_grouped = first > 0 && whole.len() >= first + self.conventions.least_grouped;
        for (i, digit) in whole.bytes().enumerate() {
            let left = whole.len() - i;
            let ends_group = left == first || left > first && (left - first).is_multiple_of(others);
            if is_grouped && i > 0 && ends_group {
                out.push_str(self.group);
            }
            out.push(in_digits(digit, zero));
        }
        let fraction = format!("{:0<width$}", it.fraction, width = digits.least);
        if !fraction.is_empty() {
            out.push_str(self.decimal);
            out.extend(fraction.bytes().map(|it| in_digits(it, zero)));
        }
    }
}

/// An ASCII digit among the digits that begin with `zero`.
pub fn in_digits(digit: u8, zero: char) -> char {
    char::from_u32(u32::from(zero) + u32::from(digit.saturating_sub(b'0'))).unwrap_or(zero)
}

/// Whether a currency's sign must not touch the digits: where it is a letter or an abbreviation.
fn needs_space(beside: Option<char>) -> bool {
    beside.is_some_and(|it| it.is_alphanumeric() || it == '.')
}

/// `¤ #,##0.00` in its parts.
struct Pattern<'p> {
    prefix: &'p str,
    suffix: &'p str,
    /// The sizes of the last group and of those before it; 0 where there are none.
    groups: (usize, usize),
}

impl<'p> Pattern<'p> {
    fn of(pattern: &'p str) -> Self {
        let is_digit = |c: char| matches!(c, '#' | '0' | ',' | '.');
        let start = pattern.find(is_digit).unwrap_or(pattern.len());
        let (prefix, rest) = pattern.split_at(start);
        let end = rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
        let (digits, suffix) = rest.split_at(end);
        let mut groups = digits.split('.').next().unwrap_or_default().rsplit(',').map(str::len);
        let (last, before, leading) = (groups.next(), groups.next(), groups.next());
        let sizes = match (last, before, leading) {
            (Some(last), Some(_), None) => (last, last),
            (Some(last), Some(before), Some(_)) => (last, before),
            (None, ..) | (_, None, _) => (0, 1),
        };
        Self { prefix, suffix, groups: sizes }
    }
}
