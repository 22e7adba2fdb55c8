//! Which checks have turned, and whom that was told: to failing, back, or from failing to where nobody knows, where that has
//! held for two runs.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{CheckName, Scope, State};
use crate::clock::Timestamp;

/// A finding must be seen so often before anybody is told: a name server that is slow once is no news.
const HOLD_RUNS: u32 = 2;

/// How a check has turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Failing,
    /// It fails no more.
    Over,
    /// It was told to fail, and could not be made since.
    NotChecked,
}

/// What was seen of each check, and what was told.
#[derive(Debug, Default)]
pub struct Turns {
    states: BTreeMap<CheckName, (State, Timestamp)>,
    streaks: BTreeMap<CheckName, Streak>,
    /// How many times in a row the check could not be made.
    unknown: BTreeMap<CheckName, u32>,
    /// The checks that were told to fail, and not yet to be over it.
    told: BTreeSet<CheckName>,
}

/// Runs in a row in which a check failed, or did not.
#[derive(Debug, Clone, Copy)]
struct Streak {
    fails: bool,
    runs: u32,
}

impl Turns {
    /// Takes over which checks of a scope were told of, by an earlier start or another node.
    pub fn remember(&mut self, scope: Scope, names: &str) {
        self.told.retain(|it| it.scope() != scope);
        let told = names.split_whitespace().filter_map(CheckName::from_name);
        self.told.extend(told.filter(|it| it.scope() == scope));
    }

    /// The checks of a scope that were told of, for whoever tells next.
    #[must_use]
    pub fn told_names(&self, scope: Scope) -> String {
        let told = self.told.iter().filter(|it| it.scope() == scope);
        told.map(|it| it.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Notes what a run saw. Answers since when it has been so, and the state before, where that was another one.
    pub fn observe(
        &mut self,
        check: CheckName,
        state: State,
        at: Timestamp,
    ) -> (Timestamp, Option<State>) {
        let fails = match state {
            State::Failing => Some(true),
            State::Ok | State::Warning => Some(false),
            // Nothing is known: what was last known stays.
            State::NotChecked => None,
        };
        if let Some(fails) = fails {
            self.unknown.remove(&check);
            let streak = self.streaks.entry(check).or_insert(Streak { fails, runs: 0 });
            if streak.fails != fails {
                *streak = Streak { fails, runs: 0 };
            }
            streak.runs = streak.runs.saturating_add(1);
        } else {
            let runs = self.unknown.entry(check).or_default();
            *runs = runs.saturating_add(1);
        }
        match self.states.insert(check, (state, at)) {
            Some((before, since)) if before == state => {
                self.states.insert(check, (state, since));
                (since, None)
            }
            Some((before, _)) => (at, Some(before)),
            // Well at the first look is no news.
            None => (at, Some(State::Ok)),
        }
    }

    /// What is to be told.
    #[must_use]
    pub fn pending(&self) -> Vec<(CheckName, Turn)> {
        let turned = |(check, streak): (&CheckName, &Streak)| {
            let turn = if streak.fails { Turn::Failing } else { Turn::Over };
            (streak.runs >= HOLD_RUNS && self.differs(*check, *streak)).then_some((*check, turn))
        };
        let is_unknown = |check: &CheckName| {
            self.told.contains(check) && self.unknown.get(check).is_some_and(|it| *it >= HOLD_RUNS)
        };
        let known = self.streaks.iter().filter(|(check, _)| !is_unknown(check)).filter_map(turned);
        let unknown = self.told.iter().filter(|it| is_unknown(it));
        known.chain(unknown.map(|it| (*it, Turn::NotChecked))).collect()
    }

    /// Whether one more run decides something of a check.
    #[must_use]
    pub fn is_open(&self, check: CheckName) -> bool {
        let streak = self.streaks.get(&check);
        streak.is_some_and(|it| it.runs < HOLD_RUNS && self.differs(check, *it))
    }

    /// Notes that a turn was told.
    pub fn told(&mut self, check: CheckName, turn: Turn) {
        match turn {
            Turn::Failing => {
                self.told.insert(check);
            }
            Turn::Over => {
                self.told.remove(&check);
            }
            // What was known before counts no more: a failure that is seen again is told again.
            Turn::NotChecked => {
                self.told.remove(&check);
                self.streaks.remove(&check);
            }
        }
    }

    fn differs(&self, check: CheckName, streak: Streak) -> bool {
        streak.fails != self.told.contains(&check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: CheckName = CheckName::BlockLists;

    fn observe(turns: &mut Turns, states: &[State]) {
        for (minute, state) in (0..).zip(states) {
            turns.observe(CHECK, *state, Timestamp::from_millis(minute * 60_000));
        }
    }

    #[test]
    fn what_holds_for_two_runs_is_told_once_and_so_is_its_end() {
        let mut turns = Turns::default();
        observe(&mut turns, &[State::Ok, State::Ok, State::Failing]);
        assert!(turns.pending().is_empty() && turns.is_open(CHECK), "one more run decides");
        observe(&mut turns, &[State::Failing]);
        assert_eq!(turns.pending(), [(CHECK, Turn::Failing)]);
        turns.told(CHECK, Turn::Failing);
        observe(&mut turns, &[State::Failing, State::Failing]);
        assert!(turns.pending().is_empty(), "never twice");
        observe(&mut turns, &[State::Warning]);
        assert!(turns.pending().is_empty() && turns.is_open(CHECK));
        observe(&mut turns, &[State::Ok]);
        assert_eq!(turns.pending(), [(CHECK, Turn::Over)]);
        turns.told(CHECK, Turn::Over);
        assert_eq!((turns.pending(), turns.told_names(Scope::Node)), (Vec::new(), String::new()));
    }

    #[test]
    fn a_check_that_flaps_or_could_not_be_made_is_not_told() {
        let mut turns = Turns::default();
        observe(&mut turns, &[State::Failing, State::Ok, State::Failing, State::Ok]);
        assert!(turns.pending().is_empty());
        let mut turns = Turns::default();
        observe(&mut turns, &[State::Failing, State::NotChecked, State::NotChecked]);
        assert!(turns.pending().is_empty());
        observe(&mut turns, &[State::Failing]);
        assert_eq!(turns.pending(), [(CHECK, Turn::Failing)], "what was known has stayed");
    }

    #[test]
    fn a_failure_that_cannot_be_checked_any_more_is_told_once() {
        let mut turns = Turns::default();
        observe(&mut turns, &[State::Failing, State::Failing]);
        turns.told(CHECK, Turn::Failing);
        observe(&mut turns, &[State::NotChecked]);
        assert!(turns.pending().is_empty() && !turns.is_open(CHECK), "a whole round decides");
        observe(&mut turns, &[State::NotChecked]);
        assert_eq!(turns.pending(), [(CHECK, Turn::NotChecked)]);
        turns.told(CHECK, Turn::NotChecked);
        observe(&mut turns, &[State::NotChecked, State::NotChecked]);
        assert!(turns.pending().is_empty(), "never twice");
        assert_eq!(turns.told_names(Scope::Node), "");
        observe(&mut turns, &[State::Ok, State::Ok]);
        assert!(turns.pending().is_empty(), "nobody was told that it fails");
        observe(&mut turns, &[State::Failing, State::Failing]);
        assert_eq!(turns.pending(), [(CHECK, Turn::Failing)], "that is news again");
    }

    #[test]
    fn a_verdict_between_two_runs_without_one_keeps_a_failure_told() {
        let mut turns = Turns::default();
        observe(&mut turns, &[State::Failing, State::Failing]);
        turns.told(CHECK, Turn::Failing);
        observe(&mut turns, &[State::NotChecked, State::Failing, State::NotChecked]);
        assert!(turns.pending().is_empty());
    }

    #[test]
    fn the_next_start_knows_what_was_told() {
        let mut turns = Turns::default();
        turns.told(CHECK, Turn::Failing);
        let mut next = Turns::default();
        next.remember(Scope::Node, &format!("{} weather", turns.told_names(Scope::Node)));
        observe(&mut next, &[State::Failing, State::Failing]);
        assert!(next.pending().is_empty(), "it was told before the start");
        observe(&mut next, &[State::Ok, State::Ok]);
        assert_eq!(next.pending(), [(CHECK, Turn::Over)]);
    }

    #[test]
    fn what_another_node_has_told_of_the_database_is_not_told_again() {
        let queue = CheckName::Queue;
        let mut turns = Turns::default();
        turns.told(CHECK, Turn::Failing);
        for minute in 0..2 {
            turns.observe(queue, State::Failing, Timestamp::from_millis(minute * 60_000));
        }
        assert_eq!(turns.pending(), [(queue, Turn::Failing)]);
        turns.remember(Scope::Database, "queue");
        assert!(turns.pending().is_empty(), "another node has told of it");
        turns.remember(Scope::Database, "");
        assert_eq!(turns.pending(), [(queue, Turn::Failing)], "and that it is over");
        assert_eq!(turns.told_names(Scope::Node), CHECK.as_str(), "that is this node's own");
        assert_eq!(turns.told_names(Scope::Database), "");
    }

    #[test]
    fn a_state_has_a_beginning_and_news_are_told_once() {
        let mut turns = Turns::default();
        let at = |minute: i64| Timestamp::from_millis(minute * 60_000);
        assert_eq!(turns.observe(CHECK, State::Warning, at(1)), (at(1), Some(State::Ok)));
        assert_eq!(turns.observe(CHECK, State::Warning, at(2)), (at(1), None));
        assert_eq!(turns.observe(CHECK, State::Ok, at(3)), (at(3), Some(State::Warning)));
    }
}
