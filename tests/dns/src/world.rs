//! All that the server knows, shared with the tests that change it while it runs.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use hickory_server::proto::rr::{LowerName, Name, RData, RecordType};

use crate::fault::{Fault, Faults};
use crate::zone::{Links, Reply, Zone, parsed, record};

/// The most queries that are listed.
const LISTED: usize = 100_000;

type Generator = Box<dyn Fn(&str, &str) -> Option<Vec<String>> + Send + Sync>;

/// Zones, faults and counts.
#[derive(Default)]
pub(crate) struct World {
    zone: Mutex<Zone>,
    faults: Mutex<Faults>,
    generator: RwLock<Option<Generator>>,
    listed: Mutex<Vec<(String, String)>>,
    count: AtomicUsize,
    in_progress: AtomicUsize,
    most_at_once: AtomicUsize,
}

/// A query in progress.
#[derive(Debug)]
pub(crate) struct InProgress<'a>(&'a World);

impl World {
    pub(crate) fn zone(&self) -> MutexGuard<'_, Zone> {
        lock(&self.zone)
    }

    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    pub(crate) fn answer_any(&self, generator: Generator) {
        *self.generator.write().unwrap_or_else(PoisonError::into_inner) = Some(generator);
    }

    pub(crate) fn queries(&self) -> Vec<(String, String)> {
        lock(&self.listed).clone()
    }

    pub(crate) fn query_count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }

    pub(crate) fn forget_queries(&self) {
        lock(&self.listed).clear();
        self.count.store(0, Ordering::SeqCst);
        self.most_at_once.store(self.in_progress.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// Counts a query until the result is dropped.
    pub(crate) fn begin(&self, name: &LowerName, record_type: RecordType) -> InProgress<'_> {
        self.count.fetch_add(1, Ordering::SeqCst);
        let now = self.in_progress.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        let mut listed = lock(&self.listed);
        if listed.len() < LISTED {
            listed.push((bare(name), record_type.to_string()));
        }
        InProgress(self)
    }

    /// The fault that the next query for `name` meets: its own, or one on the way of its CNAMEs.
    pub(crate) fn meet(&self, name: &LowerName, reply: &Reply) -> Option<Fault> {
        let mut faults = self.faults();
        faults.meet(name).or_else(|| {
            reply.answers.iter().find_map(|it| {
                let RData::CNAME(target) = &it.data else { return None };
                faults.meet(&LowerName::new(&target.0))
            })
        })
    }

    /// The right answer.
    pub(crate) fn answer(&self, name: &Name, record_type: RecordType, links: Links) -> Reply {
        let generator = self.generator.read().unwrap_or_else(PoisonError::into_inner);
        let generated = generator
            .as_ref()
            .and_then(|answers| answers(&bare(&LowerName::new(name)), &record_type.to_string()));
        if let Some(texts) = generated {
            let data = texts.iter().map(|it| parsed(record_type, it));
            let answers = data.map(|it| record(name.clone(), it)).collect();
            return Reply { answers, ..Reply::default() };
        }
        self.zone().answer(name, record_type, links)
    }
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.0.in_progress.fetch_sub(1, Ordering::SeqCst);
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("zone", &self.zone).finish_non_exhaustive()
    }
}

fn bare(name: &LowerName) -> String {
    let mut text = Name::from(name).to_ascii();
    text.truncate(text.trim_end_matches('.').len());
    text
}

/// A test that failed while it held a lock has failed already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
