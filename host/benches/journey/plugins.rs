//! The components: a plan decision in a fresh and in a warm instance, a warm render, a cold
//! renderer.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::Criterion;
use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use waxwing::clock::Clock;
use waxwing::id::TemplateId;
use waxwing::plugin::binding::{Binding, Scope};
use waxwing::plugin::compiler::Compiler;
use waxwing::plugin::evidence::{Evidence, Found, Owner, OwnersCursor, OwnersPage, Published};
use waxwing::plugin::records::Call;
use waxwing::plugin::renderer::{Output, Part, Source, Template, VersionKey};
use waxwing::plugin::signature::SignatureRule;
use waxwing::plugin::slot::SlotName;
use waxwing::plugin::{Kind, Limits, Options, Plugins, plan};

use crate::sample;

const SCOPE: Scope<'static> = Scope { plan: "pro", account: "acc_bench", domain: None };

/// Plugins, with what they need to live.
pub struct Bench {
    pub runtime: Runtime,
    plugins: Arc<Plugins>,
    _directory: TempDir,
}

/// A server that has sent nothing yet.
#[derive(Debug)]
struct NoPast;

impl Evidence for NoPast {
    fn calls(&self, _: Kind, _: SlotName) -> BoxFuture<'static, Found<Vec<Call>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn components(&self) -> BoxFuture<'static, Found<Vec<String>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn accounts(
        &self,
        _: Binding,
        _: Option<OwnersCursor>,
    ) -> BoxFuture<'static, Found<OwnersPage>> {
        Box::pin(async { Ok(OwnersPage { owners: Vec::new(), next: None }) })
    }

    fn templates(&self, _: Kind, _: Owner) -> BoxFuture<'static, Found<Vec<Published>>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

impl Bench {
    pub fn start() -> Self {
        Self::with("")
    }

    /// With a file for the plan policy's slot.
    fn with(plan_policy: &str) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let directory = tempfile::tempdir().expect("a directory");
        let inside = |name: &str| directory.path().join(name);
        let options = Options {
            shared: None,
            limits: Limits::default(),
            directory: inside("plugins"),
            state: inside("state"),
            compiled: inside("compiled"),
            secret: b"bench".to_vec(),
            compiler: Compiler::Unbounded,
            signatures: SignatureRule::Off,
            trusted: Vec::new(),
            max_component_bytes: 16 << 20,
            sample_every: 100,
        };
        let start = Plugins::start(options, Clock::system());
        let (plugins, supervisor) = runtime.block_on(start).expect("the built-in plugins start");
        if !plan_policy.is_empty() {
            let file = inside("plugins").join("plan-policy.toml");
            std::fs::write(file, plan_policy).expect("written");
            runtime.spawn(supervisor.run(Arc::new(NoPast), CancellationToken::new()));
            let slot: SlotName = "plan-policy".parse().expect("a name");
            let live = || plugins.statuses().slot(&slot).is_some_and(|it| !it.is_builtin);
            while !live() {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Self { runtime, plugins, _directory: directory }
    }

    /// The three parts of the sample in one call of a warm instance.
    pub async fn render(&self, key: VersionKey, data: &String) -> Output {
        let context = self.plugins.context("bench".to_owned());
        let table = self.plugins.table();
        let example = || "{}".to_owned();
        let called = table.render(&SCOPE, key, sample::template, example, &context, data).await;
        called.result.expect("it answers").expect("the sample renders")
    }
}

/// A published version that is only known here.
pub fn version() -> VersionKey {
    VersionKey { template: TemplateId::new(Clock::system().now()), revision: 1, locale: 0 }
}

pub fn plan(criterion: &mut Criterion) {
    for (name, file) in [("fresh", ""), ("warm", "instances = 'warm'")] {
        plan_in(criterion, name, &Bench::with(file));
    }
}

fn plan_in(criterion: &mut Criterion, name: &str, bench: &Bench) {
    let context = bench.plugins.context("bench".to_owned());
    let who = plan::Account {
        id: "acc_bench".to_owned(),
        plan: "pro".to_owned(),
        paid: true,
        credits_remaining: 1_000,
        created_unix_ms: 0,
        sent_last_day: 1,
        sent_last_month: 1,
        extra: Vec::new(),
    };
    let uses = [plan::UseRequest {
        channel: plan::Channel::Api,
        template_slug: Some("invoice".to_owned()),
        template_required_plan: None,
        template_tags: Vec::new(),
        recipient_domain: "example.com".to_owned(),
        recipients: 1,
        size_bytes: 0,
    }];
    let table = bench.plugins.table();
    criterion.bench_function(&format!("plan decision, {name} instance"), |b| {
        b.to_async(&bench.runtime).iter(async || {
            let called = table.check(&SCOPE, &context, &who, &uses).await;
            black_box(called.result.expect("it decides"))
        });
    });
}

pub fn render(criterion: &mut Criterion) {
    let bench = Bench::start();
    let key = version();
    let data = serde_json::to_string(&sample::data()).expect("JSON");
    criterion.bench_function("render 8 KiB and two parts, warm component", |b| {
        b.to_async(&bench.runtime).iter(async || black_box(bench.render(key, &data).await));
    });
}

/// Instantiation is not public by itself, so this compiles the smallest template in it as well.
pub fn cold_renderer(criterion: &mut Criterion) {
    let bench = Bench::start();
    let table = bench.plugins.table();
    let smallest = Template {
        slug: "smallest".to_owned(),
        revision: 1,
        sources: vec![Source { part: Part::Text, text: "x".to_owned() }],
        partials: Vec::new(),
        layout: None,
    };
    criterion.bench_function("cold renderer instance, smallest template compiled in it", |b| {
        b.to_async(&bench.runtime).iter(async || {
            black_box(table.variables(&SCOPE, &smallest).await.expect("it answers"))
        });
    });
    let whole = sample::template();
    criterion.bench_function("cold renderer instance, 8 KiB template compiled in it", |b| {
        b.to_async(&bench.runtime)
            .iter(async || black_box(table.variables(&SCOPE, &whole).await.expect("it answers")));
    });
}
