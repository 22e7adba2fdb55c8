//! Times, states and numbers in the words of the pages.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::api::docs::words::{Span, marked};
use crate::clock::Timestamp;
use crate::message::state::MessageState;
use crate::plural::plural;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Letters of a reason in a list; its own page has all of it.
const SHOWN_CHARS: usize = 160;

/// A moment: what a machine reads, what a person reads, and how long ago it is. A page that writes it gets a `<time>`.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<time datetime="{{ machine }}" title="{{ exact }}">{{ short }}</time>"#,
    ext = "html"
)]
pub struct When {
    pub machine: String,
    /// As in `23 Nov 2026, 14:05:09 UTC`.
    pub exact: String,
    /// As in `4 min ago`, `in 2 h`, or the day.
    pub short: String,
}

/// Its template escapes what it writes.
impl HtmlSafe for When {}

impl When {
    pub fn of(moment: Timestamp, now: Timestamp) -> Self {
        let machine = moment.rfc3339();
        let exact = exact(&machine).unwrap_or_else(|| machine.clone());
        let short = short(moment, now).unwrap_or_else(|| day(&machine, now));
        Self { machine, exact, short }
    }
}

fn exact(rfc3339: &str) -> Option<String> {
    let (year, month, day) = date(rfc3339)?;
    Some(format!("{day} {month} {year}, {} UTC", rfc3339.get(11..19)?))
}

fn day(rfc3339: &str, now: Timestamp) -> String {
    let this_year = now.rfc3339();
    match date(rfc3339) {
        Some((year, month, day)) if this_year.starts_with(year) => format!("{day} {month}"),
        Some((year, month, day)) => format!("{day} {month} {year}"),
        None => rfc3339.to_owned(),
    }
}

fn date(rfc3339: &str) -> Option<(&str, &'static str, &str)> {
    let month: usize = rfc3339.get(5..7)?.parse().ok()?;
    let month = MONTHS.get(month.checked_sub(1)?)?;
    Some((rfc3339.get(0..4)?, month, rfc3339.get(8..10)?.trim_start_matches('0')))
}

fn short(moment: Timestamp, now: Timestamp) -> Option<String> {
    let (is_past, seconds) = match moment.until(now).as_secs() {
        0 => (moment <= now, now.until(moment).as_secs()),
        seconds => (true, seconds),
    };
    let length = match seconds {
        0..5 => return Some("now".to_owned()),
        5..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        86_400..604_800 => format!("{} d", seconds / 86_400),
        _ => return None,
    };
    Some(if is_past { format!("{length} ago") } else { format!("in {length}") })
}

/// How a state looks: the class of its badge, and its glyph.
pub fn badge(state: MessageState) -> (&'static str, &'static str) {
    match state {
        MessageState::Delivered => ("good", "✓"),
        MessageState::Relayed => ("good", "→"),
        MessageState::Scheduled | MessageState::Queued | MessageState::Sending => ("way", "◔"),
        MessageState::Deferred => ("wait", "↻"),
        MessageState::Bounced | MessageState::Failed => ("bad", "✕"),
        MessageState::Suppressed | MessageState::Canceled => ("off", "–"),
    }
}

/// A number with spaces between its thousands.
pub fn number(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + 4);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    if number < 0 { format!("−{text}") } else { text }
}

/// A number of things, as in `1 message` and `2 000 messages`.
pub fn counted(count: u64, one: &str, several: &str) -> String {
    let shown = number(i64::try_from(count).unwrap_or(i64::MAX));
    format!("{shown} {}", plural(count, one, several))
}

/// A number of things, as in [`counted`]; none for 0.
pub fn counted_if_any(count: u64, one: &str, several: &str) -> Option<String> {
    (count > 0).then(|| counted(count, one, several))
}

/// A share as in `98 %`, rounded; `100 %` means all of them. None of nothing.
pub fn percent(part: u64, whole: u64) -> Option<String> {
    let rounded = part.saturating_mul(100).saturating_add(whole / 2).checked_div(whole)?;
    let percent = if part < whole { rounded.min(99) } else { 100 };
    Some(format!("{percent}\u{202f}%"))
}

/// The beginning of a text that is too long for a list.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}

/// A text in which what stands between backticks is code. A page that writes it gets `<code>`.
#[derive(Debug, Clone, Template)]
#[template(
    source = "{% for it in parts %}{% if it.is_code %}<code>{{ it.text }}</code>{% else %}{{ it.text }}{% endif %}\
              {% endfor %}",
    ext = "html"
)]
pub struct Marked {
    parts: Vec<Span>,
}

/// Its template escapes what it writes.
impl HtmlSafe for Marked {}

impl Marked {
    pub fn of(text: &str) -> Self {
        Self { parts: marked(text) }
    }
}

/// A browser in a few words, as far as it names itself.
pub fn browser(agent: &str) -> String {
    let has = |word: &str| agent.contains(word);
    let name = if has("Edg/") {
        "Edge"
    } else if has("Firefox/") {
        "Firefox"
    } else if has("Chrome/") || has("Chromium/") {
        "Chrome"
    } else if has("Safari/") {
        "Safari"
    } else {
        let first = agent.split([' ', '/']).next().unwrap_or_default();
        return if first.is_empty() { "unknown".to_owned() } else { first.to_owned() };
    };
    let system = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ];
    match system.into_iter().find(|(word, _)| has(word)) {
        Some((_, system)) => format!("{name} on {system}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let now = Timestamp::parse_rfc3339("2026-11-23T14:00:00Z").expect("a moment");
        let said = |text: &str| When::of(Timestamp::parse_rfc3339(text).expect("a moment"), now);
        assert_eq!(said("2026-11-23T13:55:00Z").short, "5 min ago");
        assert_eq!(said("2026-11-23T16:10:00Z").short, "in 2 h");
        assert_eq!(said("2026-11-23T14:00:01Z").short, "now");
        assert_eq!(said("2026-11-03T14:00:00Z").short, "3 Nov");
        assert_eq!(said("2025-11-03T14:00:00Z").short, "3 Nov 2025");
        assert_eq!(said("2026-11-03T04:05:06Z").exact, "3 Nov 2026, 04:05:06 UTC");
    }

    #[test]
    fn numbers_have_groups() {
        assert_eq!(number(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!([number(-12), number(0), number(999)], ["−12", "0", "999"]);
    }

    #[test]
    fn one_message_was_sent_and_several_were() {
        let said = |count| counted(count, "message was sent", "messages were sent");
        assert_eq!(said(1), "1 message was sent");
        assert_eq!(counted_if_any(0, "line", "lines"), None);
        assert_eq!(said(2_000), "2\u{202f}000 messages were sent");
    }

    #[test]
    fn a_share_is_rounded_and_is_all_only_where_none_is_missing() {
        let said = |part, whole| percent(part, whole).unwrap_or_default();
        assert_eq!(
            [said(2, 3), said(999, 1_000), said(7, 7)],
            ["67\u{202f}%", "99\u{202f}%", "100\u{202f}%"]
        );
        assert_eq!(percent(0, 0), None);
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!(shortened("ä short one"), "ä short one");
        assert_eq!(shortened(&"ä".repeat(161)), "ä".repeat(160) + "…");
    }

    #[test]
    fn what_stands_between_backticks_is_code_and_text_is_escaped() {
        let html = |text: &str| Marked::of(text).render().expect("written");
        assert_eq!(html("Set `a<b` to `c`."), "Set <code>a&#60;b</code> to <code>c</code>.");
        assert_eq!(html("one ` alone"), "one ` alone");
    }
}
