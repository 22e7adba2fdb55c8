//! The chart of messages by the hour: what the server draws, and the same as numbers.

use super::form;
use super::words::{When, number, percent};
use crate::clock::Timestamp;
use crate::store::SentInHour;

const HOUR_MS: i64 = 3_600_000;
/// Units of the drawing: each hour has a bar and a gap.
const BAR: u64 = 24;
const STEP: u64 = 30;
const HEIGHT: u64 = 120;
/// So that one message among many is seen.
const LEAST: u64 = 2;

#[derive(Debug)]
pub struct Chart {
    pub width: u64,
    pub height: u64,
    /// Width of a bar.
    pub bar: u64,
    pub bars: Vec<Bar>,
    /// What the highest bar stands for.
    pub most: String,
    pub accepted: u64,
    pub delivered: u64,
    pub under_way: u64,
}

/// An hour.
#[derive(Debug)]
pub struct Bar {
    /// When it begins, as in `23 Nov 2026, 14:00 UTC`.
    pub from: String,
    /// Its messages.
    pub link: String,
    pub x: u64,
    pub parts: Vec<Part>,
    /// Accepted, delivered, on the way, failed, not sent.
    pub counts: [String; 5],
    pub said: String,
}

/// What became of some of them: its class, and where it stands.
#[derive(Debug)]
pub struct Part {
    pub class: &'static str,
    pub y: u64,
    pub height: u64,
}

impl Chart {
    /// Of the last `hours` hours, oldest first; `found` leaves empty ones out.
    pub fn of(found: &[SentInHour], hours: u32, now: Timestamp) -> Self {
        let this = now.millis() / HOUR_MS;
        let most = found.iter().map(|it| it.accepted).max().unwrap_or(0).max(1);
        let bar = |back: u32| {
            let hour = Timestamp::from_millis((this - i64::from(back)) * HOUR_MS);
            let nothing = SentInHour { hour, accepted: 0, delivered: 0, failed: 0, not_sent: 0 };
            let found = found.iter().find(|it| it.hour == hour).unwrap_or(&nothing);
            Bar::of(found, u64::from(hours - 1 - back) * STEP, most, now)
        };
        let sum = |of: fn(&SentInHour) -> u64| found.iter().map(of).sum();
        Self {
            width: u64::from(hours) * STEP,
            height: HEIGHT,
            bar: BAR,
            bars: (0..hours).rev().map(bar).collect(),
            most: count(most),
            accepted: sum(|it| it.accepted),
            delivered: sum(|it| it.delivered),
            under_way: sum(SentInHour::under_way),
        }
    }

    /// Of those with an outcome, as in `98 %`; none where there is none.
    pub fn delivered_share(&self) -> Option<String> {
        let ended = self.accepted.saturating_sub(self.under_way);
        percent(self.delivered.min(ended), ended)
    }
}

impl Bar {
    fn of(hour: &SentInHour, x: u64, most: u64, now: Timestamp) -> Self {
        let end = Timestamp::from_millis(hour.hour.millis() + HOUR_MS);
        let query = format!("since:{} until:{}", hour.hour.rfc3339(), end.rfc3339());
        let stacked = [
            ("delivered", hour.delivered),
            ("under-way", hour.under_way()),
            ("failed", hour.failed),
            ("not-sent", hour.not_sent),
        ];
        let stacked = stacked.into_iter().filter(|(_, messages)| *messages > 0);
        let mut heights: Vec<_> = stacked
            .map(|(class, messages)| (class, (messages * HEIGHT / most).max(LEAST)))
            .collect();
        // What is little takes its place from what is much.
        let over = heights.iter().map(|(_, it)| it).sum::<u64>().saturating_sub(HEIGHT);
        if let Some((_, highest)) = heights.iter_mut().max_by_key(|(_, it)| *it) {
            *highest -= over.min(*highest);
        }
        let mut y = HEIGHT;
        let mut parts = Vec::new();
        for (class, height) in heights {
            y = y.saturating_sub(height);
            parts.push(Part { class, y, height });
        }
        let counts = [hour.accepted, hour.delivered, hour.under_way(), hour.failed, hour.not_sent]
            .map(count);
        let [accepted, delivered, ..] = &counts;
        let from = When::of(hour.hour, now).exact.replace(":00 UTC", " UTC");
        let said = format!("{from}: {accepted} accepted, {delivered} delivered");
        let link = format!("/app/messages?{}", form::query([("q", query.as_str())]));
        Self { from, link, x, parts, counts, said }
    }
}

fn count(messages: u64) -> String {
    number(i64::try_from(messages).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hour_has_a_bar_and_what_is_little_is_seen() {
        let now = Timestamp::parse_rfc3339("2026-11-23T12:34:00Z").expect("a moment");
        let hour = Timestamp::parse_rfc3339("2026-11-23T11:00:00Z").expect("a moment");
        let found = SentInHour { hour, accepted: 1_000, delivered: 990, failed: 1, not_sent: 0 };
        let chart = Chart::of(&[found], 3, now);
        let parts: Vec<usize> = chart.bars.iter().map(|it| it.parts.len()).collect();
        assert_eq!(parts, [0, 3, 0]);
        let failed = &chart.bars[1].parts[2];
        assert_eq!((failed.class, failed.height), ("failed", LEAST));
        assert_eq!(chart.delivered_share().as_deref(), Some("99\u{202f}%"));
        assert!(chart.bars[1].link.contains("since%3A2026-11-23T11"), "{}", chart.bars[1].link);
    }
}
