//! Lists of decisions, and one of them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::database::{column, sql};
use super::super::test_data::{self, open_account};
use super::super::{RefusalRecord, Store};
use super::{DecisionFilter, DecisionPage, DecisionRef};
use crate::clock::Timestamp;
use crate::id::{AccountId, DecisionId, MessageId};
use crate::store::StoreError;
use crate::store::records::{NewMessage, PluginDecision};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

struct Fixture {
    store: Store,
    accounts: [AccountId; 2],
    /// Oldest first: a message of the first account, refusals of the first and the second one.
    decisions: [DecisionId; 3],
    message: MessageId,
    directory: tempfile::TempDir,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(NOW.millis() + second * 1_000)
}

impl Fixture {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let accounts = [open_account(&store, 5, NOW).await, open_account(&store, 5, NOW).await];
        let message = MessageId::new(at(0));
        let decision = DecisionId::of(message);
        let revision = store.revision().await.expect("readable");
        let messages = vec![new_message(message)];
        let job = test_data::job(revision, accounts[0], messages, NOW);
        store.commit(&[job], NOW).await.expect("commits");
        let mut decisions = [decision; 3];
        let refusals = [
            (accounts[0], "FORBIDDEN", by(&json!({ "name": "night", "digest": "sha256:n" }))),
            (accounts[1], "RESTRICTED_TEMPLATE", by(&json!({ "name": "plan-policy" }))),
        ];
        for (index, (account_id, code, plugins)) in refusals.into_iter().enumerate() {
            let id = DecisionId::new(at(i64::try_from(index).expect("small") + 1));
            decisions[index + 1] = id;
            let refusal = RefusalRecord { id, account_id, code, template: None, plugins };
            store.record_refusals(&[refusal], NOW).await.expect("recorded");
        }
        Self { store, accounts, decisions, message, directory }
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

/// What one component has decided.
fn by(identity: &Value) -> Arc<[PluginDecision]> {
    [PluginDecision {
        kind: "plan",
        identity: identity.to_string().into(),
        verdict: "allow".into(),
        reason: None,
        micros: 20,
        locale: None,
        blank: vec!["user.name".to_owned()],
    }]
    .into()
}

fn new_message(id: MessageId) -> NewMessage {
    let decisions = by(&json!({ "name": "plan-policy", "slot": "plan", "digest": "sha256:p" }));
    NewMessage { id, decisions, ..test_data::new_message(NOW) }
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
    let told = json!([{ "kind": "plan", "name": "plan-policy", "slot": "plan", "digest": "sha256:p",
        "verdict": "allow", "reason": null, "micros": 20, "blank": ["user.name"] }]);
    assert_eq!(row.plugins, told);
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
async fn the_decision_of_an_earlier_version_keeps_its_own_name() {
    let fixture = Fixture::new().await;
    let earlier = DecisionId::new(at(9));
    sql("UPDATE messages SET decision_id = $1")
        .bind(earlier)
        .run(&fixture.store.db.writer)
        .await
        .expect("written");
    let row = fixture.store.decision(DecisionRef::Decision(earlier)).await.expect("there");
    assert_eq!((row.id, row.message_id), (earlier, Some(fixture.message)));
    let by_message = fixture.store.decision(DecisionRef::Message(fixture.message)).await;
    assert_eq!(by_message.expect("there"), row);
    let never = fixture.store.decision(DecisionRef::Decision(fixture.decisions[0])).await;
    assert!(never.is_err(), "nobody was told this name");
    let all = DecisionFilter::default();
    let page = fixture.store.decisions(&all, Some(fixture.decisions[1]), 9).await.expect("read");
    assert_eq!(page.decisions.iter().map(|it| it.id).collect::<Vec<_>>(), [earlier]);
    let page = fixture.store.decisions(&all, Some(earlier), 9).await.expect("readable");
    assert!(page.decisions.is_empty(), "it stands where its message does: {page:?}");
}

#[tokio::test]
async fn another_process_finds_the_identities_that_this_one_has_added() {
    let fixture = Fixture::new().await;
    let reader = crate::store::test_data::open(&fixture.directory).await;
    let id = DecisionId::new(at(5));
    let plugins = by(&json!({ "name": "new" }));
    let (account_id, code) = (fixture.accounts[0], "FORBIDDEN");
    let refusal = RefusalRecord { id, account_id, code, template: None, plugins };
    fixture.store.record_refusals(std::slice::from_ref(&refusal), NOW).await.expect("recorded");
    let read = reader.decision(DecisionRef::Decision(id)).await.expect("there");
    assert_eq!(read.plugins[0]["name"], "new");
    let again = RefusalRecord { id: DecisionId::new(at(6)), ..refusal };
    reader.record_refusals(&[again], NOW).await.expect("recorded");
    let rows = sql("SELECT count(*) AS n FROM plugin_identities").one(&reader.db.readers).await;
    let rows: i64 = column(&rows.expect("counted"), "n").expect("a number");
    assert_eq!(rows, 4, "each identity once");
}
