//! Lists of decisions, and one of them.

use serde_json::json;

use super::super::database::{column, sql};
use super::super::test_data::{self, open_account};
use super::super::{RefusalRecord, Store};
use super::{DecisionFilter, DecisionPage, DecisionRef};
use crate::clock::Timestamp;
use crate::id::{AccountId, DecisionId, MessageId};
use crate::store::StoreError;
use crate::store::records::NewMessage;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

struct Fixture {
    store: Store,
    accounts: [AccountId; 2],
    /// Oldest first: a message of the first account, refusals of the first and the second one.
    decisions: [DecisionId; 3],
    message: MessageId,
    _directory: tempfile::TempDir,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(NOW.millis() + second * 1_000)
}

impl Fixture {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(&directory.path().join("test.db")).await.expect("opens");
        let accounts = [open_account(&store, 5, NOW).await, open_account(&store, 5, NOW).await];
        let (decision, message) = (DecisionId::new(at(0)), MessageId::new(NOW));
        let revision = store.revision().await.expect("readable");
        let messages = vec![new_message(decision, message)];
        let job = test_data::job(revision, accounts[0], messages, NOW);
        store.commit(&[job], NOW).await.expect("commits");
        let mut decisions = [decision; 3];
        let refusals = [
            (accounts[0], "FORBIDDEN", json!([{ "name": "night", "digest": "sha256:n" }])),
            (accounts[1], "RESTRICTED_TEMPLATE", json!([{ "name": "plan-policy" }])),
        ];
        for (index, (account_id, code, plugins)) in refusals.into_iter().enumerate() {
            let id = DecisionId::new(at(i64::try_from(index).expect("small") + 1));
            decisions[index + 1] = id;
            let refusal =
                RefusalRecord { id, account_id, code, plugins: plugins.to_string().into() };
            store.record_refusals(&[refusal], NOW).await.expect("recorded");
        }
        Self { store, accounts, decisions, message, _directory: directory }
    }

    async fn page(&self, filter: DecisionFilter) -> DecisionPage {
        self.store.decisions(&filter, None, 10).await.expect("readable")
    }

    /// The places in `decisions` of those that pass the filter.
    async fn found(&self, filter: DecisionFilter) -> Vec<usize> {
        let page = self.page(filter).await;
        assert_eq!(page.next, None);
        let place = |id| self.decisions.iter().position(|it| *it == id).expect("known");
        page.decisions.iter().map(|row| place(row.id)).collect()
    }
}

fn new_message(decision_id: DecisionId, id: MessageId) -> NewMessage {
    let decisions =
        json!([{ "name": "plan-policy", "slot": "plan", "digest": "sha256:p" }]).to_string().into();
    NewMessage { id, decision_id, decisions, ..test_data::new_message(NOW) }
}

#[tokio::test]
async fn each_filter_takes_what_it_says_newest_first() {
    let fixture = Fixture::new().await;
    let all = DecisionFilter::default;
    let [first, second] = fixture.accounts;
    let plugin = |name: &str| DecisionFilter { plugin: Some(name.to_owned()), ..all() };
    assert_eq!(fixture.found(all()).await, [2, 1, 0]);
    assert_eq!(fixture.found(DecisionFilter { account: Some(first), ..all() }).await, [1, 0]);
    assert_eq!(fixture.found(DecisionFilter { account: Some(second), ..all() }).await, [2]);
    let message = Some(fixture.message);
    assert_eq!(fixture.found(DecisionFilter { message, ..all() }).await, [0]);
    assert_eq!(fixture.found(DecisionFilter { only_refusals: true, ..all() }).await, [2, 1]);
    let outcome = Some("accepted".to_owned());
    assert_eq!(fixture.found(DecisionFilter { outcome, ..all() }).await, [0]);
    assert_eq!(fixture.found(plugin("plan-policy")).await, [2, 0]);
    assert_eq!(fixture.found(plugin("plan")).await, [0], "by slot");
    assert_eq!(fixture.found(plugin("sha256:n")).await, [1], "by digest");
    assert_eq!(fixture.found(plugin("' OR 1 = 1 --")).await, [0_usize; 0]);
    let both = DecisionFilter { only_refusals: true, account: Some(first), ..all() };
    assert_eq!(fixture.found(both).await, [1]);
}

#[tokio::test]
async fn pages_follow_each_other_without_a_gap() {
    let fixture = Fixture::new().await;
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page =
            fixture.store.decisions(&DecisionFilter::default(), after, 2).await.expect("readable");
        assert!(page.decisions.len() <= 2);
        seen.extend(page.decisions.iter().map(|row| row.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    seen.reverse();
    assert_eq!(seen, fixture.decisions);
}

#[tokio::test]
async fn a_decision_is_found_by_its_own_name_and_by_that_of_its_message() {
    let fixture = Fixture::new().await;
    let by_id: DecisionRef = fixture.decisions[0].to_string().parse().expect("a decision");
    let by_message: DecisionRef = fixture.message.to_string().parse().expect("a message");
    let row = fixture.store.decision(by_id).await.expect("there");
    assert_eq!(row, fixture.store.decision(by_message).await.expect("there"));
    assert_eq!(row.message_id, Some(fixture.message));
    assert_eq!((row.account_id, row.outcome.as_str()), (fixture.accounts[0], "accepted"));
    assert_eq!(row.plugins[0]["digest"], "sha256:p");
    let refusal = DecisionRef::Decision(fixture.decisions[1]);
    let refusal = fixture.store.decision(refusal).await.expect("there");
    assert_eq!((refusal.message_id, refusal.outcome.as_str()), (None, "FORBIDDEN"));
}

#[tokio::test]
async fn a_decision_that_is_not_there_is_named() {
    let fixture = Fixture::new().await;
    let unknown = DecisionId::new(NOW);
    let missing = fixture.store.decision(DecisionRef::Decision(unknown)).await;
    assert!(
        matches!(&missing, Err(StoreError::Missing { name, .. }) if *name == unknown.to_string()),
        "{missing:?}"
    );
    let text = "acc_x".parse::<DecisionRef>().expect_err("another noun").to_string();
    assert_eq!(text, "`acc_x` is neither a decision (dec_…) nor a message (msg_…)");
}

#[tokio::test]
async fn refusals_are_found_without_a_walk_over_the_messages() {
    let fixture = Fixture::new().await;
    let plan = sql("EXPLAIN QUERY PLAN SELECT id, plugins FROM decisions
         WHERE TRUE AND id < 'dec_' AND message_id IS NULL ORDER BY id DESC LIMIT 11")
    .all(&fixture.store.db.readers)
    .await
    .expect("explained");
    let steps: Vec<String> = plan.iter().map(|row| column(row, "detail").expect("text")).collect();
    assert_eq!(steps.len(), 1, "no sorting: {steps:?}");
    assert!(steps[0].contains("refusals_by_id"), "{steps:?}");
}
