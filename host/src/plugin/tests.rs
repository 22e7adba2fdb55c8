//! The plugin host with real components: good ones that are swapped, and bad ones that it survives.

mod activation;
mod blame;
mod boot;
mod damaged;
mod fairness;
mod files;
mod golden;
mod guests;
mod hostile;
mod interfaces;
mod kept_cases;
mod memory;
mod mjml;
mod nodes;
pub(crate) mod fixture;
mod policies;
mod refused;
mod rollback;
mod samples;
mod sandboxed;
mod settings;
mod shadows;
mod signatures;
mod slot_bindings;
mod tampered;

use std::sync::Arc;

use crate::clock::{Clock, Timestamp};
use crate::id::TemplateId;
use crate::plugin::config::binding::Scope;
use crate::plugin::kinds::renderer::{Body, Part, Source, Template, VersionKey};
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::limits::Limits;
use crate::plugin::slots::table::Unrendered;
use crate::plugin::{Options, Plugins};
use fixture::TestDirs;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const ANYBODY: Scope<'static> = Scope { plan: "free", account: "acc_1", domain: None };

/// Compiled code of all tests of this build, so that each component is compiled once.
fn cache() -> std::path::PathBuf {
    let executable = std::env::current_exe().expect("a test has a file");
    executable.parent().expect("it is in a folder").join("compiled-plugins-for-tests")
}

/// A plugin host without its supervisor: nobody swaps a plugin.
async fn plugins(limits: Limits) -> Arc<Plugins> {
    let dirs = TestDirs::new();
    let options = Options { limits, ..dirs.options() };
    let started = Plugins::start(options, Clock::manual(NOW)).await;
    started.expect("the built-ins start").0
}

fn text_template(text: &str) -> Template {
    Template {
        slug: "test".to_owned(),
        revision: 1,
        sources: vec![
            Source { part: Part::Subject, text: "Hi {{ name }}".to_owned() },
            Source { part: Part::Text, text: text.to_owned() },
        ],
        partials: Vec::new(),
        layout: None,
    }
}

/// Renders a text that nobody has rendered before.
async fn render(
    plugins: &Plugins,
    text: &str,
    data: &str,
) -> Result<Result<Vec<Body>, Unrendered>, CallFailure> {
    let key = VersionKey { template: TemplateId::new(NOW), revision: 1, locale: 0 };
    render_version(plugins, key, text, data).await
}

async fn render_version(
    plugins: &Plugins,
    key: VersionKey,
    text: &str,
    data: &str,
) -> Result<Result<Vec<Body>, Unrendered>, CallFailure> {
    let context = plugins.context("test".to_owned());
    let data = data.to_owned();
    let table = plugins.table();
    let (template, example) = (|| text_template(text), || "{}".to_owned());
    let called = table.render(&ANYBODY, key, template, example, &context, &data).await;
    called.result.map(|rendered| rendered.map(|output| output.bodies))
}

/// The subject and the text of a good template.
async fn dear_ada(plugins: &Plugins) -> Vec<String> {
    let rendered = render(plugins, "Dear {{ name }}", r#"{"name":"Ada"}"#).await;
    let bodies = rendered.expect("answered").expect("rendered");
    bodies.into_iter().map(|body| body.text).collect()
}

/// What every hostile test ends with: the next good call is right.
async fn still_renders(plugins: &Plugins) {
    assert_eq!(dear_ada(plugins).await, ["Hi Ada", "Dear Ada"]);
}
