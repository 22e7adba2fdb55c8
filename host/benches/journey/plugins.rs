//! The components: a plan decision in a fresh instance, a warm render, a cold renderer.

use std::hint::black_box;

use criterion::Criterion;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use waxwing::clock::Clock;
use waxwing::id::TemplateId;
use waxwing::plugin::renderer::{Output, Part, Source, Template, VersionKey};
use waxwing::plugin::{Limits, Plugins, plan};

use crate::sample;

/// Plugins, with what they need to live.
pub struct Bench {
    pub runtime: Runtime,
    plugins: Plugins,
    _cache: TempDir,
}

impl Bench {
    pub fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let cache = tempfile::tempdir().expect("a directory");
        let start = Plugins::start(Limits::default(), cache.path(), b"bench", Clock::system());
        let plugins = runtime.block_on(start).expect("the built-in plugins start");
        Self { runtime, plugins, _cache: cache }
    }

    /// The three parts of the sample in one call of a warm instance.
    pub async fn render(&self, key: VersionKey, data: &String) -> Output {
        let context = self.plugins.context("bench".to_owned());
        let rendered = self.plugins.renderer().render(key, sample::template, &context, data).await;
        rendered.expect("the sample renders").0
    }
}

/// A published version that is only known here.
pub fn version() -> VersionKey {
    VersionKey { template: TemplateId::new(Clock::system().now()), revision: 1 }
}

pub fn plan(criterion: &mut Criterion) {
    let bench = Bench::start();
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
    let policy = bench.plugins.plan();
    criterion.bench_function("plan decision, fresh instance", |b| {
        b.to_async(&bench.runtime).iter(async || {
            black_box(policy.check(&context, &who, &uses).await.expect("it decides"))
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
    let renderer = bench.plugins.renderer();
    let smallest = Template {
        slug: "smallest".to_owned(),
        revision: 1,
        sources: vec![Source { part: Part::Text, text: "x".to_owned() }],
        partials: Vec::new(),
        layout: None,
    };
    criterion.bench_function("cold renderer instance, smallest template compiled in it", |b| {
        b.to_async(&bench.runtime)
            .iter(async || black_box(renderer.variables(&smallest).await.expect("it compiles")));
    });
    let whole = sample::template();
    criterion.bench_function("cold renderer instance, 8 KiB template compiled in it", |b| {
        b.to_async(&bench.runtime)
            .iter(async || black_box(renderer.variables(&whole).await.expect("it compiles")));
    });
}
