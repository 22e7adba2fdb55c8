//! A bounded number of samples, which only their own rows can open.

use super::super::Store;
use super::super::database::sql;
use super::super::tests::plans::plan;
use super::{SampleOutcome, SampleRecord, SampleRow, sample_identity};
use crate::clock::Timestamp;
use crate::id::DecisionId;
use crate::store::seal::{Seal, SealError};

const KEEP: u32 = 3;

async fn store() -> (Store, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    (crate::store::test_data::open(&directory).await, directory)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + second * 1_000)
}

fn seal() -> Seal {
    Seal::new(&[7; 32], crate::store::seal::Purpose::Samples)
}

fn sample(kind: &'static str, slot: &str, outcome: SampleOutcome) -> SampleRecord {
    let decision_id = DecisionId::new(at(0));
    SampleRecord {
        decision_id,
        kind,
        slot: slot.to_owned(),
        digest: "sha256:0".to_owned(),
        outcome,
        sealed: seal().seal(&sample_identity(decision_id, kind), b"{\"uses\":[]}"),
    }
}

fn ids(rows: &[SampleRow]) -> Vec<DecisionId> {
    rows.iter().map(|row| row.decision_id).collect()
}

#[tokio::test]
async fn a_sample_comes_back_and_opens() {
    let (store, _directory) = store().await;
    let plan = sample("plan", "night", SampleOutcome::Trapped);
    let mut render = sample("renderer", "liquid", SampleOutcome::Answered);
    render.decision_id = plan.decision_id;
    store.record_samples(&[render, plan.clone()], at(1), KEEP).await.expect("recorded");
    let rows = store.sample(plan.decision_id).await.expect("readable");
    let kinds: Vec<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(kinds, ["plan", "renderer"]);
    assert_eq!((rows[0].slot.as_str(), rows[0].digest.as_str()), ("night", "sha256:0"));
    assert_eq!((rows[0].outcome, rows[0].created_at), (SampleOutcome::Trapped, at(1)));
    assert_eq!(rows[0].open(&seal()).as_deref(), Ok(&b"{\"uses\":[]}"[..]));
    assert!(store.sample(DecisionId::new(at(0))).await.expect("readable").is_empty());
}

#[tokio::test]
async fn a_sample_that_was_altered_or_moved_in_the_database_does_not_open() {
    let (store, _directory) = store().await;
    let (one, other) = (
        sample("plan", "night", SampleOutcome::Answered),
        sample("plan", "night", SampleOutcome::Answered),
    );
    store.record_samples(&[one.clone(), other.clone()], at(1), KEEP).await.expect("recorded");
    let moved = "UPDATE samples SET sealed = (SELECT sealed FROM samples WHERE decision_id = $1)
                 WHERE decision_id = $2";
    sql(moved)
        .bind(other.decision_id)
        .bind(one.decision_id)
        .run(&store.db.writer)
        .await
        .expect("written");
    sql("UPDATE samples SET sealed = $2 WHERE decision_id = $1")
        .bind(other.decision_id)
        .bind(vec![7; 100])
        .run(&store.db.writer)
        .await
        .expect("written");
    for sample in [one, other] {
        let rows = store.sample(sample.decision_id).await.expect("readable");
        assert_eq!(rows[0].open(&seal()), Err(SealError::Refused));
    }
}

#[tokio::test]
async fn only_the_newest_of_a_slot_and_an_outcome_stay() {
    let (store, _directory) = store().await;
    let others = [
        sample("plan", "night", SampleOutcome::Trapped),
        sample("plan", "day", SampleOutcome::Answered),
        sample("domain", "night", SampleOutcome::Answered),
    ];
    store.record_samples(&others, at(0), KEEP).await.expect("recorded");
    let mut recorded = Vec::new();
    // Two in each transaction, and so at the same time.
    for second in 1..=4 {
        let two = [
            sample("plan", "night", SampleOutcome::Answered),
            sample("plan", "night", SampleOutcome::Answered),
        ];
        store.record_samples(&two, at(second), KEEP).await.expect("recorded");
        recorded.extend(two.map(|it| it.decision_id));
    }
    recorded.reverse();
    let night = store.samples("plan", Some("night"), 10).await.expect("readable");
    let mut expected = recorded[..3].to_vec();
    expected.push(others[0].decision_id);
    assert_eq!(ids(&night), expected);
    assert_eq!(store.samples("plan", None, 10).await.expect("readable").len(), 5);
    assert_eq!(store.samples("plan", None, 2).await.expect("readable").len(), 2);
    let domain = store.samples("domain", None, 10).await.expect("readable");
    assert_eq!(ids(&domain), [others[2].decision_id]);
}

#[tokio::test]
async fn of_two_samples_of_one_call_the_last_one_stays() {
    let (store, _directory) = store().await;
    let first = sample("plan", "night", SampleOutcome::Answered);
    let mut last = first.clone();
    last.outcome = SampleOutcome::Trapped;
    store.record_samples(&[first, last.clone()], at(1), KEEP).await.expect("recorded");
    let rows = store.sample(last.decision_id).await.expect("readable");
    assert_eq!((rows.len(), rows[0].outcome), (1, SampleOutcome::Trapped));
}

#[tokio::test]
async fn old_samples_go_in_bites() {
    let (store, _directory) = store().await;
    for second in 0..5 {
        let sample = sample("plan", "night", SampleOutcome::Answered);
        store.record_samples(&[sample], at(second), 10).await.expect("recorded");
    }
    assert_eq!(store.drop_samples(at(3), 2).await.expect("dropped"), 2);
    assert_eq!(store.drop_samples(at(3), 2).await.expect("dropped"), 1);
    assert_eq!(store.drop_samples(at(3), 2).await.expect("dropped"), 0);
    let left = store.samples("plan", None, 10).await.expect("readable");
    assert_eq!(left.iter().map(|row| row.created_at).collect::<Vec<_>>(), [at(4), at(3)]);
}

#[tokio::test]
async fn the_lists_walk_an_index() {
    let (store, _directory) = store().await;
    let statements = [
        "SELECT sealed FROM samples WHERE kind = 'plan' AND slot = 'a' LIMIT 1",
        "SELECT rowid FROM samples WHERE kind = 'plan' AND slot = 'a' AND outcome = 'trapped'
         ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET 3",
        "SELECT decision_id, kind FROM samples WHERE created_at < 1",
    ];
    for statement in statements {
        let steps = plan(&store, statement).await.expect("explained");
        assert_eq!(steps.len(), 1, "no sorting: {statement}: {steps:?}");
        assert!(steps[0].contains("USING"), "{statement}: {steps:?}");
    }
}
