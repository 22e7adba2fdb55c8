//! `date`, `time` and `datetime`: read ISO 8601, RFC 2822, English dates and Unix seconds; write by `strftime` or in
//! the style of a locale, in the offset of the text or in a time zone.

use super::strftime::format;
use crate::filter::{Args, Outcome, Refused, Written, WrongArguments};
use crate::locale::{self, ENGLISH, Locale, Style, is_zone, local_time};
use crate::moment::{Moment, days_from_civil};
use crate::value::Value;

/// A value that is not a date is returned unchanged, as in Ruby.
pub fn date<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let Some(pattern) = first(args) else { return written(it, args, locale::date) };
    let pattern = pattern.to_text();
    if pattern.is_empty() {
        return Ok(it);
    }
    if Style::named(&pattern).is_some() {
        return written(it, args, locale::date);
    }
    let moment = moment(&it, args)?;
    Ok(moment.map_or(it, |it| format(&it, &pattern, args.locale).into()))
}

pub fn time<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    written(it, args, locale::time)
}

pub fn datetime<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    written(it, args, locale::datetime)
}

/// In the style of the locale; `medium` where there is none.
fn written<'a>(
    it: Value<'a>,
    args: &Args<'_, 'a>,
    write: fn(&Moment, &Locale, Style) -> String,
) -> Outcome<'a> {
    let style = match first(args) {
        None => Style::Medium,
        Some(name) => match Style::named(&name.to_text()) {
            Some(style) => style,
            None => return Err(WrongArguments::UnknownStyle(String::from(&*name.to_text())).into()),
        },
    };
    let moment = moment(&it, args)?;
    Ok(moment.map_or(it, |it| write(&it, args.locale.unwrap_or(&ENGLISH), style).into()))
}

fn first<'v, 'a>(args: &'v Args<'_, 'a>) -> Option<&'v Value<'a>> {
    args.get(0).or_else(|| args.named("format"))
}

/// Faults of `date` that are seen when a template is compiled.
pub fn check_date(args: &Written<'_>) -> Result<(), WrongArguments> {
    if args.is_empty() {
        return Err(WrongArguments::NoFormat);
    }
    check_zone(args)
}

/// Faults of `time` and `datetime` that are seen when a template is compiled.
pub fn check_time(args: &Written<'_>) -> Result<(), WrongArguments> {
    if let Some(style) = args.text(0, "format")
        && Style::named(style).is_none()
    {
        return Err(WrongArguments::UnknownStyle(style.to_owned()));
    }
    check_zone(args)
}

fn check_zone(args: &Written<'_>) -> Result<(), WrongArguments> {
    match args.text(1, "timezone") {
        Some(zone) if !is_zone(zone) => Err(WrongArguments::UnknownZone(zone.to_owned())),
        Some(_) | None => Ok(()),
    }
}

/// The point in time that a value means, in the zone that is asked for. A date without a time of the day is that
/// date in each zone.
fn moment(it: &Value<'_>, args: &Args<'_, '_>) -> Result<Option<Moment>, Refused> {
    let found = match it {
        Value::Int(seconds) => Some(Moment::at(*seconds, 0, 0)),
        Value::Float(seconds) => Some(Moment::at(super::number::saturating(*seconds), 0, 0)),
        Value::Str(text) | Value::Safe(text) => {
            let text = text.trim();
            read(text, args.now_unix_ms)
        }
        Value::Nil
        | Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Array(_)
        | Value::Object(_)
        | Value::Range(..)
        | Value::Loop(_) => None,
    };
    let zone = args.get(1).or_else(|| args.named("timezone"));
    let Some(zone) = zone.filter(|it| !matches!(it, Value::Nil)) else { return Ok(found) };
    let zone = zone.to_text();
    let is_known = local_time(&zone, found.as_ref().map_or(0, Moment::unix));
    let Some(local) = is_known else {
        return Err(WrongArguments::UnknownZone(String::from(&*zone)).into());
    };
    Ok(found.map(|it| if it.has_time() { it.in_zone(local) } else { it }))
}

fn read(text: &str, now_unix_ms: u64) -> Option<Moment> {
    if text.eq_ignore_ascii_case("now") || text.eq_ignore_ascii_case("today") {
        let seconds = i64::try_from(now_unix_ms / 1000).ok()?;
        return Some(Moment::at(seconds, u32::try_from(now_unix_ms % 1000).ok()? * 1_000_000, 0));
    }
    if !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()) {
        return Some(Moment::at(text.parse().ok()?, 0, 0));
    }
    let mut it = Parts::default();
    it.read(text)?;
    it.moment()
}

/// What was found so far.
#[derive(Default)]
struct Parts {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    time: Option<(i64, i64, i64, u32)>,
    offset: i64,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Parts {
    fn read(&mut self, text: &str) -> Option<()> {
        let mut rest = text;
        if let Some(after) = self.iso_date(text) {
            rest = after.strip_prefix(['T', 't']).unwrap_or(after);
        }
        while let Some(c) = rest.chars().next() {
            rest = if c.is_whitespace() || c == ',' {
                rest.get(1..)?
            } else if c.is_ascii_digit() {
                self.digits(rest)?
            } else if (c == '+' || c == '-') && self.time.is_some() {
                self.zone(rest)?
            } else if c.is_ascii_alphabetic() {
                self.word(rest)?
            } else {
                return None;
            };
        }
        Some(())
    }

    /// `2024-05-06` or `2024/05/06` at the start.
    fn iso_date<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let (year, rest) = number(text)?;
        let mark = rest.chars().next().filter(|it| matches!(it, '-' | '/'))?;
        let (month, rest) = number(rest.get(1..)?)?;
        let (day, rest) = number(rest.strip_prefix(mark)?)?;
        (text.len() - rest.len() >= 8).then_some(())?;
        (self.year, self.month, self.day) = (Some(year), Some(month), Some(day));
        Some(rest)
    }

    fn digits<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let (n, rest) = number(text)?;
        if rest.starts_with(':') {
            return self.clock(n, rest);
        }
        if self.day.is_none() && n <= 31 && text.len() - rest.len() <= 2 {
            self.day = Some(n);
            let suffix = ["st", "nd", "rd", "th"].iter().find_map(|it| rest.strip_prefix(it));
            return Some(suffix.unwrap_or(rest));
        }
        self.year.is_none().then_some(())?;
        self.year = Some(n);
        Some(rest)
    }

    fn clock<'t>(&mut self, hour: i64, rest: &'t str) -> Option<&'t str> {
        let (minute, mut rest) = number(rest.get(1..)?)?;
        let (mut second, mut nanos) = (0, 0);
        if let Some(after) = rest.strip_prefix(':') {
            (second, rest) = number(after)?;
            if let Some(after) = rest.strip_prefix(['.', ',']) {
                let length = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
                let digits = after.get(..length.min(9))?;
                nanos = format!("{digits:0<9}").parse().ok()?;
                rest = after.get(length..)?;
            }
        }
        self.time = Some((hour, minute, second, nanos));
        Some(rest)
    }

    /// `+02:00`, `-0530`, `+02`.
    fn zone<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let digits = text.get(1..)?;
        let hours: i64 = digits.get(..2)?.parse().ok()?;
        let rest = digits.get(2..)?;
        let minutes = rest.strip_prefix(':').unwrap_or(rest);
        let (minutes, rest) = match minutes.get(..2).map(str::parse::<i64>) {
            Some(Ok(it)) => (it, minutes.get(2..)?),
            Some(Err(_)) | None => (0, rest),
        };
        self.offset = sign * (hours * 3600 + minutes * 60);
        Some(rest)
    }

    fn word<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let length = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (word, rest) = text.split_at(length);
        let word = word.to_ascii_lowercase();
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        let short = word.get(..3).unwrap_or_default();
        if let Some(month) = MONTHS.iter().position(|it| *it == short) {
            self.month = Some(i64::try_from(month).ok()? + 1);
        } else if let ("am" | "pm", Some(time)) = (word.as_str(), &mut self.time) {
            time.0 = time.0 % 12 + if word == "pm" { 12 } else { 0 };
        } else if !matches!(word.as_str(), "z" | "utc" | "gmt" | "at" | "t")
            && !DAYS.contains(&short)
        {
            return None;
        }
        Some(rest)
    }

    fn moment(&self) -> Option<Moment> {
        let (year, month, day) = (self.year?, self.month?, self.day.unwrap_or(1));
        let (hour, minute, second, nanos) = self.time.unwrap_or_default();
        let valid = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 25
            && minute < 60
            && second < 61
            && year < 1_000_000
            && self.offset.abs() <= 86_400;
        valid.then_some(())?;
        let days = days_from_civil(year, month, day);
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - self.offset;
        let it = Moment::at(seconds, nanos, self.offset);
        Some(if self.time.is_some() { it } else { it.without_time() })
    }
}

fn number(text: &str) -> Option<(i64, &str)> {
    let length = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(length);
    Some((digits.parse().ok()?, rest))
}
