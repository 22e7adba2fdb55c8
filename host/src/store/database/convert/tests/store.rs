//! What the store shows of the fixture once it is converted.

use crate::clock::{Clock, Timestamp};
use crate::credit::Credits;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::store::records::LaneKind;
use crate::store::seal::{Purpose, Seal};
use crate::store::{
    DecisionFilter, DecisionRef, DeliveryState, MessageFilter, Place, Store, WebhookOwner,
};

use super::*;

const ANN: &str = "acc_01M8449B62GFF0S45VD6YHK67G";
const BOB: &str = "acc_01M8449BB877JGGAPA66T94R7A";
/// The master key of the server that wrote the fixture.
const MASTER_KEY: [u8; 32] = [
    0x39, 0x95, 0x42, 0x96, 0x6f, 0x7b, 0xbd, 0x36, 0xe4, 0x5e, 0xd5, 0x62, 0x24, 0x45, 0xf1, 0xa4,
    0x27, 0x0e, 0xa9, 0x9c, 0x25, 0x3e, 0x1d, 0xdf, 0xec, 0xab, 0xa6, 0x52, 0x56, 0x32, 0x68, 0x10,
];
/// An hour after the last message.
const NOW: Timestamp = Timestamp::from_millis(1_795_438_700_000);

/// The fixture, converted and open, with what its old file said.
struct Opened {
    store: Store,
    earlier: Connection,
    _directories: [Schema15Database; 2],
}

impl Opened {
    async fn new() -> Self {
        let (before, after) = (Schema15Database::new().await, Schema15Database::new().await);
        let place = Place::File(after.file.clone());
        Store::upgrade(&place, &Clock::system()).await.expect("converted");
        let store = Store::open(&after.file).await.expect("opens");
        Self { store, earlier: open(&before.file), _directories: [before, after] }
    }

    fn before(&self, query: &str) -> Vec<String> {
        texts(&self.earlier, query)
    }

    /// The one message of Ann to an address that is in that state.
    fn message(&self, to: &str, state: &str) -> MessageId {
        let query = format!(
            "SELECT id FROM messages WHERE recipient = '{to}@recipient.example' AND state = '{state}'
               AND resent_from IS NULL"
        );
        let ids = self.before(&query);
        ids[0].parse().expect("an identifier")
    }
}

fn account(id: &str) -> AccountId {
    id.parse().expect("an identifier")
}

#[tokio::test]
async fn a_file_of_an_earlier_version_is_opened_only_after_its_conversion() {
    let earlier = Schema15Database::new().await;
    let before = earlier.rows();
    Store::check(&Place::File(earlier.file.clone())).await.expect("a server can convert it");
    for _ in 0..2 {
        let refused = Store::open(&earlier.file).await.expect_err("refused");
        assert!(matches!(refused, StoreError::Earlier), "{refused}");
        assert!(refused.to_string().contains("start the server on this data directory"));
        assert_eq!(earlier.rows(), before);
        // And while it is converted.
        std::fs::write(new_file(&earlier.file), "a part").expect("written");
    }
    let place = Place::File(earlier.file.clone());
    Store::upgrade(&place, &Clock::system()).await.expect("converted");
    Store::check(&Place::File(earlier.file.clone())).await.expect("it can be opened");
    Store::open(&earlier.file).await.expect("opens").close().await;
}

#[tokio::test]
async fn lists_find_the_same_messages_in_the_same_order() {
    let it = Opened::new().await;
    let list = async |filter: &MessageFilter| -> Vec<String> {
        let page = it.store.messages(account(ANN), filter, None, 100).await.expect("readable");
        assert_eq!(page.next, None);
        page.messages.iter().map(|row| row.id.to_string()).collect()
    };
    let of_ann = |only: &str| {
        let query = format!(
            "SELECT id FROM messages WHERE account_id = '{ANN}' AND {only} ORDER BY id DESC"
        );
        it.before(&query)
    };
    let all = list(&MessageFilter::default()).await;
    assert_eq!((all.len(), all), (12, of_ann("true")));
    for state in [MessageState::Bounced, MessageState::Deferred, MessageState::Relayed] {
        let filter = MessageFilter { states: vec![state], ..Default::default() };
        assert_eq!(list(&filter).await, of_ann(&format!("state = '{state}'")), "{state}");
    }
    let to = Some("gone@recipient.example".parse().expect("an address"));
    let filter = MessageFilter { to, ..Default::default() };
    assert_eq!(list(&filter).await, of_ann("recipient = 'gone@recipient.example'"));
    let filter = MessageFilter { tag: Some("Über".to_owned()), ..Default::default() };
    assert_eq!(list(&filter).await, of_ann("tags LIKE '%Über%'"));
}

#[tokio::test]
async fn a_message_has_its_events_attempts_decisions_and_content() {
    let it = Opened::new().await;
    let first = it.message("ada", "relayed");
    let shown = it.store.message(first).await.expect("there");
    assert_eq!((shown.row.credits.0, shown.row.refunded.0, shown.row.tags.len()), (1, 0, 2));
    assert_eq!(shown.row.metadata["note"], "it's \"quoted\"");
    let types: Vec<&str> = shown.events.iter().map(|event| event.r#type.as_str()).collect();
    assert_eq!(types, ["message.queued", "message.sending", "message.relayed"]);
    let events = format!("SELECT id FROM events WHERE subject = '{first}' ORDER BY sequence");
    let ids: Vec<String> = shown.events.into_iter().map(|event| event.id.to_string()).collect();
    assert_eq!(ids, it.before(&events));
    assert_eq!((shown.attempts.len(), shown.attempts[0].code), (1, Some(250)));
    assert!(shown.attempts[0].conversation.contains("MAIL FROM"), "{:?}", shown.attempts);

    let known = format!("SELECT plugins FROM decisions WHERE message_id = '{first}'");
    let known: serde_json::Value = serde_json::from_str(&it.before(&known)[0]).expect("JSON");
    assert_eq!(shown.decisions, known);
    let id = format!("SELECT id FROM decisions WHERE message_id = '{first}'");
    let id = it.before(&id)[0].parse().expect("an identifier");
    for reference in [DecisionRef::Decision(id), DecisionRef::Message(first)] {
        let decision = it.store.decision(reference).await.expect("there");
        assert_eq!((decision.id, decision.message_id), (id, Some(first)), "{reference}");
        assert_eq!((decision.plugins, &*decision.outcome), (known.clone(), "accepted"));
    }

    let bounced = it.store.message(it.message("gone", "bounced")).await.expect("there");
    assert_eq!(bounced.size, None, "its content is dropped");
    assert_eq!(bounced.attempts[0].conversation, "");
    let canceled = it.store.message_row(it.message("two", "canceled")).await.expect("readable");
    assert_eq!(canceled.expect("there").refunded, Credits(1));
    let [one, two] = ["r1", "r2"].map(|to| it.message(to, "relayed"));
    let one = it.store.body(one).await.expect("readable").expect("kept");
    assert_eq!(it.store.body(two).await.expect("readable"), Some(one), "they share it");
}

#[tokio::test]
async fn decisions_are_listed_with_the_refusals_among_them() {
    let it = Opened::new().await;
    let list = async |filter: &DecisionFilter| -> Vec<String> {
        let page = it.store.decisions(filter, None, 100).await.expect("readable");
        let mut ids: Vec<String> = page.decisions.iter().map(|row| row.id.to_string()).collect();
        ids.sort_unstable();
        ids
    };
    let all = list(&DecisionFilter::default()).await;
    assert_eq!((all.len(), all), (15, it.before("SELECT id FROM decisions ORDER BY id")));
    let refusals = "SELECT id FROM decisions WHERE message_id IS NULL ORDER BY id";
    let filter = DecisionFilter { only_refusals: true, ..Default::default() };
    assert_eq!(list(&filter).await, it.before(refusals));
    let filter =
        DecisionFilter { plugin: Some("liquid-renderer".to_owned()), ..Default::default() };
    let rendered =
        "SELECT id FROM decisions WHERE plugins LIKE '%\"liquid-renderer\"%' ORDER BY id";
    assert_eq!(list(&filter).await, it.before(rendered));
}

#[tokio::test]
async fn balances_and_ledgers_are_the_same() {
    let it = Opened::new().await;
    for (id, balance) in [(ANN, 7), (BOB, 0)] {
        let row = it.store.account(account(id), NOW).await.expect("there");
        assert_eq!(row.balance, Credits(balance));
        let ledger = it.store.ledger(account(id), 1_000).await.expect("readable");
        let shown: Vec<String> = ledger
            .iter()
            .map(|it| {
                format!(
                    "{} {} {:?}",
                    it.kind.as_str(),
                    it.amount.0,
                    it.message_id.map(|it| it.to_string())
                )
            })
            .collect();
        let before = format!(
            "SELECT kind || ' ' || amount || ' ' || coalesce('Some(\"' || message_id || '\")', 'None')
             FROM ledger WHERE account_id = '{id}' ORDER BY id DESC"
        );
        assert_eq!(shown, it.before(&before));
    }
}

#[tokio::test]
async fn what_waits_is_due_when_it_was() {
    let it = Opened::new().await;
    let lanes = it.store.due_lanes(LaneKind::Domains, NOW, None, 10).await.expect("readable");
    assert_eq!(lanes.len(), 1);
    assert_eq!(
        (lanes[0].due_at.millis(), &*lanes[0].lane.name),
        (1_795_435_113_174, "recipient.example")
    );
    assert_eq!(it.store.next_due(NOW).await.expect("readable"), None, "the lane is due already");
    let late = it.store.message_row(it.message("late", "deferred")).await.expect("readable");
    let next = late.expect("there").next_attempt_at.expect("it waits");
    assert_eq!(next, Timestamp::from_millis(1_795_435_113_174));
    assert!(it.store.message_row(it.message("one", "scheduled")).await.is_ok());
}

#[tokio::test]
async fn webhooks_have_their_deliveries_and_what_is_sealed_opens() {
    let it = Opened::new().await;
    let mut states = Vec::new();
    let seal = Seal::new(&MASTER_KEY, Purpose::Webhooks);
    for owner in [WebhookOwner::Account(account(ANN)), WebhookOwner::Server] {
        for webhook in it.store.webhooks(owner, None, 10).await.expect("readable") {
            let secret = seal.open(&format!("{} secret", webhook.id), &webhook.secret);
            let secret = secret.expect("it opens");
            assert!(secret.starts_with(b"whsec_"), "{}", webhook.id);
            let page = it.store.webhook_deliveries(webhook.id, None, None, 50).await;
            states.extend(page.expect("readable").deliveries.iter().map(|it| it.state));
        }
    }
    let failed = states.iter().filter(|it| **it == DeliveryState::Failed).count();
    assert_eq!((states.len(), failed), (4, 2));

    let samples = it.store.samples("plan", None, 10).await.expect("readable");
    assert_eq!(samples.len(), 1);
    let call = samples[0].open(&Seal::new(&MASTER_KEY, Purpose::Samples)).expect("it opens");
    assert!(call.starts_with(b"{"), "{}", String::from_utf8_lossy(&call));
    let decision = it.store.decision(DecisionRef::Decision(samples[0].decision_id)).await;
    assert_eq!(decision.expect("there").outcome, "accepted");
}
