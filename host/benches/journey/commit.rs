//! Commit: groups of sends in one transaction, on a file that syncs. By processor time: what the disk takes
//! says more of the machine than of the server.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use serde_json::Map;
use tokio::runtime::Runtime;
use waxwing::account::brand::Brand;
use waxwing::account::key::Mode;
use waxwing::account::plan::Plan;
use waxwing::account::{Account, AccountState};
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

use crate::content;
use crate::process_time::ProcessTime;

const CREDITS: Credits = Credits(1_000_000_000);

pub fn commit(criterion: &mut Criterion<ProcessTime>) {
    let runtime = Runtime::new().expect("a runtime");
    let directory = tempfile::tempdir().expect("a directory");
    let now = Clock::system().now();
    let (store, account, revision) = runtime.block_on(async {
        let store = Store::open(&directory.path().join("bench.db")).await.expect("a database");
        let account = account(&store, now).await;
        let revision = store.revision().await.expect("a revision");
        (store, account, revision)
    });
    let body = Body::pack(content::rendered().concat().as_bytes());
    let mut group = criterion.benchmark_group("commit, sends in one transaction");
    for size in [1_u32, 8, 30, 64] {
        group.throughput(Throughput::Elements(size.into()));
        group.bench_function(BenchmarkId::from_parameter(size), |b| {
            // Identifiers are ordered by time, as they are in the server: the clock has to go on.
            let jobs = || {
                let now = Clock::system().now();
                (0..size).map(|_| job(revision, account, &body, now)).collect()
            };
            b.to_async(&runtime).iter_batched(
                jobs,
                async |jobs: Vec<Job>| black_box(commit_group(&store, &jobs, now).await),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
    runtime.block_on(store.close());
}

async fn commit_group(store: &Store, jobs: &[Job], now: Timestamp) -> Vec<JobOutcome> {
    let decide = |jobs, facts| decide(Rules::default(), jobs, facts, now);
    store.commit_decided(jobs, now, decide).await.expect("it is stored")
}

async fn account(store: &Store, now: Timestamp) -> AccountId {
    let account = Account {
        id: AccountId::new(now),
        name: "bench".to_owned(),
        plan: Plan::named("pro"),
        state: AccountState::Active,
        sender: None,
        brand: Brand::default(),
        strict: false,
        credits_low: None,
        created_at: now,
    };
    store.create_account(&account).await.expect("an account");
    let granted = store.add_credits(account.id, EntryKind::Grant, CREDITS, "bench", now).await;
    granted.expect("credits");
    account.id
}

fn job(revision: i64, account_id: AccountId, body: &Body, now: Timestamp) -> Job {
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
            recipient: "ada@example.com".parse().expect("an address"),
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
            decisions: [PluginDecision {
                kind: "plan",
                identity: r#"{"slot":"plan","name":"plan-policy"}"#.into(),
                verdict: "allow".into(),
                reason: None,
                micros: 20,
                blank: Vec::new(),
                locale: None,
            }]
            .into(),
        }))],
    }
}
