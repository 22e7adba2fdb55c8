//! Domains of which cannot be found out now where their mail goes. They are looked up again without a
//! message that tries, and what waits for that goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use super::lookup_quota::LookupQuota;
use super::requeue::{FIRST_REQUEUE, MAX_REQUEUE};
use crate::clock::Timestamp;
use crate::store::Store;

/// The pause before the second look-up; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const MAX_PAUSE: Duration = Duration::from_mins(5);
/// For how long it is remembered that one was missed.
const REMEMBERED: Duration = Duration::from_hours(1);
/// How long a domain that came and went has to be known before it is trusted again.
const STEADY_AFTER: Duration = Duration::from_mins(10);
/// Domains that are remembered: messages to others try at their own time.
const MAX_DOMAINS: usize = 20_000;
/// Of these, how many are looked up at one time: mail to other domains needs the name servers, too.
const MAX_PARALLEL_LOOKUPS: usize = 32;
/// How many others are looked up at once when one was found again.
const MAX_NEIGHBOURS: usize = 8;
/// Among how many of its neighbours these are looked for.
const SCANNED_NEIGHBOURS: usize = 1_000;
/// What stands before a domain in the name under which its messages wait.
const WAITING_PREFIX: &str = "where to: ";

/// Such domains.
#[derive(Debug, Default)]
pub struct UnresolvedDomains {
    missed: BTreeMap<String, UnresolvedDomain>,
    /// Those that are to be looked up again, by the time.
    due: BTreeSet<(Timestamp, String)>,
}

#[derive(Debug)]
struct UnresolvedDomain {
    lookups: u32,
    /// When it is looked up next.
    at: Timestamp,
    /// Since when it is known again.
    found_at: Option<Timestamp>,
    /// It was known again for less than an hour: who comes and goes is not trusted with all that waits.
    is_fickle: bool,
}

impl UnresolvedDomains {
    /// A look-up has found nothing out.
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

    /// One that was found, or else the one whose turn is last: it has been missed for long.
    fn forget_one(&mut self) {
        let found = self.missed.iter().find(|(_, it)| it.found_at.is_some());
        let found = found.map(|(domain, _)| domain.clone());
        if let Some(domain) = found.or_else(|| self.due.pop_last().map(|(_, domain)| domain)) {
            self.missed.remove(&domain);
        }
    }

    /// Forgets those that are known for an hour. Those that came and went are looked up once more when they
    /// are known for some minutes, as if they had never been: then all that waits for them may go on.
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

    /// The clock was set back: nothing waits for a moment of the other time.
    pub fn make_all_due(&mut self, now: Timestamp) {
        let due = std::mem::take(&mut self.due);
        for (_, domain) in due {
            if let Some(missed) = self.missed.get_mut(&domain) {
                missed.at = now;
            }
            self.due.insert((now, domain));
        }
    }

    /// Something waits for it: it is looked up again, if it is not to be anyway.
    pub fn note_waiting(&mut self, domain: &str, now: Timestamp) {
        if self.missed.get(domain).is_none_or(|it| it.found_at.is_some()) {
            self.add(domain, now);
        }
    }

    /// It is known where its mail goes. Whether it was missed.
    pub fn record_found(&mut self, domain: &str, now: Timestamp) -> bool {
        let missed = self.missed.get_mut(domain).filter(|it| it.found_at.is_none());
        let Some(missed) = missed else { return false };
        missed.found_at = Some(now);
        self.due.remove(&(missed.at, domain.to_owned()))
    }

    /// How many of the messages that wait for it may go on when it is found. Of one that is new here some
    /// may wait since an earlier time.
    pub fn requeue_limit(&self, domain: &str) -> u32 {
        let is_fickle = self.missed.get(domain).is_some_and(|it| it.is_fickle);
        if is_fickle { FIRST_REQUEUE } else { MAX_REQUEUE }
    }

    /// Some that may be known again, too, since that one is: they are to be looked up now, if that asks
    /// anybody, beside those that are.
    pub fn neighbours(
        &self,
        found: &str,
        looked_up: &LookupQuota,
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

    /// Those that are to be looked up again now beside those that are, first who has waited for longest.
    /// Forgets those for which nothing waits.
    pub async fn due(
        &mut self,
        store: &Store,
        looked_up: &LookupQuota,
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
        let names: BTreeSet<String> = due.iter().map(|it| waiting_for(it)).collect();
        match store.waited_for(&names).await {
            Ok(waited_for) => due.retain(|domain| {
                let is_waited_for = waited_for.contains(&waiting_for(domain));
                if !is_waited_for && let Some(it) = self.missed.remove(domain) {
                    self.due.remove(&(it.at, domain.clone()));
                }
                is_waited_for
            }),
            Err(error) => {
                tracing::error!(%error, "domains cannot be looked up again now");
                due.clear();
            }
        }
        due
    }
}

/// How many may be looked up beside those that are.
fn room(looked_up: &LookupQuota) -> usize {
    MAX_PARALLEL_LOOKUPS.saturating_sub(looked_up.for_nobody())
}

/// The name under which messages to a domain wait until it is known where they go: no hosts have it.
pub fn waiting_for(domain: &str) -> String {
    format!("{WAITING_PREFIX}{domain}")
}

/// The domain whose messages wait under that name.
pub fn domain_of(name: &str) -> Option<&str> {
    name.strip_prefix(WAITING_PREFIX)
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
        let store = Store::open(&data.path().join("test.db")).await.expect("opens");
        let (mut unresolved, none) = (UnresolvedDomains::default(), LookupQuota::default());
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
        let mut looked_up = LookupQuota::default();
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

    #[test]
    fn a_name_is_read_back_and_hosts_have_another() {
        assert_eq!(domain_of(&waiting_for("example.com")), Some("example.com"));
        assert_eq!(domain_of("mx1.example.com mx2.example.com"), None);
    }
}
