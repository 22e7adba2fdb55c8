//! Whose requests are in the next transaction: deficit round robin over accounts (Shreedhar and Varghese,
//! 1995). Each account in turn may put in so many messages; one whose request is larger saves its turns up
//! until it fits. While an account alone waits, nothing is held back.

use std::collections::{HashMap, VecDeque};

use crate::id::AccountId;

/// What a transaction costs at most, in messages, unless it is for one request alone.
const MAX_MESSAGES_PER_COMMIT: usize = 256;
/// What an account may put in at each of its turns.
const QUANTUM: usize = 32;

/// What takes turns.
pub trait Jobs {
    fn account(&self) -> AccountId;

    /// What it costs a transaction, in messages; at least one.
    fn cost(&self) -> usize;
}

/// The requests that wait for a commit, one queue for each account.
#[derive(Debug)]
pub struct Turns<J> {
    /// The next one in turn first; each account with something that waits stands there once.
    order: VecDeque<AccountId>,
    lines: HashMap<AccountId, Line<J>>,
}

#[derive(Debug)]
struct Line<J> {
    waiting: VecDeque<J>,
    saved: usize,
}

impl<J> Default for Turns<J> {
    fn default() -> Self {
        Self { order: VecDeque::new(), lines: HashMap::new() }
    }
}

impl<J: Jobs> Turns<J> {
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Puts a request at the end of its account's line.
    pub fn push(&mut self, job: J) {
        let account = job.account();
        let line = self.lines.entry(account).or_insert_with(|| {
            self.order.push_back(account);
            Line { waiting: VecDeque::new(), saved: 0 }
        });
        line.waiting.push_back(job);
    }

    /// What the next transaction writes; nothing where nothing waits.
    pub fn next_group(&mut self) -> Vec<J> {
        let mut group = Group { jobs: Vec::new(), cost: 0 };
        while !self.order.is_empty() {
            let before = group.jobs.len();
            for _ in 0..self.order.len() {
                if let Room::None = self.turn(&mut group) {
                    return group.jobs;
                }
            }
            // What is ready goes at once; a request that does not fit yet has saved a turn.
            if before > 0 && group.jobs.len() == before {
                break;
            }
        }
        group.jobs
    }

    fn turn(&mut self, group: &mut Group<J>) -> Room {
        let Some(account) = self.order.pop_front() else { return Room::None };
        let Some(line) = self.lines.get_mut(&account) else { return Room::Left };
        line.saved += QUANTUM;
        while let Some(next) = line.waiting.front().map(Jobs::cost) {
            if next > line.saved {
                // Saved for this request, not for a flood after it.
                line.saved = line.saved.min(next);
                self.order.push_back(account);
                return Room::Left;
            }
            if !group.has_room_for(next) {
                // The first one in the next group, or smaller ones would take its room for ever.
                line.saved = line.saved.min(next.max(QUANTUM));
                self.order.push_front(account);
                return Room::None;
            }
            line.saved -= next;
            group.cost += next;
            group.jobs.extend(line.waiting.pop_front());
        }
        self.lines.remove(&account);
        Room::Left
    }
}

struct Group<J> {
    jobs: Vec<J>,
    cost: usize,
}

/// Whether more fits into a group.
enum Room {
    Left,
    None,
}

impl<J> Group<J> {
    fn has_room_for(&self, cost: usize) -> bool {
        self.jobs.is_empty() || self.cost + cost <= MAX_MESSAGES_PER_COMMIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Of(i64, usize);

    impl Jobs for Of {
        fn account(&self) -> AccountId {
            AccountId::first_of(Timestamp::from_millis(self.0))
        }

        fn cost(&self) -> usize {
            self.1
        }
    }

    const BATCH: Of = Of(1, 500);
    const SINGLE: Of = Of(2, 1);

    fn waiting(jobs: impl IntoIterator<Item = Of>) -> Turns<Of> {
        let mut turns = Turns::default();
        jobs.into_iter().for_each(|it| turns.push(it));
        turns
    }

    #[test]
    fn a_send_behind_another_accounts_batches_is_in_the_next_transaction() {
        let mut turns = waiting(std::iter::repeat_n(BATCH, 20).chain([SINGLE]));
        assert_eq!(turns.next_group(), [SINGLE], "and alone");
        assert_eq!(turns.next_group(), [BATCH], "one at a time");
    }

    #[test]
    fn a_batch_has_its_turn_however_many_sends_come() {
        for first in [BATCH, SINGLE] {
            let mut turns = waiting([first]);
            turns.push(BATCH);
            let groups = (1..100).find(|_| {
                (0..300).for_each(|_| turns.push(SINGLE));
                turns.next_group().contains(&BATCH)
            });
            assert!(groups.is_some_and(|it| it <= 1 + BATCH.1 / QUANTUM), "{groups:?}");
        }
    }

    #[test]
    fn an_account_alone_fills_a_transaction_and_keeps_its_order() {
        let jobs: Vec<Of> = (1..=1_000).map(|n| Of(1, 1 + n % 2)).collect();
        let mut turns = waiting(jobs.clone());
        let (mut all, mut groups) = (Vec::new(), 0);
        while !turns.is_empty() {
            let group = turns.next_group();
            let cost: usize = group.iter().map(Jobs::cost).sum();
            assert!(cost <= MAX_MESSAGES_PER_COMMIT, "{cost}");
            groups += 1;
            all.extend(group);
        }
        assert_eq!((all, groups), (jobs, 6), "1,500 messages, 256 at a time");
    }

    #[test]
    fn accounts_share_a_transaction_however_long_their_lines_are() {
        let long = std::iter::repeat_n(Of(1, 1), 10_000);
        let short = (2..=4).flat_map(|n| std::iter::repeat_n(Of(n, 1), 40));
        let group = waiting(long.chain(short)).next_group();
        let of = |n| group.iter().filter(|it| it.0 == n).count();
        assert_eq!([of(2), of(3), of(4)], [40, 40, 40], "all of theirs");
        assert_eq!(
            group.len(),
            MAX_MESSAGES_PER_COMMIT,
            "and the rest of the room for the long line"
        );
    }

    #[test]
    fn a_request_larger_than_a_transaction_has_one_of_its_own() {
        let mut turns = waiting([Of(1, 10_000), Of(1, 1), Of(2, 1)]);
        assert_eq!(turns.next_group(), [Of(2, 1)]);
        assert_eq!(turns.next_group(), [Of(1, 10_000)]);
        assert_eq!(turns.next_group(), [Of(1, 1)]);
        assert!(turns.next_group().is_empty() && turns.lines.is_empty());
    }
}
