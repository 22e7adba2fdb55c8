//! Groups of sends. Samples: recorded soon, dropped where they are too many, and never waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metrics_exporter_prometheus::PrometheusBuilder;
use tokio_util::sync::CancellationToken;

use super::{MAX_SAMPLE_BYTES, MAX_WAITING_SAMPLES, channel};
use crate::account::key::Mode;
use crate::clock::{Clock, Timestamp};
use crate::id::{AccountId, DecisionId, KeyId};
use crate::store::records::{Acceptance, Job, JobOutcome};
use crate::store::test_data::{job, new_message};
use crate::store::{SampleOutcome, SampleRecord, Store};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn sample(bytes: usize) -> SampleRecord {
    SampleRecord {
        decision_id: DecisionId::new(NOW),
        kind: "plan",
        slot: "plan".to_owned(),
        digest: "sha256:0".to_owned(),
        outcome: SampleOutcome::Answered,
        sealed: vec![0; bytes],
    }
}

async fn store() -> (Store, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    (crate::store::test_data::open(&directory).await, directory)
}

#[tokio::test]
async fn samples_that_wait_at_the_end_are_recorded_as_many_as_are_kept() {
    let (store, _directory) = store().await;
    let (committer, queue) = channel();
    for _ in 0..5 {
        committer.record_sample(sample(10));
    }
    let stop = CancellationToken::new();
    stop.cancel();
    let clock = Clock::manual(NOW);
    queue.keeping_samples(4).run(store.clone(), clock, |_| {}, stop).await;
    assert_eq!(store.samples("plan", None, 100).await.expect("readable").len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn sends_share_transactions_again_after_many_lone_sends() {
    const SENDERS: usize = 16;
    const SENDS: usize = 50;
    let (store, _directory) = store().await;
    let (committer, queue) = channel();
    let groups = Arc::new(AtomicUsize::new(0));
    let (counting, stop) = (Arc::clone(&groups), CancellationToken::new());
    let count = move |_| {
        counting.fetch_add(1, Ordering::Relaxed);
    };
    let running = queue.run(store, Clock::manual(NOW), count, stop.clone());
    let running = tokio::spawn(running);
    let send = |sends| {
        let committer = committer.clone();
        tokio::spawn(async move {
            for _ in 0..sends {
                let stale = job(-1, AccountId::new(NOW), vec![new_message(NOW)], NOW);
                let outcome = committer.commit(stale).await;
                assert!(matches!(outcome, Ok(JobOutcome::Stale)), "{outcome:?}");
            }
        })
    };
    send(SENDS).await.expect("all are answered");
    assert_eq!(groups.swap(0, Ordering::Relaxed), SENDS, "alone, each has a transaction");
    for sender in (0..SENDERS).map(|_| send(SENDS)).collect::<Vec<_>>() {
        sender.await.expect("all are answered");
    }
    stop.cancel();
    running.await.expect("it ends");
    let groups = groups.load(Ordering::Relaxed);
    assert!(groups < SENDERS * SENDS / 4, "{groups} transactions for {} sends", SENDERS * SENDS);
}

#[tokio::test]
async fn a_commit_is_answered_while_samples_are_handed_in() {
    let (store, _directory) = store().await;
    let (committer, queue) = channel();
    let stop = CancellationToken::new();
    let running = queue.run(store.clone(), Clock::manual(NOW), |_| {}, stop.clone());
    let sends = async {
        for _ in 0..20 {
            committer.record_sample(sample(10));
            let job = Job {
                revision: -1,
                account_id: AccountId::new(NOW),
                key_id: KeyId::new(NOW),
                mode: Mode::Live,
                idempotency: None,
                acceptance: Acceptance::Each,
                items: Vec::new(),
            };
            let outcome = committer.commit(job).await;
            assert!(matches!(outcome, Ok(JobOutcome::Stale)), "{outcome:?}");
        }
        stop.cancel();
    };
    tokio::join!(running, sends);
    assert_eq!(store.samples("plan", None, 100).await.expect("readable").len(), 20);
}

#[test]
fn what_is_too_many_or_too_large_is_dropped_and_counted() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let (committer, queue) = channel();
    metrics::with_local_recorder(&recorder, || {
        committer.record_sample(sample(MAX_SAMPLE_BYTES + 1));
        for _ in 0..MAX_WAITING_SAMPLES + 2 {
            committer.record_sample(sample(1));
        }
        drop(queue);
        committer.record_sample(sample(1));
    });
    let text = recorder.handle().render();
    assert!(text.contains("waxwing_plugin_samples_dropped_total 4"), "{text}");
}
