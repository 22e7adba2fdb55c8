//! The components: a decision of the plan policy in a fresh instance, and a render in a warm one.

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Runtime;
use waxwing::clock::Clock;
use waxwing::id::TemplateId;
use waxwing::plugin::binding::Scope;
use waxwing::plugin::compiler::Compiler;
use waxwing::plugin::renderer::VersionKey;
use waxwing::plugin::signature::SignatureRule;
use waxwing::plugin::{Limits, Options, Plugins, plan};

use super::NOW;
use crate::rounds::Rounds;
use crate::sample;

const SCOPE: Scope<'static> = Scope { plan: "pro", account: "acc_bench", domain: None };

/// The built-in plugins. Their machine code stays in the directory.
pub fn start(runtime: &Runtime, clock: &Clock, directory: &Path) -> Arc<Plugins> {
    // Under valgrind all takes longer than the limits of a server allow.
    let mut limits = Limits::default();
    for limits in [&mut limits.renderer, &mut limits.plan, &mut limits.domain] {
        (limits.call_ms, limits.prepare_ms) = (60_000, 60_000);
    }
    let options = Options {
        shared: None,
        limits,
        directory: directory.join("plugins"),
        state: directory.join("state"),
        compiled: directory.join("compiled"),
        secret: b"counted".to_vec(),
        compiler: Compiler::Unbounded,
        signatures: SignatureRule::Off,
        trusted: Vec::new(),
        max_component_bytes: 16 << 20,
        sample_every: 0,
    };
    let started = runtime.block_on(Plugins::start(options, clock.clone()));
    started.expect("the built-in plugins start").0
}

pub fn plan(rounds: &mut Rounds, runtime: &Runtime, plugins: &Plugins) {
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
    let (table, context) = (plugins.table(), plugins.context("bench".to_owned()));
    rounds.run(
        "plan",
        || (),
        |()| {
            let called = runtime.block_on(table.check(&SCOPE, &context, &who, &uses));
            called.result.expect("it decides")
        },
    );
}

pub fn render(rounds: &mut Rounds, runtime: &Runtime, plugins: &Plugins) {
    let key = VersionKey { template: TemplateId::new(NOW), revision: 1, locale: 0 };
    let data = serde_json::to_string(&sample::data()).expect("JSON");
    let (table, context) = (plugins.table(), plugins.context("bench".to_owned()));
    rounds.run(
        "render",
        || (),
        |()| {
            let example = || "{}".to_owned();
            let call = table.render(&SCOPE, key, sample::template, example, &context, &data);
            let called = runtime.block_on(call);
            called.result.expect("it answers").expect("the sample renders")
        },
    );
}
