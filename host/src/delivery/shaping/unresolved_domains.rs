//! Domains whose MX cannot be resolved now. They are looked up again in the background, and
//! messages that wait are requeued once that succeeds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use super::lookup_slots::LookupSlots;
use super::requeue::{FIRST_REQUEUE, MAX_REQUEUE};
use crate::clock::Timestamp;
use crate::message::waits_for::WaitsFor;
use crate::store::Store;

/// The pause before the second lookup; doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const MAX_PAUSE: Duration = Duration::from_mins(5);
/// How long a resolved domain is remembered as one that had failed.
const REMEMBERED: Duration = Duration::from_hours(1);
/// How long a flapping domain must stay resolved before it is trusted again.
const STEADY_AFTER: Duration = Duration::from_mins(10);
/// Domains that are remembered; messages to others are retried by their schedule.
const MAX_DOMAINS: usize = 20_000;
/// Parallel lookups in the background: other mail needs the name servers, too.
const MAX_PARALLEL_LOOKUPS: usize = 32;
/// Other domains that are looked up at once when one is resolved again, at most.
const MAX_NEIGHBOURS: usize = 8;
/// Entries that are searched for them.
const SCANNED_NEIGHBOURS: usize = 1_000;

#[derive(Debug, Default)]
pub struct UnresolvedDomains {
    missed: BTreeMap<String, UnresolvedDomain>,
    /// Pending lookups by time.
    due: BTreeSet<(Timestamp, String)>,
}

#[derive(Debug)]
struct UnresolvedDomain {
    lookups: u32,
    at: Timestamp,
    /// Since when it is resolved again.
    found_at: Option<Timestamp>,
    /// It failed again within an hour after it was resolved: a flapping domain gets only part of
    /// its waiting mail.
    is_fickle: bool,
}

impl UnresolvedDomains {
    /// Records a lookup without a result.
    pub fn add(&mut self, domain: &str, now: Timestamp) {
        if self.missed.len() >= MAX_DOMAINS && !self.missed.contains_key(domain) {
            self.forget_one();
        }
        let missed = self.missed.entry(domain.to_owned()).or_insert(UnresolvedDomain {
            lookups: 0,
            at: now,
            found_at: None,
            is_fickle: false,
        });
        missed.is_fickle |= missed.found_at.take().is_some();
        let doubled = FIRST_PAUSE.saturating_mul(1 << missed.lookups.min(10));
        missed.lookups = missed.lookups.saturating_add(1);
        self.due.remove(&(missed.at, domain.to_owned()));
        missed.at = now.after(doubled.min(MAX_PAUSE));
        self.due.insert((missed.at, domain.to_owned()));
    }

    /// Forgets a resolved domain, or else the one whose lookup is due last: it has failed for long.
    fn forget_one(&mut self) {
        let found = self.missed.iter().find(|(_, it)| it.found_at.is_some());
        let found = found.map(|(domain, _)| domain.clone());
        if let Some(domain) = found.or_else(|| self.due.pop_last().map(|(_, domain)| domain)) {
            self.missed.remove(&domain);
        }
    }

    /// Forgets domains that have been resolved for an hour. Flapping ones are looked up afresh once
    /// they are steady; then all that waits for them may be requeued.
    pub fn expire_found(&mut self, now: Timestamp) {
        let is_over = |at: Timestamp, after: Duration| now >= at.after(after) || now < at;
        for (domain, missed) in &mut self.missed {
            if missed.is_fickle && missed.found_at.is_some_and(|at| is_over(at, STEADY_AFTER)) {
                *missed =
                    UnresolvedDomain { lookups: 0, at: now, found_at: None, is_fickle: false };
                self.due.insert((now, domain.clone()));
            }
        }
        self.missed.retain(|_, it| it.found_at.is_none_or(|at| !is_over(at, REMEMBERED)));
    }

    /// Makes every lookup due, because the clock was set back.
    pub fn make_all_due(&mut self, now: Timestamp) {
        let due = std::mem::take(&mut self.due);
        for (_, domain) in due {
            if let Some(missed) = self.missed.get_mut(&domain) {
                missed.at = now;
            }
            self.due.insert((now, domain));
        }
    }

    /// Records that a message waits for the domain, so that it is looked up again.
    pub fn note_waiting(&mut self, domain: &str, now: Timestamp) {
        if self.missed.get(domain).is_none_or(|it| it.found_at.is_some()) {
            self.add(domain, now);
        }
    }

    /// Records that the domain is resolved; answers whether it had failed before.
    pub fn record_found(&mut self, domain: &str, now: Timestamp) -> bool {
        let missed = self.missed.get_mut(domain).filter(|it| it.found_at.is_none());
        let Some(missed) = missed else { return false };
        missed.found_at = Some(now);
        self.due.remove(&(missed.at, domain.to_owned()))
    }

    /// The most messages to requeue when the domain is resolved. Messages may also wait for a
    /// domain that is new here, since before a restart.
    pub fn requeue_limit(&self, domain: &str) -> u32 {
        let is_fickle = self.missed.get(domain).is_some_and(|it| it.is_fickle);
        if is_fickle { FIRST_REQUEUE } else { MAX_REQUEUE }
    }

    /// Other failed domains to look up now: where one resolves again, others may, too.
    pub fn neighbours(
        &self,
        found: &str,
        looked_up: &LookupSlots,
        asks: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let behind = self.missed.range::<str, _>((Bound::Excluded(found), Bound::Unbounded));
        let before = self.missed.range::<str, _>((Bound::Unbounded, Bound::Excluded(found)));
        let near = behind.chain(before).take(SCANNED_NEIGHBOURS);
        let missed = near.filter(|(_, it)| it.found_at.is_none());
        let others = missed.map(|(domain, _)| domain);
        let others = others.filter(|it| !looked_up.has(it) && asks(it));
        others.take(room(looked_up).min(MAX_NEIGHBOURS)).cloned().collect()
    }

    /// The domains whose lookup is due now, the longest due first. Forgets domains for which no
    /// message waits.
    pub async fn due(
        &mut self,
        store: &Store,
        looked_up: &LookupSlots,
        now: Timestamp,
    ) -> Vec<String> {
        if self.due.first().is_none_or(|(at, _)| now < *at) {
            return Vec::new();
        }
        let room = room(looked_up);
        if room == 0 {
            return Vec::new();
        }
        let over = self.due.iter().take_while(|(at, _)| *at <= now).map(|(_, domain)| domain);
        let over = over.filter(|it| !looked_up.has(it)).take(room).cloned();
        let mut due: Vec<String> = over.collect();
        if due.is_empty() {
            return due;
        }
        let mxs: BTreeSet<WaitsFor> = due.iter().map(|it| WaitsFor::Mx(it.clone())).collect();
        match store.waited_for(&mxs).await {
            Ok(waited_for) => due.retain(|domain| {
                let is_waited_for = waited_for.contains(&WaitsFor::Mx(domain.clone()));
                if !is_waited_for && let Some(it) = self.missed.remove(domain) {
                    self.due.remove(&(it.at, domain.clone()));
                }
                is_waited_for
            }),
            Err(error) => {
                tracing::error!(%error, "cannot read from the database which unresolved domains have waiting mail; retrying");
                due.clear();
            }
        }
        due
    }
}

/// Free lookups in the background.
fn room(looked_up: &LookupSlots) -> usize {
    MAX_PARALLEL_LOOKUPS.saturating_sub(looked_up.for_nobody())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    /// Those whose pause is over.
    fn over(unresolved: &UnresolvedDomains, now: Timestamp) -> usize {
        unresolved.due.iter().filter(|(at, _)| *at <= now).count()
    }

    #[test]
    fn the_pauses_double_up_to_five_minutes_whatever_the_clock_does() {
        let (mut unresolved, mut now) = (UnresolvedDomains::default(), NOW);
        for seconds in [30, 60, 120, 240, 300, 300] {
            unresolved.add("example.com", now);
            let end = now.after(Duration::from_secs(seconds));
            assert_eq!(over(&unresolved, end.before(Duration::from_millis(1))), 0, "{seconds}");
            assert_eq!(over(&unresolved, end), 1, "{seconds}");
            now = end;
        }
        let yesterday = now.before(Duration::from_hours(24));
        unresolved.make_all_due(yesterday);
        assert_eq!(over(&unresolved, yesterday), 1);
        assert!(unresolved.record_found("example.com", now));
        assert_eq!(over(&unresolved, now), 0);
        assert!(!unresolved.record_found("example.com", now), "once");
    }

    #[test]
    fn a_domain_that_comes_and_goes_is_not_trusted_with_all_that_waits() {
        let (mut unresolved, mut now) = (UnresolvedDomains::default(), NOW);
        unresolved.add("example.com", now);
        assert!(unresolved.record_found("example.com", now));
        assert_eq!(unresolved.requeue_limit("example.com"), MAX_REQUEUE);
        for _ in 0..5 {
            now = now.after(Duration::from_mins(1));
            unresolved.add("example.com", now);
            assert!(unresolved.record_found("example.com", now));
            assert_eq!(unresolved.requeue_limit("example.com"), FIRST_REQUEUE);
        }
        unresolved.add("example.com", now);
        assert_eq!(over(&unresolved, now.after(FIRST_PAUSE)), 0, "nor asked for so often");
        assert!(unresolved.record_found("example.com", now));
        unresolved.expire_found(now.after(STEADY_AFTER).before(FIRST_PAUSE));
        assert_eq!(over(&unresolved, now.after(STEADY_AFTER)), 0);
        unresolved.expire_found(now.after(STEADY_AFTER));
        assert_eq!(
            over(&unresolved, now.after(STEADY_AFTER)),
            1,
            "it stays: others may wait for it still"
        );
        assert!(unresolved.record_found("example.com", now.after(STEADY_AFTER)));
        assert_eq!(unresolved.requeue_limit("example.com"), MAX_REQUEUE);
    }

    #[tokio::test]
    async fn after_an_hour_a_domain_is_as_good_as_others() {
        let data = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&data).await;
        let (mut unresolved, none) = (UnresolvedDomains::default(), LookupSlots::default());
        unresolved.add("example.com", NOW);
        unresolved.record_found("example.com", NOW);
        unresolved.expire_found(NOW.after(REMEMBERED));
        assert!(unresolved.missed.is_empty());
        unresolved.add("example.com", NOW);
        let due = unresolved.due(&store, &none, NOW.after(MAX_PAUSE)).await;
        assert!(due.is_empty() && unresolved.missed.is_empty(), "nothing waits for it");
        assert!(unresolved.due.is_empty());
    }

    #[test]
    fn when_one_is_found_again_all_others_have_their_turn() {
        let mut unresolved = UnresolvedDomains::default();
        let domains: Vec<String> = (100..200).map(|n| format!("{n}.example")).collect();
        for domain in &domains {
            unresolved.add(domain, NOW);
        }
        let mut looked_up = LookupSlots::default();
        assert!(looked_up.begin(&domains[12], None) && looked_up.begin("other.example", None));
        let others = unresolved.neighbours(&domains[10], &looked_up, |it| it != domains[13]);
        let expected = [11, 14, 15, 16, 17, 18, 19, 20].map(|it| domains[it].clone());
        assert_eq!(
            others, expected,
            "those behind it that are not looked up, and would be asked for"
        );
        let others = unresolved.neighbours(&domains[98], &looked_up, |_| true);
        assert_eq!(
            (&others[0], &others[1]),
            (&domains[99], &domains[0]),
            "and then from the start"
        );
        for domain in &domains[20..20 + MAX_PARALLEL_LOOKUPS - 5] {
            assert!(looked_up.begin(domain, None));
        }
        assert_eq!(
            unresolved.neighbours(&domains[98], &looked_up, |_| true).len(),
            3,
            "no more room"
        );
    }

    #[test]
    fn who_was_missed_lately_is_remembered_before_who_has_been_for_long() {
        let mut unresolved = UnresolvedDomains::default();
        unresolved.add("long.example", NOW);
        unresolved.add("long.example", NOW);
        for n in 0..MAX_DOMAINS {
            unresolved.add(&format!("{n}.example"), NOW);
        }
        assert_eq!((unresolved.missed.len(), unresolved.due.len()), (MAX_DOMAINS, MAX_DOMAINS));
        assert!(!unresolved.missed.contains_key("long.example"));
    }
}
