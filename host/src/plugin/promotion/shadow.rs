//! A candidate in the shadow of the live plugin: it gets the same calls, its answers are compared
//! and counted, and no caller ever waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::comparison::{Difference, Group, compare, note};
use super::installed::InstalledPlugin;
use crate::plugin::config::binding::{Binding, Scope};
use crate::plugin::records::{Call, send_outcome};
use crate::plugin::runtime::kind::Kind;

/// Calls that wait for the candidate; more are dropped and counted.
const MAX_WAITING_CALLS: usize = 256;
/// Differences that are listed; all are counted.
const MAX_LISTED_DIFFERENCES: usize = 50;
/// Bytes of a call; a larger one is dropped.
const MAX_CALL_BYTES: usize = 64 << 10;

/// The end that the live plugin's calls are handed to.
#[derive(Debug)]
pub struct Shadow {
    candidate: InstalledPlugin,
    binding: Binding,
    dropped: AtomicU64,
    calls: mpsc::Sender<(Call, Value)>,
    progress: Arc<Progress>,
}

/// The end that makes the calls. It ends when the other end is gone.
#[derive(Debug)]
pub struct ShadowCalls {
    candidate: InstalledPlugin,
    calls: mpsc::Receiver<(Call, Value)>,
    left: u32,
    progress: Arc<Progress>,
}

#[derive(Debug)]
struct Progress {
    left: AtomicU32,
    report: Mutex<Report>,
}

/// What came of the comparison with live calls.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = ShadowReport)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Calls that were compared.
    pub compared: u32,
    /// Of those, how many the candidate answered otherwise.
    pub different: u32,
    /// Of those, how many it served worse: with no answer, a failure, or without a part.
    pub failed: u32,
    /// Calls that it should have seen and did not, because it was too slow.
    pub dropped: u64,
    /// Equal differences, the most frequent first.
    pub groups: Vec<Group>,
    /// The first differences.
    pub differences: Vec<Difference>,
}

impl Shadow {
    /// Both ends, for the next `calls` calls.
    #[must_use]
    pub fn new(candidate: InstalledPlugin, calls: u32) -> (Arc<Self>, ShadowCalls) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_CALLS);
        let left = AtomicU32::new(calls);
        let progress = Arc::new(Progress { left, report: Mutex::default() });
        let shadow = Arc::new(Self {
            binding: candidate.config().binding.clone(),
            candidate: candidate.clone(),
            dropped: AtomicU64::new(0),
            calls: sender,
            progress: Arc::clone(&progress),
        });
        (shadow, ShadowCalls { candidate, calls: receiver, left: calls, progress })
    }

    /// Whether a call that a plugin with that binding answers would be the candidate's.
    pub fn wants(&self, kind: Kind, scope: &Scope<'_>, served_by: &Binding) -> bool {
        self.candidate.kind() == kind
            && self.binding.covers(scope)
            && self.binding.narrowness() >= served_by.narrowness()
            && self.progress.left.load(Ordering::Relaxed) > 0
    }

    /// Hands over a call and its live answer, without waiting.
    pub fn offer(&self, call: Call, answer: Value) {
        if call.bytes() > MAX_CALL_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if self
            .progress
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
            .is_err()
        {
            return;
        }
        if self.calls.try_send((call, answer)).is_err() {
            self.progress.left.fetch_add(1, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether all calls were handed over.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.progress.left.load(Ordering::Relaxed) == 0
    }

    /// What came of it until now.
    #[must_use]
    pub fn report(&self) -> Report {
        let mut report =
            self.progress.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        report.dropped = self.dropped.load(Ordering::Relaxed);
        report
    }
}

impl Report {
    /// Whether the candidate answered every call otherwise.
    #[must_use]
    pub fn differs_always(&self) -> bool {
        self.compared > 0 && self.different == self.compared
    }
}

impl ShadowCalls {
    /// Makes the next call to the candidate; false when all calls were made.
    pub async fn next(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        let Some((call, live)) = self.calls.recv().await else { return false };
        self.left -= 1;
        let (answer, _) = self.candidate.dry_run(&call).await;
        let mut report = self.progress.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.compared += 1;
        report.failed += u32::from(send_outcome::regression(call.kind(), &live, &answer).is_some());
        if let Some(difference) = compare(&call, &live, &answer) {
            report.different += 1;
            note(&mut report.groups, &call, &live, &answer);
            if report.differences.len() < MAX_LISTED_DIFFERENCES {
                report.differences.push(difference);
            }
        }
        true
    }
}
