//! Domains of which cannot be found out now where their mail goes. They are looked up again without a
//! message that tries, and what waits for that goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use super::recovery::{FIRST, MOST};
use crate::clock::Timestamp;
use crate::store::Store;

/// The pause before the second look-up; it doubles with each further one.
const PAUSE: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_mins(5);
/// For how long it is remembered that one was missed.
const REMEMBERED: Duration = Duration::from_hours(1);
/// Domains that are remembered: messages to others try at their own time.
const DOMAINS: usize = 20_000;
/// Of these, how many are looked up at one time: mail to other domains needs the name servers, too.
const AT_ONE_TIME: usize = 16;
/// How many others are looked up at once when one was found again.
const NEXT: usize = 8;
/// What stands before a domain in the name under which its messages wait.
const WHERE: &str = "where to: ";

/// Such domains.
#[derive(Debug, Default)]
pub struct Unresolved(BTreeMap<String, Missed>);

#[derive(Debug)]
struct Missed {
    look_ups: u32,
    /// When it is looked up next.
    at: Timestamp,
    /// Since when it is known again.
    found_at: Option<Timestamp>,
    /// It was known again for less than an hour: who comes and goes is not trusted with all that waits.
    is_fickle: bool,
}

impl Unresolved {
    /// A look-up has found nothing out.
    pub fn add(&mut self, domain: &str, now: Timestamp) {
        if self.0.len() >= DOMAINS && !self.0.contains_key(domain) {
            return;
        }
        let missed = self.0.entry(domain.to_owned()).or_insert(Missed {
            look_ups: 0,
            at: now,
            found_at: None,
            is_fickle: false,
        });
        missed.is_fickle |= missed.found_at.take().is_some();
        let doubled = PAUSE.saturating_mul(1 << missed.look_ups.min(10));
        missed.look_ups = missed.look_ups.saturating_add(1);
        missed.at = now.after(doubled.min(LONGEST));
    }

    /// Something waits for it: it is looked up again, if it is not to be anyway.
    pub fn is_waited_for(&mut self, domain: &str, now: Timestamp) {
        if self.0.get(domain).is_none_or(|it| it.found_at.is_some()) {
            self.add(domain, now);
        }
    }

    /// It is known where its mail goes. Whether it was missed.
    pub fn found(&mut self, domain: &str, now: Timestamp) -> bool {
        let missed = self.0.get_mut(domain).filter(|it| it.found_at.is_none());
        missed.map(|it| it.found_at = Some(now)).is_some()
    }

    /// How many of the messages that wait for it may go on when it is found. Of one that is new here some
    /// may wait since an earlier time.
    pub fn trust(&self, domain: &str) -> u32 {
        let is_fickle = self.0.get(domain).is_some_and(|it| it.is_fickle);
        if is_fickle { FIRST } else { MOST }
    }

    /// Some that may be known again, too, since that one is: they are to be looked up now, if that asks
    /// anybody, beside those that are.
    pub fn others(
        &self,
        found: &str,
        looked_up: &BTreeSet<String>,
        asks: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let behind = self.0.range::<str, _>((Bound::Excluded(found), Bound::Unbounded));
        let before = self.0.range::<str, _>((Bound::Unbounded, Bound::Excluded(found)));
        let missed = behind.chain(before).filter(|(_, it)| it.found_at.is_none());
        let others = missed.map(|(domain, _)| domain);
        let others = others.filter(|it| !looked_up.contains(*it) && asks(it));
        others.take(self.room(looked_up).min(NEXT)).cloned().collect()
    }

    /// Those that are to be looked up again now beside those that are being looked up. Forgets those for
    /// which nothing waits.
    pub async fn due(
        &mut self,
        store: &Store,
        looked_up: &BTreeSet<String>,
        now: Timestamp,
    ) -> Vec<String> {
        self.0.retain(|_, it| it.found_at.is_none_or(|at| now < at.after(REMEMBERED) && at <= now));
        let mut due = self.pause_is_over(now);
        due.retain(|it| !looked_up.contains(it));
        due.truncate(self.room(looked_up));
        if due.is_empty() {
            return due;
        }
        let names: BTreeSet<String> = due.iter().map(|it| waiting_for(it)).collect();
        match store.waited_for(&names).await {
            Ok(waited_for) => due.retain(|domain| {
                let is_waited_for = waited_for.contains(&waiting_for(domain));
                if !is_waited_for {
                    self.0.remove(domain);
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

    /// How many may be looked up beside those that are.
    fn room(&self, looked_up: &BTreeSet<String>) -> usize {
        let own = looked_up.iter().filter(|it| self.0.contains_key(*it)).count();
        AT_ONE_TIME.saturating_sub(own)
    }

    /// Who has waited for longest comes first. Under a clock that was set back no pause is longer than the
    /// longest.
    fn pause_is_over(&self, now: Timestamp) -> Vec<String> {
        let is_over = |it: &Missed| it.at <= now || now.after(LONGEST) < it.at;
        let over = self.0.iter().filter(|(_, it)| it.found_at.is_none() && is_over(it));
        let mut over: Vec<_> = over.map(|(domain, it)| (it.at, domain.clone())).collect();
        over.sort_unstable();
        over.into_iter().map(|(_, domain)| domain).collect()
    }
}

/// The name under which messages to a domain wait until it is known where they go: no hosts have it.
pub fn waiting_for(domain: &str) -> String {
    format!("{WHERE}{domain}")
}

/// The domain whose messages wait under that name.
pub fn domain_of(name: &str) -> Option<&str> {
    name.strip_prefix(WHERE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn the_pauses_double_up_to_five_minutes_whatever_the_clock_does() {
        let (mut unresolved, mut now) = (Unresolved::default(), NOW);
        for seconds in [30, 60, 120, 240, 300, 300] {
            unresolved.add("example.com", now);
            let over = |at| !unresolved.pause_is_over(at).is_empty();
            let end = now.after(Duration::from_secs(seconds));
            assert!(!over(end.before(Duration::from_millis(1))) && over(end), "{seconds}");
            assert!(over(now.before(Duration::from_hours(24))), "set back");
            now = end;
        }
        assert!(unresolved.found("example.com", now));
        assert!(unresolved.pause_is_over(now).is_empty());
        assert!(!unresolved.found("example.com", now), "once");
    }

    #[test]
    fn a_domain_that_comes_and_goes_is_not_trusted_with_all_that_waits() {
        let (mut unresolved, mut now) = (Unresolved::default(), NOW);
        unresolved.add("example.com", now);
        assert!(unresolved.found("example.com", now));
        assert_eq!(unresolved.trust("example.com"), MOST);
        for _ in 0..5 {
            now = now.after(Duration::from_mins(1));
            unresolved.add("example.com", now);
            assert!(unresolved.found("example.com", now));
            assert_eq!(unresolved.trust("example.com"), FIRST);
        }
        unresolved.add("example.com", now);
        assert!(unresolved.pause_is_over(now.after(PAUSE)).is_empty(), "nor asked for so often");
    }

    #[tokio::test]
    async fn after_an_hour_a_domain_is_as_good_as_others() {
        let data = tempfile::tempdir().expect("a directory");
        let store = Store::open(&data.path().join("test.db")).await.expect("opens");
        let (mut unresolved, none) = (Unresolved::default(), BTreeSet::new());
        unresolved.add("example.com", NOW);
        unresolved.found("example.com", NOW);
        assert!(unresolved.due(&store, &none, NOW.after(REMEMBERED)).await.is_empty());
        assert!(unresolved.0.is_empty());
        unresolved.add("example.com", NOW);
        let due = unresolved.due(&store, &none, NOW.after(LONGEST)).await;
        assert!(due.is_empty() && unresolved.0.is_empty(), "nothing waits for it");
    }

    #[test]
    fn when_one_is_found_again_all_others_have_their_turn() {
        let mut unresolved = Unresolved::default();
        let domains: Vec<String> = (100..200).map(|n| format!("{n}.example")).collect();
        for domain in &domains {
            unresolved.add(domain, NOW);
        }
        let looked_up = BTreeSet::from([domains[12].clone(), "other.example".to_owned()]);
        let others = unresolved.others(&domains[10], &looked_up, |it| it != domains[13]);
        let expected = [11, 14, 15, 16, 17, 18, 19, 20].map(|it| domains[it].clone());
        assert_eq!(
            others, expected,
            "those behind it that are not looked up, and would be asked for"
        );
        let others = unresolved.others(&domains[98], &looked_up, |_| true);
        assert_eq!(
            (&others[0], &others[1]),
            (&domains[99], &domains[0]),
            "and then from the start"
        );
        let many: BTreeSet<String> = domains[..AT_ONE_TIME - 3].iter().cloned().collect();
        assert_eq!(unresolved.others(&domains[98], &many, |_| true).len(), 3, "others need room");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut unresolved = Unresolved::default();
        for n in 0..=DOMAINS {
            unresolved.add(&format!("{n}.example"), NOW);
        }
        assert_eq!(unresolved.0.len(), DOMAINS);
    }

    #[test]
    fn a_name_is_read_back_and_hosts_have_another() {
        assert_eq!(domain_of(&waiting_for("example.com")), Some("example.com"));
        assert_eq!(domain_of("mx1.example.com mx2.example.com"), None);
    }
}
