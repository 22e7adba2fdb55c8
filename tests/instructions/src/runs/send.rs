//! A whole send, from the key and the body of its request to the receipt: all but HTTP.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use waxwing::account::Account;
use waxwing::account::key::{ApiKey, Mode, PresentedKey, Scope};
use waxwing::clock::Clock;
use waxwing::domain::look_alike::{LookAlikes, Originals};
use waxwing::domain::state::{DomainKind, Phase, SenderDomain, Standing};
use waxwing::id::{DomainId, KeyId, RequestId, TemplateId};
use waxwing::journey::accept::Accept;
use waxwing::journey::accept::rate_limit::RateLimits;
use waxwing::journey::commit::Commit;
use waxwing::journey::commit::batch;
use waxwing::journey::render::dictionary;
use waxwing::journey::{Journey, Reply, Request};
use waxwing::plugin::Plugins;
use waxwing::plugin::binding;
use waxwing::store::facts::Facts;
use waxwing::store::records::Acceptance;
use waxwing::store::seal::{Purpose, Seal};
use waxwing::store::{
    DomainRow, NewDomain, NewTemplate, NewVersion, Publication, Published, Store, TemplateOwner,
};
use waxwing::template::kind::TemplateKind;
use waxwing::template::slug::Slug;
use waxwing::template::source::TemplateSource;
use waxwing::template::version::{Blocks, Variable};
use waxwing::trace::Arrival;

use super::{accept, commit};
use crate::rounds::Rounds;
use crate::sample;

/// What the domain policy has decided of the sender's domain.
const DECISION: &str = concat!(
    r#"{"kind":"domain","slot":"domain-policy","name":"waxwing:domain-policy","version":"0.1.0","#,
    r#""digest":"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","#,
    r#""settingsRevision":0,"verdict":"judged","reason":null,"micros":20}"#,
);

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const MANY: NonZeroU32 = NonZeroU32::MAX;

pub fn send(rounds: &mut Rounds, runtime: &Runtime, clock: &Clock, plugins: Arc<Plugins>) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("counted.db");
    let store = runtime.block_on(Store::open(&file)).expect("a database");
    let stop = CancellationToken::new();
    let (committer, commits) = batch::channel();
    let committing = commits.run(store.clone(), clock.clone(), |_| (), stop.clone());
    let committing = runtime.spawn(committing);
    let presented = PresentedKey::generate(Mode::Live);
    let journey = runtime.block_on(async {
        let account = commit::account(&store, clock.now()).await;
        prepare(&store, clock, &plugins, &account, &presented).await;
        let facts = Facts::open(store.clone(), clock.clone(), 64 << 20).await.expect("the facts");
        let rate_limits = Arc::new(RateLimits::new(MANY, MANY, MANY));
        let accept = Accept { facts: Arc::new(facts), clock: clock.clone(), rate_limits };
        let seal = Arc::new(Seal::new(b"counted", Purpose::Samples));
        let commit = Commit { clock: clock.clone(), committer, seal };
        Journey::new(accept, plugins, commit, store.clone())
    });
    let (body, key) = (sample::body(), presented.reveal());
    let advance = || clock.advance(std::time::Duration::from_millis(1));
    rounds.run("send", advance, |()| {
        let reply = runtime.block_on(one(&journey, clock, &key, &body));
        assert!(reply.items.iter().all(Result::is_ok), "it is accepted: {reply:?}");
    });
    drop(journey);
    stop.cancel();
    runtime.block_on(committing).expect("the commits end");
    runtime.block_on(store.close());
}

async fn one(journey: &Journey, clock: &Clock, key: &str, body: &[u8]) -> Reply {
    let caller = journey.accept.log_in(Some(key), LOOPBACK, Scope::Send).await.expect("a key");
    journey.accept.take_sends(&caller, NonZeroU32::MIN).expect("within the rate");
    let request = Request {
        id: RequestId::new(clock.now()),
        idempotency: None,
        acceptance: Acceptance::Each,
        arrival: Arrival::default(),
        items: vec![Ok(accept::parse(body))],
    };
    journey.submit(&caller, &request).await.expect("the request is accepted")
}

/// A key, a sandbox domain and the published template.
async fn prepare(
    store: &Store,
    clock: &Clock,
    plugins: &Plugins,
    account: &Account,
    presented: &PresentedKey,
) {
    let now = clock.now();
    let id = (KeyId::new(now), account.id);
    let key = ApiKey::new(id, "counted".to_owned(), presented, vec![Scope::Send], now);
    store.create_key(&key).await.expect("a key");
    let standing =
        Standing { phase: Phase::Verified, since: now, progress: 100, missing: Vec::new() };
    let domain = SenderDomain {
        id: DomainId::new(now),
        account_id: account.id,
        name: "sandbox.test".parse().expect("a domain"),
        kind: DomainKind::Sandbox,
        verification_token: "counted".to_owned(),
        standing,
        created_at: now,
    };
    let decision = serde_json::from_str(DECISION).expect("JSON");
    let row = DomainRow { domain, requirements: json!([]), decision };
    let look_alikes = LookAlikes::Allowed;
    let new = NewDomain { row, look_alikes, keys: Vec::new(), first_check: None };
    let originals = Originals::of(account.id, &new.row.domain.name);
    let added = store.add_domain(&new, now, &originals, |_| Ok::<(), Infallible>(())).await;
    added.expect("stored").expect("added");
    publish(store, clock, plugins, account).await;
}

async fn publish(store: &Store, clock: &Clock, plugins: &Plugins, account: &Account) {
    let scope = binding::Scope { plan: "pro", account: "acc_bench", domain: None };
    let found = plugins.table().variables(&scope, &sample::template()).await;
    let found = found.expect("it answers").expect("the sample compiles");
    let variables: Vec<Variable> = found
        .into_iter()
        .map(|it| Variable {
            path: it.path,
            required: it.required,
            value_type: None,
            format: None,
            declared_only: false,
        })
        .collect();
    let source = TemplateSource {
        subject: sample::SUBJECT.to_owned(),
        html: Some(sample::HTML.to_owned()),
        text: Some(sample::TEXT.to_owned()),
        ..TemplateSource::default()
    };
    let slug: Slug = "invoice".parse().expect("a slug");
    let (now, blocks) = (clock.now(), Blocks::default());
    let (owner, kind) = (TemplateOwner::Account(account.id), TemplateKind::Template);
    let (id, by) = (TemplateId::new(now), "cli");
    let new = NewTemplate { id, owner, kind, slug: &slug, draft: &source, by };
    let added = store.add_template(&new, now, |_| Ok::<(), Infallible>(())).await;
    added.expect("stored").expect("added");
    let row = store.template(owner, kind, &slug).await.expect("readable").expect("there");
    let version = NewVersion {
        revision: 1,
        dictionary: Some(dictionary::of_source(&source, &blocks)),
        source,
        compiled: None,
        blocks,
        uses: Vec::new(),
        variables,
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
}
