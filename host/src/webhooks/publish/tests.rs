//! Batches: bounded in bytes, and nothing is left out between them.

use serde_json::{Map, Value};

use super::*;
use crate::clock::Timestamp;
use crate::id::{AccountId, EventId};
use crate::message::state::MessageState;
use crate::store::{
    EventKind, EventSubject, MessageSubject, WebhookOwner, WebhookRow, WebhookState,
};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn webhook(owner: WebhookOwner) -> WebhookRow {
    WebhookRow {
        id: WebhookId::new(NOW),
        owner,
        url: "https://example.com/".to_owned(),
        description: String::new(),
        types: vec!["message.*".to_owned()],
        secret: vec![1],
        earlier: None,
        state: WebhookState::Active,
        reason: String::new(),
        since: NOW,
        after_sequence: 0,
        succeeded_at: None,
        failing_since: None,
        created_at: NOW,
    }
}

fn event(owner: WebhookOwner, sequence: i64, name: &str, bytes: usize) -> PublishedEvent {
    let metadata = Map::from_iter([("long".to_owned(), Value::from("a".repeat(bytes)))]);
    PublishedEvent {
        sequence,
        id: EventId::new(NOW),
        owner,
        subject: "msg_1".to_owned(),
        r#type: EventKind::from_name(name).expect("a type of event"),
        detail: String::new(),
        facts: Map::new(),
        at: NOW,
        about: EventSubject::Message(Box::new(MessageSubject {
            recipient: "ada@example.com".to_owned(),
            sender: "hello@example.com".to_owned(),
            subject: String::new(),
            template: None,
            tags: Value::Null,
            metadata,
            credits: 1,
            attempt: 1,
            state: MessageState::Delivered,
        })),
    }
}

fn backlog(webhooks: usize, events: i64, bytes: usize) -> Backlog {
    let owner = WebhookOwner::Account(AccountId::new(NOW));
    // Every other event is one that nobody wants.
    let name = |n| if n % 2 == 0 { "message.delivered" } else { "domain.failed" };
    Backlog {
        from: 0,
        to: 1_000_000,
        webhooks: (0..webhooks).map(|_| webhook(owner)).collect(),
        events: (1..=events).map(|n| event(owner, n, name(n), bytes)).collect(),
    }
}

#[test]
fn large_bodies_are_handed_out_in_several_bites_each_once() {
    let backlog = backlog(20, 100, 100_000);
    let (mut from, mut seen, mut count) = (backlog.from, Vec::new(), 0);
    for batch in batches(&backlog) {
        let bytes: usize = batch.deliveries.iter().map(size).sum();
        assert!(bytes <= BYTES, "{bytes}");
        let all = batch.deliveries.iter();
        assert!(all.clone().all(|it| it.webhooks.len() == 20 && it.sequence > from));
        assert!(all.clone().all(|it| it.sequence <= batch.to));
        seen.extend(all.map(|it| it.sequence));
        (from, count) = (batch.to, count + 1);
    }
    assert_eq!(count, 2, "39 and 11");
    assert_eq!(seen, (1..=100).filter(|n| n % 2 == 0).collect::<Vec<i64>>());
    assert_eq!(from, backlog.to, "the cursor has come to the end");
}

#[test]
fn an_event_that_is_larger_than_a_bite_is_one() {
    let backlog = backlog(20, 6, BYTES);
    let batches: Vec<Batch> = batches(&backlog).collect();
    assert!(batches.iter().all(|it| it.deliveries.len() == 1));
    assert_eq!(batches.iter().map(|it| it.to).collect::<Vec<_>>(), [3, 5, backlog.to]);
}

#[test]
fn small_ones_and_none_are_one_bite() {
    for (webhooks, events, deliveries) in [(20, 500, 250), (0, 10, 0), (3, 0, 0)] {
        let backlog = backlog(webhooks, events, 10);
        let batches: Vec<Batch> = batches(&backlog).collect();
        assert_eq!(batches.len(), 1);
        assert_eq!((batches[0].deliveries.len(), batches[0].to), (deliveries, backlog.to));
    }
}

#[test]
fn a_complaint_is_told_with_the_state_of_its_message() {
    let owner = WebhookOwner::Server;
    let state = |event: &PublishedEvent| {
        let body: Value = serde_json::from_str(&body::of_event(event)).expect("JSON");
        body["data"]["state"].clone()
    };
    let mut complaint = event(owner, 1, "message.complained", 1);
    assert_eq!(state(&complaint), "delivered");
    complaint.about = EventSubject::Nothing;
    assert_eq!(state(&complaint), Value::Null, "the message is not kept any more");
    assert_eq!(state(&event(owner, 1, "message.deferred", 1)), "deferred");
}
