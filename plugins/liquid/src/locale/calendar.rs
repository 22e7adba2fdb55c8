//! Dates and times by the patterns of a locale (UTS #35, part 4), in the Gregorian calendar.

use super::language::Locale;
use super::number::in_digits;
use super::writing::{Conventions, item};
use crate::moment::Moment;

/// How long a date or a time is, in the order of the patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Full,
    Long,
    Medium,
    Short,
}

impl Style {
    pub const NAMES: &str = "`short`, `medium`, `long` and `full`";

    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "full" => Self::Full,
            "long" => Self::Long,
            "medium" => Self::Medium,
            "short" => Self::Short,
            _ => return None,
        })
    }
}

pub fn date(it: &Moment, locale: &Locale, style: Style) -> String {
    locale.conventions.write(it, item(locale.conventions.dates, style as usize))
}

pub fn time(it: &Moment, locale: &Locale, style: Style) -> String {
    locale.conventions.write(it, item(locale.conventions.times, style as usize))
}

/// The date in that style, and the time in hours and minutes.
pub fn datetime(it: &Moment, locale: &Locale, style: Style) -> String {
    let (date, time) = (date(it, locale, style), time(it, locale, Style::Short));
    let joined = unquoted(item(locale.conventions.joined, style as usize));
    joined.replace("{1}", &date).replace("{0}", &time)
}

/// The text of a directive of `strftime` that is a name: of a month, a day or a half of the day.
pub fn name(
    it: &Moment,
    locale: &Locale,
    directive: char,
    is_beside_day: impl Fn() -> bool,
) -> Option<String> {
    let own = locale.conventions;
    let (list, index) = match directive {
        'B' if is_beside_day() => (own.months, it.month() - 1),
        'B' => (either(own.months, own.months_alone), it.month() - 1),
        'b' | 'h' if is_beside_day() => (own.short_months, it.month() - 1),
        'b' | 'h' => (either(own.short_months, own.short_months_alone), it.month() - 1),
        'A' => (own.days, it.weekday()),
        'a' => (own.short_days, it.weekday()),
        'p' | 'P' => (own.halves, i64::from(it.hour() >= 12)),
        _ => return None,
    };
    let name = item(list, usize::try_from(index).ok()?);
    Some(match directive {
        'p' => name.to_uppercase(),
        'P' => name.to_lowercase(),
        _ => name.to_owned(),
    })
}

const fn either(usual: &'static str, alone: &'static str) -> &'static str {
    if alone.is_empty() { usual } else { alone }
}

fn unquoted(pattern: &str) -> String {
    pattern.replace('\'', "")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OffsetForm {
    /// `GMT+2`
    Short,
    /// `GMT+02:00`
    Long,
}

impl Conventions {
    fn write(&self, it: &Moment, pattern: &str) -> String {
        let mut out = String::new();
        let mut is_quoted = false;
        let mut rest = pattern;
        while let Some(c) = rest.chars().next() {
            let length = if c.is_ascii_alphabetic() && !is_quoted {
                rest.find(|it| it != c).unwrap_or(rest.len())
            } else {
                c.len_utf8()
            };
            let (field, after) = rest.split_at(length);
            if c == '\'' {
                is_quoted = !is_quoted;
            } else if c.is_ascii_alphabetic() && !is_quoted {
                self.field(it, c, length, &mut out);
            } else {
                out.push_str(field);
            }
            rest = after;
        }
        out
    }

    fn field(&self, it: &Moment, letter: char, length: usize, out: &mut String) {
        let at = |list, index: i64| item(list, usize::try_from(index).unwrap_or_default());
        // The year 0 is the first before Christ.
        let year = if it.year() > 0 { it.year() } else { 1 - it.year() };
        let hour12 = (it.hour() + 11) % 12 + 1;
        match (letter, length) {
            ('G', _) => out.push_str(at(self.eras, i64::from(it.year() > 0))),
            ('y', 2) => self.digits(year % 100, 2, out),
            ('y', _) => self.digits(year, length, out),
            ('M' | 'L', 1 | 2) => self.digits(it.month(), length, out),
            ('M', 3) => out.push_str(at(self.short_months, it.month() - 1)),
            ('M', _) => out.push_str(at(self.months, it.month() - 1)),
            ('L', 3) => {
                out.push_str(at(
                    either(self.short_months, self.short_months_alone),
                    it.month() - 1,
                ));
            }
            ('L', _) => out.push_str(at(either(self.months, self.months_alone), it.month() - 1)),
            ('d', _) => self.digits(it.day(), length, out),
            ('E', 1..=3) => out.push_str(at(self.short_days, it.weekday())),
            ('E', _) => out.push_str(at(self.days, it.weekday())),
            ('c', 1..=3) => {
                out.push_str(at(either(self.short_days, self.short_days_alone), it.weekday()));
            }
            ('c', _) => out.push_str(at(either(self.days, self.days_alone), it.weekday())),
            ('a', _) => out.push_str(at(self.halves, i64::from(it.hour() >= 12))),
            ('B', _) => out.push_str(at(self.hours, it.hour())),
            ('h', _) => self.digits(hour12, length, out),
            ('K', _) => self.digits(it.hour() % 12, length, out),
            ('H', _) => self.digits(it.hour(), length, out),
            ('m', _) => self.digits(it.minute(), length, out),
            ('s', _) => self.digits(it.second(), length, out),
            ('z', 4) => self.offset(it.offset(), OffsetForm::Long, out),
            ('z', _) => self.offset(it.offset(), OffsetForm::Short, out),
            _ => {}
        }
    }

    fn digits(&self, number: i64, width: usize, out: &mut String) {
        let text = format!("{number:0width$}");
        out.extend(text.bytes().map(|it| in_digits(it, self.zero)));
    }

    fn offset(&self, seconds: i64, form: OffsetForm, out: &mut String) {
        let is_long = form == OffsetForm::Long;
        let minutes = seconds.abs() / 60;
        if minutes == 0 {
            return out.push_str(self.utc);
        }
        let (east, west) = self.offset.split_once(';').unwrap_or((self.offset, self.offset));
        let pattern = if seconds < 0 { west } else { east };
        let (before, rest) = pattern.split_at(pattern.find('H').unwrap_or_default());
        let (between, after) = rest.split_once("mm").unwrap_or((rest, ""));
        let mut text = before.to_owned();
        self.digits(minutes / 60, if is_long { 2 } else { 1 }, &mut text);
        if is_long || minutes % 60 != 0 {
            text.push_str(between.trim_start_matches('H'));
            self.digits(minutes % 60, 2, &mut text);
            text.push_str(after);
        }
        out.push_str(&self.utc_offset.replace("{0}", &text));
    }
}
