//! Slots for attempts: bounded in all and for one webhook; a quarter for endpoints that fail or are
//! slow, and half of either for one owner, however many webhooks it has.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::super::WebhookSettings;
use crate::clock::Timestamp;
use crate::id::WebhookId;
use crate::store::{Waiting, WebhookOwner};

/// Parallel attempts for a webhook that is slow, fails, or has no record yet.
const MAX_UNPROVEN: usize = 2;

/// How an endpoint answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointHealth {
    Fast,
    /// Slow, or failing now and then.
    Slow,
    /// Failing several times in a row: one attempt at a time.
    Failing,
}

impl EndpointHealth {
    /// Whether it uses the slow endpoints' slots.
    fn uses_slow_slots(self) -> bool {
        match self {
            Self::Slow | Self::Failing => true,
            Self::Fast => false,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct SlotsInUse {
    all: Count,
    owners: HashMap<WebhookOwner, Count>,
    webhooks: HashMap<WebhookId, usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    slots: usize,
    slow: usize,
}

/// Webhooks with due deliveries, in the order of fairness.
#[derive(Debug)]
pub struct FairQueue {
    waiting: Vec<Waiting>,
    /// Each with its sort key when it was pushed; a sort key only grows while slots are taken, so a stale entry is
    /// pushed again and never missed.
    heap: BinaryHeap<Reverse<(SortKey, usize)>>,
}

/// Slots of the owner, slots of the webhook, and the due time; the lowest is next.
type SortKey = (usize, usize, Timestamp);

impl SlotsInUse {
    pub fn take(
        &mut self,
        owner: WebhookOwner,
        webhook: WebhookId,
        pace: Option<EndpointHealth>,
        some: usize,
    ) {
        let slow = if pace.is_some_and(EndpointHealth::uses_slow_slots) { some } else { 0 };
        for count in [&mut self.all, self.owners.entry(owner).or_default()] {
            count.slots += some;
            count.slow += slow;
        }
        *self.webhooks.entry(webhook).or_default() += some;
    }

    /// Releases a slot that was taken at this pace.
    pub fn give_back(
        &mut self,
        owner: WebhookOwner,
        webhook: WebhookId,
        pace: Option<EndpointHealth>,
    ) {
        let slow = usize::from(pace.is_some_and(EndpointHealth::uses_slow_slots));
        for count in [&mut self.all, self.owners.entry(owner).or_default()] {
            count.slots = count.slots.saturating_sub(1);
            count.slow = count.slow.saturating_sub(slow);
        }
        let own = self.webhooks.entry(webhook).or_default();
        *own = own.saturating_sub(1);
        self.webhooks.retain(|_, own| *own > 0);
        self.owners.retain(|_, own| own.slots > 0);
    }

    /// The further slots that a webhook may take now.
    pub fn free_slots(
        &self,
        waiting: &Waiting,
        pace: Option<EndpointHealth>,
        rules: &WebhookSettings,
    ) -> usize {
        let (all, slow) = (rules.concurrent, (rules.concurrent / 4).max(1));
        let owner = self.owners.get(&waiting.owner).copied().unwrap_or_default();
        let most = match pace {
            Some(EndpointHealth::Fast) => rules.concurrent_per_webhook,
            Some(EndpointHealth::Slow) | None => MAX_UNPROVEN.min(rules.concurrent_per_webhook),
            Some(EndpointHealth::Failing) => 1,
        };
        let own = self.webhooks.get(&waiting.webhook).copied().unwrap_or_default();
        let free_slots = most
            .saturating_sub(own)
            .min(all.saturating_sub(self.all.slots))
            .min(half(all).saturating_sub(owner.slots));
        if !pace.is_some_and(EndpointHealth::uses_slow_slots) {
            return free_slots;
        }
        free_slots
            .min(slow.saturating_sub(self.all.slow))
            .min(half(slow).saturating_sub(owner.slow))
    }

    fn sort_key(&self, waiting: &Waiting) -> SortKey {
        let owner = self.owners.get(&waiting.owner).map_or(0, |it| it.slots);
        let own = self.webhooks.get(&waiting.webhook).copied().unwrap_or_default();
        (owner, own, waiting.due)
    }
}

impl FairQueue {
    pub fn of(waiting: Vec<Waiting>, taken: &SlotsInUse) -> Self {
        let sort_keys = waiting.iter().enumerate().map(|(n, it)| Reverse((taken.sort_key(it), n)));
        Self { heap: sort_keys.collect(), waiting }
    }

    /// The webhook whose owner has the fewest slots, then which has the fewest itself; each comes
    /// once.
    pub fn next(&mut self, taken: &SlotsInUse) -> Option<Waiting> {
        loop {
            let Reverse((sort_key, n)) = self.heap.pop()?;
            let waiting = self.waiting.get(n)?;
            let now = taken.sort_key(waiting);
            if now == sort_key {
                return Some(waiting.clone());
            }
            self.heap.push(Reverse((now, n)));
        }
    }
}

/// One owner's share of slots.
fn half(slots: usize) -> usize {
    (slots / 2).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::id::AccountId;
    use crate::store::WebhookState;
    use crate::webhooks::schedule::Schedule;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn rules(concurrent: usize) -> WebhookSettings {
        WebhookSettings {
            schedule: Schedule::default(),
            concurrent,
            concurrent_per_webhook: 8,
            per_owner: 20,
            give_up: Duration::from_hours(120),
        }
    }

    fn waiting(owner: WebhookOwner, seconds: u64) -> Waiting {
        Waiting {
            webhook: WebhookId::new(NOW),
            url: String::new(),
            owner,
            state: WebhookState::Active,
            fails: true,
            due: NOW.after(Duration::from_secs(seconds)),
        }
    }

    fn owner() -> WebhookOwner {
        WebhookOwner::Account(AccountId::new(NOW))
    }

    /// Gives out all places that there are; answers how many each owner got, in the order of `owners`.
    fn given(
        taken: &mut SlotsInUse,
        all: &[Waiting],
        pace: Option<EndpointHealth>,
        rules: &WebhookSettings,
        owners: &[WebhookOwner],
    ) -> Vec<usize> {
        let mut queue = FairQueue::of(all.to_vec(), taken);
        let mut given = BTreeMap::new();
        while let Some(next) = queue.next(taken) {
            let free_slots = taken.free_slots(&next, pace, rules);
            taken.take(next.owner, next.webhook, pace, free_slots);
            let index = owners.iter().position(|it| *it == next.owner).expect("one of them");
            *given.entry(index).or_default() += free_slots;
        }
        given.into_values().collect()
    }

    #[test]
    fn many_webhooks_of_one_owner_do_not_take_the_places_of_another() {
        let owners = [owner(), owner(), WebhookOwner::Server];
        let mut all: Vec<Waiting> = (0..20).map(|n| waiting(owners[0], n)).collect();
        let mut taken = SlotsInUse::default();
        let slow = Some(EndpointHealth::Slow);
        let given_out = given(&mut taken, &all, slow, &rules(64), &owners);
        assert_eq!(given_out, [8], "half of the slow ones, although nobody else waits");
        all.extend((0..20).map(|n| waiting(owners[1], 100 + n)));
        all.push(waiting(owners[2], 1_000));
        let given_out = given(&mut taken, &all, slow, &rules(64), &owners);
        assert_eq!(given_out, [0, 6, 2], "who has none is before who has some");
        let given_out = given(&mut taken, &all, None, &rules(64), &owners);
        assert_eq!(given_out, [24, 24, 0], "half of all for the first one, and not more in all");
    }

    #[test]
    fn an_endpoint_that_fails_has_one_place_among_the_slow_ones() {
        let owners = [owner()];
        let (it, mut taken) = (waiting(owners[0], 0), SlotsInUse::default());
        let all = std::slice::from_ref(&it);
        assert_eq!(given(&mut taken, all, Some(EndpointHealth::Failing), &rules(64), &owners), [1]);
        assert_eq!(given(&mut taken, all, Some(EndpointHealth::Failing), &rules(64), &owners), [0]);
        assert_eq!((taken.all.slots, taken.all.slow), (1, 1));
        taken.give_back(it.owner, it.webhook, Some(EndpointHealth::Failing));
        assert_eq!((taken.all.slots, taken.all.slow), (0, 0));
    }

    #[test]
    fn owners_take_turns_also_in_one_round() {
        let owners = [owner(), owner(), owner()];
        let mut all: Vec<Waiting> = (0..20).map(|n| waiting(owners[0], n)).collect();
        all.extend((0..20).map(|n| waiting(owners[1], 50 + n)));
        all.push(waiting(owners[2], 100));
        let given_out = given(
            &mut SlotsInUse::default(),
            &all,
            Some(EndpointHealth::Slow),
            &rules(64),
            &owners,
        );
        assert_eq!(given_out, [8, 6, 2]);
    }

    #[test]
    fn one_place_is_still_a_place() {
        let owners = [owner(), owner()];
        let all: Vec<Waiting> = owners.iter().map(|it| waiting(*it, 0)).collect();
        for pace in [None, Some(EndpointHealth::Fast), Some(EndpointHealth::Slow)] {
            let mut taken = SlotsInUse::default();
            let given_out = given(&mut taken, &all, pace, &rules(1), &owners);
            assert_eq!(given_out.iter().sum::<usize>(), 1, "{pace:?}");
            let busy = all.iter().find(|it| taken.sort_key(it).0 == 1).expect("one has it");
            taken.give_back(busy.owner, busy.webhook, pace);
            assert!(taken.owners.is_empty() && taken.webhooks.is_empty());
            assert_eq!((taken.all.slots, taken.all.slow), (0, 0));
        }
    }
}
