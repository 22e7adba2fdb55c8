//! Whose fault it is that a template came to a limit or made the renderer trap: the data's, or the
//! template's own. A template that renders other data is not to blame.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;

use crate::id::TemplateId;
use crate::plugin::runtime::error::CallFailure;

/// A published version of a template never changes, so its compiled form can be kept under this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionKey {
    pub template: TemplateId,
    pub revision: u64,
    /// Which of its locales, by number: each has sources of its own.
    pub locale: u16,
}

/// Versions that something is known of, at most.
const MAX_TRACKED_VERSIONS: NonZeroUsize = NonZeroUsize::new(4_096).expect("not zero");
/// Different data that a version must fail on before it is to blame, where nothing else is known.
const FAILURES_TO_BLAME_TEMPLATE: usize = 3;
/// How long a version that is to blame for coming to a limit is refused without a call. Then one send tries it again:
/// the time of a render that is near the limit varies.
pub const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Who has to mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The sender: the template renders other data.
    Data,
    /// The template's author: it renders no data, not even its example.
    Template,
}

/// What a generation knows of the versions that it was given.
#[derive(Debug)]
pub struct RenderHistory {
    known: Mutex<LruCache<VersionKey, Known>>,
    /// Whether any version was ever refused without a call.
    any_refused: AtomicBool,
}

#[derive(Debug)]
enum Known {
    /// It rendered some data.
    Renders,
    /// It failed on its own example; it may be refused without a call.
    FailsItsExample(Option<Refused>),
    /// It failed on such data, by hash; it has no example that could say more.
    Fails(Vec<u64>),
}

/// A version that is not called.
#[derive(Debug)]
struct Refused {
    /// The limit that it came to.
    failure: CallFailure,
    until: Instant,
}

impl Default for RenderHistory {
    fn default() -> Self {
        let known = Mutex::new(LruCache::new(MAX_TRACKED_VERSIONS));
        Self { known, any_refused: AtomicBool::new(false) }
    }
}

impl RenderHistory {
    /// Who is to blame, if that is known already.
    pub fn blame(&self, key: VersionKey) -> Option<Blame> {
        match self.known().get(&key)? {
            Known::Renders => Some(Blame::Data),
            Known::FailsItsExample(_) => Some(Blame::Template),
            Known::Fails(_) => None,
        }
    }

    pub fn record_success(&self, key: VersionKey) {
        self.known().put(key, Known::Renders);
    }

    /// Whether versions are refused, so that each success counts.
    pub fn refuses_any(&self) -> bool {
        self.any_refused.load(Ordering::Relaxed)
    }

    /// A version that fails on its own example came to a limit: it is not called for a while. One that failed on a few
    /// data is, because other data may be good: whoever sends the bad ones must not keep the good ones out.
    pub fn refuse(&self, key: VersionKey, failure: &CallFailure, now: Instant) {
        if let Some(Known::FailsItsExample(refused)) = self.known().get_mut(&key) {
            *refused = Some(Refused { failure: failure.clone(), until: now + RETRY_AFTER });
            self.any_refused.store(true, Ordering::Relaxed);
        }
    }

    /// The limit that a version comes to, where it is not to be called. Once its time is over one call may try it.
    pub fn refused(&self, key: VersionKey, now: Instant) -> Option<CallFailure> {
        if !self.refuses_any() {
            return None;
        }
        let mut known = self.known();
        let Some(Known::FailsItsExample(Some(refused))) = known.get_mut(&key) else { return None };
        if now < refused.until {
            return Some(refused.failure.clone());
        }
        refused.until = now + RETRY_AFTER;
        None
    }

    pub fn record_example_failure(&self, key: VersionKey) -> Blame {
        self.known().put(key, Known::FailsItsExample(None));
        Blame::Template
    }

    /// A version without an example that could be rendered failed on some data.
    pub fn record_failure(&self, key: VersionKey, data: u64) -> Blame {
        let mut known = self.known();
        let seen = known.get_or_insert_mut(key, || Known::Fails(Vec::new()));
        match seen {
            Known::Renders => Blame::Data,
            Known::FailsItsExample(_) => Blame::Template,
            Known::Fails(seen) => {
                if seen.len() < FAILURES_TO_BLAME_TEMPLATE && !seen.contains(&data) {
                    seen.push(data);
                }
                if seen.len() == FAILURES_TO_BLAME_TEMPLATE { Blame::Template } else { Blame::Data }
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, LruCache<VersionKey, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    fn version() -> VersionKey {
        let now = Timestamp::from_millis(1_800_000_000_000);
        VersionKey { template: TemplateId::new(now), revision: 1, locale: 0 }
    }

    #[test]
    fn a_version_that_fails_on_any_data_is_to_blame() {
        let (evidence, key) = (RenderHistory::default(), version());
        assert_eq!(evidence.blame(key), None);
        let blamed: Vec<_> = [1, 2, 2, 1].map(|data| evidence.record_failure(key, data)).to_vec();
        assert_eq!(blamed, [Blame::Data; 4], "two kinds of data are not any data");
        assert_eq!(evidence.record_failure(key, 3), Blame::Template);
    }

    #[test]
    fn a_version_that_is_to_blame_is_refused_until_one_call_may_try_it_again() {
        let (history, key, now) = (RenderHistory::default(), version(), Instant::now());
        let limit = CallFailure::InputQuarantined { input: String::new(), detail: String::new() };
        let is_refused = |now| history.refused(key, now).is_some();
        history.refuse(key, &limit, now);
        assert!(!is_refused(now), "nobody is blamed yet");
        for data in 1..=FAILURES_TO_BLAME_TEMPLATE {
            history.record_failure(key, u64::try_from(data).expect("few"));
        }
        history.refuse(key, &limit, now);
        assert!(!is_refused(now), "other data may be good");
        history.record_example_failure(key);
        assert!(!is_refused(now));
        history.refuse(key, &limit, now);
        let later = now + RETRY_AFTER;
        let just_before = later.checked_sub(Duration::from_millis(1)).expect("later than now");
        assert!(is_refused(now) && is_refused(just_before));
        assert!(history.refused(version(), now).is_none());
        assert!(!is_refused(later), "one call tries it");
        assert!(is_refused(later), "and only one");
        history.record_success(key);
        assert!(!is_refused(later));
        assert_eq!(history.blame(key), Some(Blame::Data));
    }

    #[test]
    fn a_version_that_rendered_once_is_not_to_blame() {
        let (evidence, key) = (RenderHistory::default(), version());
        for data in 1..=5 {
            evidence.record_failure(key, data);
        }
        evidence.record_success(key);
        assert_eq!(evidence.blame(key), Some(Blame::Data));
        assert_eq!(evidence.record_failure(key, 6), Blame::Data);
    }
}
