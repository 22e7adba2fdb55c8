//! An account, a message and a job for tests; a test changes what it is about.

use serde_json::Map;

use super::Store;
use super::records::{Acceptance, Body, BodyOf, Job, NewMessage, ReturnPath, RouteChoice, Slot};
use crate::account::Account;
use crate::account::key::Mode;
use crate::account::plan::Plan;
use crate::clock::Timestamp;
use crate::credit::{Credits, EntryKind};
use crate::id::{AccountId, DomainId, KeyId, MessageId};
use crate::message::channel::Channel;

pub async fn open_account(store: &Store, credits: i64, now: Timestamp) -> AccountId {
    let account = Account::new("test", Plan::named("pro"), now);
    store.create_account(&account).await.expect("created");
    let grant = Credits(credits);
    store.add_credits(account.id, EntryKind::Grant, grant, "test", now).await.expect("granted");
    account.id
}

pub fn new_message(now: Timestamp) -> NewMessage {
    NewMessage {
        id: MessageId::new(now),
        channel: Channel::Api,
        template: None,
        sender: "a@sandbox.test".parse().expect("valid"),
        domain: DomainId::new(now),
        return_path: ReturnPath::Author,
        recipient: "Ada@Example.com".parse().expect("valid"),
        subject: "Hi".to_owned(),
        route: RouteChoice::Sandbox,
        price: Credits(1),
        tags: Vec::new(),
        metadata: Map::new(),
        send_at: None,
        resent_from: None,
        body: BodyOf::Own(Body::pack(b"Subject: Hi\r\n\r\nHi\r\n")),
        blank: Vec::new(),
        decisions: [].into(),
    }
}

/// A job with a live key, in which each message stands alone.
pub fn job(revision: i64, account_id: AccountId, messages: Vec<NewMessage>, now: Timestamp) -> Job {
    Job {
        revision,
        account_id,
        key_id: KeyId::new(now),
        mode: Mode::Live,
        idempotency: None,
        acceptance: Acceptance::Each,
        slots: messages.into_iter().map(|it| Slot::Message(Box::new(it))).collect(),
    }
}
