//! Domains of which cannot be found out now where their mail goes. They are looked up again without a
//! message that tries, and what waits for that goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::store::Store;

/// The pause before the second look-up; it doubles with each further one.
const PAUSE: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_mins(5);
/// Domains that are remembered: messages to others try at their own time.
const MOST: usize = 20_000;
/// Look-ups that may be under way where one of these is to be begun: mail to other domains needs them, too.
const FEW: usize = 128;
/// How many others are looked up at once when one can be again.
const NEXT: usize = 8;
/// What stands before a domain in the name under which its messages wait.
const WHERE: &str = "where to: ";

/// Such domains.
#[derive(Debug, Default)]
pub struct Unresolved(BTreeMap<String, Next>);

#[derive(Debug)]
struct Next {
    look_ups: u32,
    at: Timestamp,
}

impl Unresolved {
    /// A look-up has found nothing out.
    pub fn add(&mut self, domain: &str, now: Timestamp) {
        if self.0.len() >= MOST && !self.0.contains_key(domain) {
            return;
        }
        let next = self.0.entry(domain.to_owned()).or_insert(Next { look_ups: 0, at: now });
        let doubled = PAUSE.saturating_mul(1 << next.look_ups.min(10));
        (next.look_ups, next.at) =
            (next.look_ups.saturating_add(1), now.after(doubled.min(LONGEST)));
    }

    /// It is known where its mail goes. Others may be, too, before their pauses are over, if it was not
    /// before: some that are to be looked up now beside those that are being looked up.
    pub fn remove(&mut self, domain: &str, looked_up: &BTreeSet<String>) -> Vec<String> {
        let room = FEW.saturating_sub(looked_up.len()).min(NEXT);
        let is_new = self.0.remove(domain).is_some();
        let others = self.0.keys().filter(|it| is_new && !looked_up.contains(*it));
        others.take(room).cloned().collect()
    }

    /// Those that are to be looked up again now beside those that are being looked up. Forgets those for
    /// which nothing waits.
    pub async fn due(
        &mut self,
        store: &Store,
        looked_up: &BTreeSet<String>,
        now: Timestamp,
    ) -> Vec<String> {
        let mut due = self.pause_is_over(now);
        due.retain(|it| !looked_up.contains(it));
        due.truncate(FEW.saturating_sub(looked_up.len()));
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

    /// Under a clock that was set back no pause is longer than the longest.
    fn pause_is_over(&self, now: Timestamp) -> Vec<String> {
        let is_over = |it: &Next| it.at <= now || now.after(LONGEST) < it.at;
        let over = self.0.iter().filter(|(_, next)| is_over(next));
        let mut over: Vec<_> = over.map(|(domain, next)| (next.at, domain.clone())).collect();
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
        unresolved.remove("example.com", &BTreeSet::new());
        assert!(unresolved.pause_is_over(now).is_empty());
    }

    #[test]
    fn when_one_is_known_again_some_others_are_looked_up() {
        let mut unresolved = Unresolved::default();
        let domains: BTreeSet<String> = (0..200).map(|n| format!("{n}.example")).collect();
        for domain in &domains {
            unresolved.add(domain, NOW);
        }
        let mut looked_up = BTreeSet::from(["11.example".to_owned()]);
        assert!(unresolved.remove("other.example", &looked_up).is_empty(), "always was known");
        let others = unresolved.remove("0.example", &looked_up);
        assert_eq!(others.len(), NEXT);
        assert!(!others.contains(&"11.example".to_owned()));
        looked_up.extend(domains.into_iter().take(FEW - 3));
        assert_eq!(unresolved.remove("1.example", &looked_up).len(), 3, "others need room");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut unresolved = Unresolved::default();
        for n in 0..=MOST {
            unresolved.add(&format!("{n}.example"), NOW);
        }
        assert_eq!(unresolved.0.len(), MOST);
    }

    #[test]
    fn a_name_is_read_back_and_hosts_have_another() {
        assert_eq!(domain_of(&waiting_for("example.com")), Some("example.com"));
        assert_eq!(domain_of("mx1.example.com mx2.example.com"), None);
    }
}
