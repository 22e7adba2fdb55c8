//! When a plugin is rolled back without being asked: it fails on its first calls, or on enough of
//! all calls of the last minute, over enough different inputs that the input is not to blame. A call
//! fails where the plugin traps, and where it gives up.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_mins(1);
const TRAPS_TO_ROLL_BACK: usize = 5;
const INPUTS_TO_ROLL_BACK: usize = 3;
/// One in fifty: 2 %.
const ONE_IN: u64 = 50;
const FIRST_CALLS: u64 = 3;

/// The traps of one generation.
#[derive(Debug, Default)]
pub struct TrapWindow {
    traps: VecDeque<(Instant, u64)>,
    calls: VecDeque<(Instant, u64)>,
    among_the_first: u64,
}

impl TrapWindow {
    /// Notes how many calls the generation had had by now; to be called about once a second.
    pub fn had(&mut self, now: Instant, calls: u64) {
        if self.calls.is_empty() {
            // Of a generation that is younger than the window, all calls are in it.
            self.calls.push_back((now, 0));
        }
        self.calls.push_back((now, calls));
        // The newest count that is older than the window is where the window begins.
        while self.calls.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW) {
            self.calls.pop_front();
        }
    }

    /// Notes a trap on an input, when `calls` calls had been made and `before` before this one.
    /// Answers why the generation must go, if it must.
    pub fn trapped(&mut self, now: Instant, input: u64, before: u64, calls: u64) -> Option<String> {
        self.among_the_first += u64::from(before < FIRST_CALLS);
        if self.among_the_first == FIRST_CALLS {
            return Some(format!("its first {FIRST_CALLS} calls failed"));
        }
        self.traps.push_back((now, input));
        while self.traps.front().is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW) {
            self.traps.pop_front();
        }
        let began = self.calls.front().map_or(0, |(_, calls)| *calls);
        let in_window = calls.saturating_sub(began).max(1);
        let traps = self.traps.len();
        let inputs = self.traps.iter().map(|(_, input)| input).collect::<HashSet<_>>().len();
        let share = u64::try_from(traps).unwrap_or(u64::MAX).saturating_mul(ONE_IN);
        (traps >= TRAPS_TO_ROLL_BACK && inputs >= INPUTS_TO_ROLL_BACK && share >= in_window).then(
            || format!("{traps} of {in_window} calls failed within a minute, on {inputs} inputs"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_whose_first_three_calls_trap_is_rolled_back() {
        let (mut window, now) = (TrapWindow::default(), Instant::now());
        assert_eq!(window.trapped(now, 1, 0, 1), None);
        assert_eq!(window.trapped(now, 1, 1, 2), None);
        assert!(window.trapped(now, 1, 2, 3).is_some());
    }

    #[test]
    fn five_traps_over_three_inputs_are_enough_and_over_two_are_not() {
        let now = Instant::now();
        let traps = |inputs: [u64; 5], calls: u64| {
            let mut window = TrapWindow::default();
            window.had(now, 0);
            inputs.map(|input| window.trapped(now, input, 10, calls)).last().cloned().flatten()
        };
        assert!(traps([1, 2, 3, 1, 2], 100).is_some());
        assert_eq!(traps([1, 2, 1, 2, 1], 100), None);
        assert_eq!(traps([1, 2, 3, 4, 5], 1_000), None, "half a percent");
    }

    #[test]
    fn traps_of_long_ago_do_not_count() {
        let (mut window, start) = (TrapWindow::default(), Instant::now());
        for input in 0..4 {
            assert_eq!(window.trapped(start, input, 10, 100), None);
        }
        assert_eq!(window.trapped(start + WINDOW, 5, 10, 100), None);
    }

    #[test]
    fn calls_of_long_ago_do_not_hide_traps() {
        let (mut window, start) = (TrapWindow::default(), Instant::now());
        for second in 0..120 {
            window.had(start + Duration::from_secs(second), 100_000.min(second * 10_000));
        }
        let now = start + Duration::from_mins(2);
        let answers: Vec<_> =
            (0..5).map(|input| window.trapped(now, input, 100_000, 100_100)).collect();
        assert!(answers[4].is_some(), "5 of 100, whatever was before");
    }
}
