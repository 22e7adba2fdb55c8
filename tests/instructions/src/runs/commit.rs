//! Commit: groups of sends in one transaction, on a file that syncs.

use serde_json::Map;
use tokio::runtime::Runtime;
use waxwing::account::Account;
use waxwing::account::key::Mode;
use waxwing::account::plan::Plan;
use waxwing::clock::{Clock, Timestamp};
use waxwing::credit::{Credits, EntryKind};
use waxwing::id::{AccountId, DomainId, KeyId, MessageId};
use waxwing::journey::commit::decide::{Rules, decide};
use waxwing::message::channel::Channel;
use waxwing::store::Store;
use waxwing::store::records::{
    Acceptance, Body, BodyOf, Job, JobItem, JobOutcome, NewMessage, PluginDecision, ReturnPath,
    RouteChoice,
};
use waxwing::template::version::TemplateRevision;

use crate::rounds::Rounds;
use crate::sample;

const CREDITS: Credits = Credits(1_000_000_000);
/// What a decision record says of the component that decided.
const IDENTITY: &str = concat!(
    r#"{"slot":"domain-policy","name":"waxwing:domain-policy","version":"0.1.0","#,
    r#""digest":"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","#,
    r#""settingsRevision":0}"#,
);

pub fn commit(rounds: &mut Rounds, runtime: &Runtime, clock: &Clock) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("counted.db");
    let (store, account, revision) = runtime.block_on(async {
        let store = Store::open(&file).await.expect("a database");
        let account = account(&store, clock.now()).await.id;
        let revision = store.revision().await.expect("a revision");
        (store, account, revision)
    });
    let body = Body::pack(sample::HTML.as_bytes());
    for (name, size) in [("commit-1", 1), ("commit-30", 30)] {
        // Identifiers are ordered by time, as they are in the server: the clock has to go on.
        let jobs = || -> Vec<Job> {
            clock.advance(std::time::Duration::from_millis(1));
            (0..size).map(|number| job(revision, account, &body, number, clock.now())).collect()
        };
        rounds.run(name, jobs, |jobs| {
            let now = clock.now();
            let decide = |jobs, facts| decide(Rules::default(), jobs, facts, now);
            let done = runtime.block_on(store.commit_decided(&jobs, now, decide));
            let outcomes = done.expect("it is stored");
            assert!(outcomes.iter().all(|it| matches!(it, JobOutcome::Answered(_))), "accepted");
            (jobs, outcomes)
        });
    }
    runtime.block_on(store.close());
}

/// A new account that can pay for everything.
pub async fn account(store: &Store, now: Timestamp) -> Account {
    let mut account = Account::new("counted", Plan::named("pro"), now);
    account.sender = "hello@sandbox.test".parse().ok();
    store.create_account(&account).await.expect("an account");
    let granted = store.add_credits(account.id, EntryKind::Grant, CREDITS, "counted", now).await;
    granted.expect("credits");
    account
}

fn job(revision: i64, account_id: AccountId, body: &Body, number: u32, now: Timestamp) -> Job {
    let recipient = format!("customer{number}@example.com");
    Job {
        revision,
        account_id,
        key_id: KeyId::new(now),
        mode: Mode::Live,
        idempotency: None,
        acceptance: Acceptance::Each,
        items: vec![JobItem::Message(Box::new(NewMessage {
            id: MessageId::new(now),
            channel: Channel::Api,
            template: Some(TemplateRevision {
                slug: "invoice".parse().expect("a slug"),
                revision: 1,
            }),
            sender: "hello@sandbox.test".parse().expect("an address"),
            domain: DomainId::new(now),
            return_path: ReturnPath::Author,
            recipient: recipient.parse().expect("an address"),
            subject: "Invoice R-2048".to_owned(),
            route: RouteChoice::Sandbox,
            price: Credits(1),
            tags: Vec::new(),
            metadata: Map::new(),
            send_at: None,
            resent_from: None,
            body: BodyOf::Own(body.clone()),
            blank: Vec::new(),
            unread: Vec::new(),
            locale: None,
            decisions: ["domain", "plan", "renderer"].map(decision).into(),
        }))],
    }
}

fn decision(kind: &'static str) -> PluginDecision {
    PluginDecision {
        kind,
        identity: IDENTITY.into(),
        verdict: "judged".into(),
        reason: None,
        micros: 20,
        blank: Vec::new(),
        locale: None,
    }
}
