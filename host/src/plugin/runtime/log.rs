//! The log of a plugin slot, for `waxwing plugin logs`: bounded in lines, in length and in lines a second.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::bindings::types::CallContext;
use super::guest_metrics::SlotCounts;
use crate::clock::Clock;
use crate::message::line::is_unsafe;

const MAX_KEPT_LINES: usize = 500;
const MAX_LINES_PER_SECOND: u32 = 100;
const MAX_LINE_CHARACTERS: usize = 1_024;

/// The log of one slot. Cheap to clone; all generations of the slot write into the same one.
#[derive(Debug, Clone)]
pub struct SlotLog {
    slot: Arc<str>,
    clock: Clock,
    audience: Audience,
    counts: SlotCounts,
    state: Arc<Mutex<State>>,
}

/// Who receives what a plugin logs and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The operators of a slot: lines of calls for messages, not of those that compare.
    Operators,
    /// Whoever sits at the command line: everything.
    Terminal,
    /// Nobody: it is tried out beside the active version.
    Nobody,
}

/// What a call is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPurpose {
    /// A message, or the preparation of a generation for messages.
    Service,
    /// A comparison: nothing comes of the answer.
    Rehearsal,
}

impl CallPurpose {
    /// That of a call with this context.
    #[must_use]
    pub fn of(ctx: &CallContext) -> Self {
        if ctx.dry_run { Self::Rehearsal } else { Self::Service }
    }
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    pub at: String,
    /// `error`, `warn`, `info` or `debug`.
    pub level: &'static str,
    /// The plugin, and its version.
    pub plugin: String,
    /// The call that logged it.
    pub call_id: String,
    /// The text, without control characters.
    pub message: String,
}

#[derive(Debug)]
struct State {
    lines: VecDeque<Line>,
    second: i64,
    in_second: u32,
    dropped: u64,
}

impl SlotLog {
    /// An empty log of a slot of a server.
    #[must_use]
    pub fn of_slot(slot: &str, clock: Clock) -> Self {
        Self::new(slot, clock, Audience::Operators)
    }

    #[must_use]
    pub fn new(slot: &str, clock: Clock, audience: Audience) -> Self {
        let state = State { lines: VecDeque::new(), second: 0, in_second: 0, dropped: 0 };
        let state = Arc::new(Mutex::new(state));
        Self { slot: slot.into(), clock, audience, counts: SlotCounts::new(slot), state }
    }

    /// Whether what a call logs and counts is kept.
    #[must_use]
    pub fn is_heard(&self, purpose: CallPurpose) -> bool {
        match self.audience {
            Audience::Operators => purpose == CallPurpose::Service,
            Audience::Terminal => true,
            Audience::Nobody => false,
        }
    }

    /// What the plugins of the slot count.
    #[must_use]
    pub fn counts(&self) -> &SlotCounts {
        &self.counts
    }

    #[must_use]
    pub fn slot(&self) -> &str {
        &self.slot
    }

    /// Takes a line; false where it is one too many for this second, and then it is only counted.
    pub fn push(&self, level: &'static str, plugin: &str, call_id: &str, message: &str) -> bool {
        let now = self.clock.now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let second = now.millis() / 1_000;
        if state.second != second {
            (state.second, state.in_second) = (second, 0);
        }
        state.in_second += 1;
        if state.in_second > MAX_LINES_PER_SECOND {
            state.dropped += 1;
            return false;
        }
        if state.lines.len() == MAX_KEPT_LINES {
            state.lines.pop_front();
        }
        state.lines.push_back(Line {
            at: now.rfc3339(),
            level,
            plugin: plugin.to_owned(),
            call_id: call_id.to_owned(),
            message: printable(message),
        });
        true
    }

    /// Counts a line that was dropped before it came here.
    pub fn dropped(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).dropped += 1;
    }

    /// The newest lines, oldest first, and how many were dropped since the start.
    #[must_use]
    pub fn tail(&self, limit: usize) -> (Vec<Line>, u64) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = state.lines.len().saturating_sub(limit);
        (state.lines.iter().skip(skipped).cloned().collect(), state.dropped)
    }
}

/// A guest's text on one line and of a bounded length: it may hold anything.
pub fn printable(text: &str) -> String {
    if text.len() <= MAX_LINE_CHARACTERS && text.bytes().all(|it| matches!(it, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars().map(|c| if is_unsafe(c) { ' ' } else { c }).take(MAX_LINE_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn a_flood_is_bounded_and_counted() {
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
        let log = SlotLog::of_slot("plan-policy", clock);
        let taken = (0..1_000).filter(|_| log.push("info", "p", "c", "a\nb\u{1b}[2J")).count();
        assert_eq!(taken, 100);
        let (lines, dropped) = log.tail(3);
        assert_eq!((lines.len(), dropped), (3, 900));
        assert_eq!(lines[0].message, "a b [2J");
    }
}
