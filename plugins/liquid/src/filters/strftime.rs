//! Writes a point in time by a pattern of `strftime`.

use crate::locale::{self, Locale};
use crate::moment::Moment;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Formats by a pattern; unknown directives stay as written. Without a locale the names of months and days are
/// English.
pub fn format(it: &Moment, pattern: &str, locale: Option<&Locale>) -> String {
    let names = Names { locale, pattern };
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        let (before, directive) = rest.split_at(at);
        out.push_str(before);
        let after = directive.get(1..).unwrap_or_default();
        let flags = after.find(|c| !"-_0^#:".contains(c)).unwrap_or(after.len());
        let (flags, after) = after.split_at(flags);
        let width = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (width, after) = after.split_at(width);
        let Some(c) = after.chars().next() else {
            out.push_str(directive);
            return out;
        };
        if let Some(field) = names.field(it, c).or_else(|| field(it, c, flags)) {
            field.write(flags, width.parse().ok(), &mut out);
        } else {
            let length = directive.len() - after.len() + c.len_utf8();
            out.push_str(directive.get(..length).unwrap_or_default());
        }
        rest = after.get(c.len_utf8()..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

enum Field {
    /// Value, usual width, usual filler.
    Number(i64, usize, char),
    Text(String),
}

impl Field {
    fn write(self, flags: &str, width: Option<usize>, out: &mut String) {
        let width = width.map(|it: usize| it.min(64));
        match self {
            Self::Number(it, usual, filler) => {
                let filler = if flags.contains('_') {
                    ' '
                } else if flags.contains('0') {
                    '0'
                } else {
                    filler
                };
                let width = if flags.contains('-') { 0 } else { width.unwrap_or(usual) };
                if filler == '0' {
                    put!(out, "{it:0width$}");
                } else {
                    put!(out, "{it:width$}");
                }
            }
            Self::Text(it) => {
                let it = if flags.contains('^') {
                    it.to_uppercase()
                } else if flags.contains('#') {
                    swapped(&it)
                } else {
                    it
                };
                put!(out, "{it:>width$}", width = width.unwrap_or(0));
            }
        }
    }
}

fn swapped(text: &str) -> String {
    if text.chars().any(char::is_lowercase) { text.to_uppercase() } else { text.to_lowercase() }
}

/// Where the names of a pattern come from.
struct Names<'l> {
    locale: Option<&'l Locale>,
    pattern: &'l str,
}

impl Names<'_> {
    fn field(&self, it: &Moment, directive: char) -> Option<Field> {
        let name = locale::name(it, self.locale?, directive, || self.has_day());
        name.map(Field::Text)
    }

    /// Whether the pattern has the day of the month: "5 марта", and "март" without it.
    fn has_day(&self) -> bool {
        let flag = |c: char| "-_0^#:".contains(c) || c.is_ascii_digit();
        let directives = self.pattern.split('%').skip(1).map(|it| it.trim_start_matches(flag));
        directives.into_iter().any(|it| it.starts_with(['d', 'e']))
    }
}

fn field(it: &Moment, c: char, flags: &str) -> Option<Field> {
    let name = |names: &[&'static str], i: i64| {
        Field::Text(
            usize::try_from(i)
                .ok()
                .and_then(|i| names.get(i))
                .copied()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let short = |field: Field| match field {
        Field::Text(it) => Field::Text(it.chars().take(3).collect()),
        it @ Field::Number(..) => it,
    };
    let two = |it| Field::Number(it, 2, '0');
    let nested = |pattern| Field::Text(format(it, pattern, None));
    Some(match c {
        'Y' => Field::Number(it.year(), 4, '0'),
        'C' => two(it.year().div_euclid(100)),
        'y' => two(it.year().rem_euclid(100)),
        'm' => two(it.month()),
        'B' => name(&MONTHS, it.month() - 1),
        'b' | 'h' => short(name(&MONTHS, it.month() - 1)),
        'd' => two(it.day()),
        'e' => Field::Number(it.day(), 2, ' '),
        'j' => Field::Number(it.year_day(), 3, '0'),
        'H' => two(it.hour()),
        'k' => Field::Number(it.hour(), 2, ' '),
        'I' => two(it.hour12()),
        'l' => Field::Number(it.hour12(), 2, ' '),
        'M' => two(it.minute()),
        'S' => two(it.second()),
        'L' => Field::Number(i64::from(it.nanos() / 1_000_000), 3, '0'),
        'N' => Field::Number(i64::from(it.nanos()), 9, '0'),
        'P' => Field::Text(if it.hour() < 12 { "am" } else { "pm" }.to_owned()),
        'p' => Field::Text(if it.hour() < 12 { "AM" } else { "PM" }.to_owned()),
        'A' => name(&DAYS, it.weekday()),
        'a' => short(name(&DAYS, it.weekday())),
        'u' => Field::Number((it.weekday() + 6) % 7 + 1, 1, '0'),
        'w' => Field::Number(it.weekday(), 1, '0'),
        'G' => Field::Number(it.iso_week().0, 4, '0'),
        'g' => two(it.iso_week().0.rem_euclid(100)),
        'V' => two(it.iso_week().1),
        'U' => two((it.year_day() + 6 - it.weekday()) / 7),
        'W' => two((it.year_day() + 6 - (it.weekday() + 6) % 7) / 7),
        's' => Field::Number(it.unix(), 1, '0'),
        'z' => Field::Text(zone(it.offset(), if flags.contains(':') { ":" } else { "" })),
        'Z' => Field::Text(match it.zone() {
            Some(name) => name.to_owned(),
            None if it.offset() == 0 => "UTC".to_owned(),
            None => zone(it.offset(), ":"),
        }),
        'n' => Field::Text("\n".to_owned()),
        't' => Field::Text("\t".to_owned()),
        '%' => Field::Text("%".to_owned()),
        'c' => nested("%a %b %e %H:%M:%S %Y"),
        'D' | 'x' => nested("%m/%d/%y"),
        'F' => nested("%Y-%m-%d"),
        'T' | 'X' => nested("%H:%M:%S"),
        'R' => nested("%H:%M"),
        'r' => nested("%I:%M:%S %p"),
        'v' => nested("%e-%^b-%Y"),
        '+' => nested("%a %b %e %H:%M:%S %Z %Y"),
        _ => return None,
    })
}

/// `+0200`, with what stands between hours and minutes.
fn zone(offset: i64, between: &str) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.abs() / 60;
    format!("{sign}{:02}{between}{:02}", minutes / 60, minutes % 60)
}
