//! An account, a message and a job for tests; a test changes what it is about.

use std::convert::Infallible;

use serde_json::Map;

use super::records::{Acceptance, Body, BodyOf, Job, JobItem, NewMessage, ReturnPath, RouteChoice};
pub use super::tests::open::open;
use super::{NewTemplate, NewVersion, Publication, Published, Store, TemplateOwner};
use crate::account::Account;
use crate::account::key::Mode;
use crate::account::plan::Plan;
use crate::clock::Timestamp;
use crate::credit::{Credits, EntryKind};
use crate::id::{AccountId, DomainId, KeyId, MessageId, TemplateId};
use crate::message::channel::Channel;
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;
use crate::template::version::{Blocks, TemplateVersion};

pub async fn open_account(store: &Store, credits: i64, now: Timestamp) -> AccountId {
    let account = Account::new("test", Plan::named("pro"), now);
    store.create_account(&account).await.expect("created");
    let grant = Credits(credits);
    store.add_credits(account.id, EntryKind::Grant, grant, "test", now).await.expect("granted");
    account.id
}

/// A decision that refuses nothing.
#[expect(clippy::unnecessary_wraps, reason = "the store takes decisions that may refuse")]
pub fn whatever_stands<F>(_: F) -> Result<(), Infallible> {
    Ok(())
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
        unread: Vec::new(),
        locale: None,
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
        items: messages.into_iter().map(|it| JobItem::Message(Box::new(it))).collect(),
    }
}

/// Publishes a template that nobody has checked.
pub async fn publish(
    store: &Store,
    account: AccountId,
    slug: &Slug,
    source: TemplateSource,
    dictionary: &[u8],
    now: Timestamp,
) -> TemplateVersion {
    let (owner, kind) = (TemplateOwner::Account(account), TemplateKind::Template);
    let (id, by) = (TemplateId::new(now), "cli");
    let new = NewTemplate { id, owner, kind, slug, draft: &source, by };
    store.add_template(&new, now, whatever_stands).await.expect("stored").expect("added");
    let row = store.template(owner, kind, slug).await.expect("readable").expect("there");
    let version = NewVersion {
        revision: 1,
        source: source.clone(),
        compiled: None,
        blocks: Blocks::default(),
        uses: Vec::new(),
        variables: Vec::new(),
        dictionary: Some(dictionary.to_vec()),
    };
    let publication = Publication {
        template: &row,
        published: Published::New(&version),
        touched: &[],
        left: 0,
        author: by,
        note: None,
    };
    assert!(store.publish(&publication, now).await.expect("published"));
    store.templates(account).await.expect("readable").swap_remove(0)
}
