//! Whose fault it is that a template came to a limit or made the renderer trap: the data's, or the
//! template's own. A template that renders other data is not to blame.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::id::TemplateId;

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
pub struct RenderHistory(Mutex<LruCache<VersionKey, Known>>);

#[derive(Debug)]
enum Known {
    /// It rendered some data.
    Renders,
    /// It failed on its own example.
    FailsItsExample,
    /// It failed on such data, by hash; it has no example that could say more.
    Fails(Vec<u64>),
}

impl Default for RenderHistory {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_TRACKED_VERSIONS)))
    }
}

impl RenderHistory {
    /// Who is to blame, if that is known already.
    pub fn blame(&self, key: VersionKey) -> Option<Blame> {
        match self.known().get(&key)? {
            Known::Renders => Some(Blame::Data),
            Known::FailsItsExample => Some(Blame::Template),
            Known::Fails(_) => None,
        }
    }

    pub fn record_success(&self, key: VersionKey) {
        self.known().put(key, Known::Renders);
    }

    pub fn record_example_failure(&self, key: VersionKey) -> Blame {
        self.known().put(key, Known::FailsItsExample);
        Blame::Template
    }

    /// A version without an example that could be rendered failed on some data.
    pub fn record_failure(&self, key: VersionKey, data: u64) -> Blame {
        let mut known = self.known();
        let seen = known.get_or_insert_mut(key, || Known::Fails(Vec::new()));
        match seen {
            Known::Renders => Blame::Data,
            Known::FailsItsExample => Blame::Template,
            Known::Fails(seen) => {
                if seen.len() < FAILURES_TO_BLAME_TEMPLATE && !seen.contains(&data) {
                    seen.push(data);
                }
                if seen.len() == FAILURES_TO_BLAME_TEMPLATE { Blame::Template } else { Blame::Data }
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, LruCache<VersionKey, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
