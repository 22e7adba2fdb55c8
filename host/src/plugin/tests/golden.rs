//! The golden-liquid suite and Shopify's liquid-spec against the component, with the lists of known failures that
//! the engine keeps. They may only shrink.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::fixture::candidate;
use super::{NOW, TemplateId, plugins};
use crate::fair_share::ShareOwner;
use crate::plugin::CallContext;
use crate::plugin::kinds::renderer::{Part, Renderer, Source, Template, VersionKey};
use crate::plugin::promotion::installed::{Installed, InstalledPlugin};
use crate::plugin::runtime::bindings::types::{Failure, Pair};
use crate::plugin::runtime::error;
use crate::plugin::runtime::limits::Limits;

const KNOWN: &str = include_str!("../../../../plugins/liquid/golden-known-failures.txt");
const SPEC: &str = include_str!("../../../../plugins/liquid/golden/liquid-spec.json");
const KNOWN_OF_SPEC: &str = include_str!("../../../../plugins/liquid/spec-known-failures.txt");
const OWN: &str = include_str!("../../../../plugins/liquid/golden-own.json");

/// Past the test's capture: a suite that did not run must be seen.
fn say(message: &str) {
    writeln!(std::io::stderr(), "{message}").expect("standard error is open");
}

async fn lenient_renderer() -> Arc<Installed<Renderer>> {
    let lenient = candidate("liquid-renderer", None, "[settings]\nundefined = 'nil'");
    let plugins = plugins(Limits::default()).await;
    match plugins.try_out(&lenient).await.expect("the renderer loads") {
        InstalledPlugin::Renderer(renderer) => renderer,
        other @ (InstalledPlugin::Domain(_)
        | InstalledPlugin::Plan(_)
        | InstalledPlugin::Mjml(_)) => {
            panic!("no renderer: {other:?}")
        }
    }
}

#[tokio::test]
async fn the_component_passes_golden_liquid_but_for_the_known_failures() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/golden-liquid.json");
    let Ok(text) = std::fs::read_to_string(&suite) else {
        assert!(std::env::var_os("CI").is_none(), "CI needs {}", suite.display());
        say("!!! NOT RUN: golden-liquid.json is not in ../shared/data");
        return;
    };
    check("golden-liquid", &text, KNOWN.lines().collect()).await;
}

#[tokio::test]
async fn the_component_passes_liquid_spec_but_for_the_known_failures() {
    let known = KNOWN_OF_SPEC.lines().filter(|it| !it.is_empty() && !it.starts_with("== "));
    check("liquid-spec", SPEC, known.collect()).await;
}

async fn check(name: &str, suite: &str, known: BTreeSet<&str>) {
    let suite: Value = serde_json::from_str(suite).expect("the suite is JSON");
    let cases = suite["tests"].as_array().expect("the suite has tests");
    let now_unix_ms = suite["now"].as_u64().unwrap_or(0);
    let renderer = lenient_renderer().await;
    let mut failed = BTreeSet::new();
    for (revision, case) in cases.iter().enumerate() {
        if !passes(case, &run(&renderer.plugin, case, revision, now_unix_ms).await) {
            failed.insert(case["name"].as_str().unwrap_or_default());
        }
    }
    say(&format!("{name}: {} of {} in the component", cases.len() - failed.len(), cases.len()));
    assert_eq!(failed, known, "left: what fails; right: what is known to fail");
}

async fn run(
    renderer: &Renderer,
    case: &Value,
    revision: usize,
    now_unix_ms: u64,
) -> Result<String, String> {
    let partials = case["templates"].as_object().into_iter().flatten();
    let template = Template {
        slug: "golden".to_owned(),
        revision: 1,
        sources: vec![Source {
            part: Part::Text,
            text: case["template"].as_str().unwrap_or_default().to_owned(),
        }],
        partials: partials
            .map(|(key, value)| Pair {
                key: key.clone(),
                value: value.as_str().unwrap_or_default().to_owned(),
            })
            .collect(),
        layout: None,
    };
    let revision = u64::try_from(revision).expect("a small number");
    let key = VersionKey { template: TemplateId::new(NOW), revision, locale: 0 };
    let context = CallContext {
        call_id: "golden".to_owned(),
        now_unix_ms,
        locale: None,
        dry_run: false,
        extra: Vec::new(),
    };
    let data = if case["data"].is_null() { "{}".to_owned() } else { case["data"].to_string() };
    match renderer
        .render(ShareOwner::Operator, Some(key), || template.clone(), &context, &data)
        .await
    {
        Ok(Ok(output)) => Ok(output.bodies.into_iter().map(|body| body.text).collect()),
        Ok(Err(Failure::InvalidInput(faults) | Failure::Misconfigured(faults))) => {
            Err(error::list(&faults))
        }
        Ok(Err(Failure::Internal(text))) => Err(text),
        Err(failure) => Err(failure.to_string()),
    }
}

/// The engine runs these natively too: what depends on the width of a machine word, or on how the
/// component is built, differs nowhere else.
#[tokio::test]
async fn the_component_and_the_native_build_agree_on_our_own_golden_cases() {
    let suite: Value = serde_json::from_str(OWN).expect("the suite is JSON");
    let renderer = lenient_renderer().await;
    for (revision, case) in suite["tests"].as_array().expect("cases").iter().enumerate() {
        let got = run(&renderer.plugin, case, revision, 0).await;
        assert!(passes(case, &got), "{}: {got:?}", case["name"]);
    }
}

/// A case has one right result, or several, or must not render at all.
fn passes(case: &Value, got: &Result<String, String>) -> bool {
    match (case["result"].as_str(), case["results"].as_array(), got) {
        (Some(wanted), _, Ok(got)) => wanted == got,
        (None, Some(wanted), Ok(got)) => wanted.iter().any(|it| it == got),
        (None, None, Err(_)) => true,
        (_, _, _) => false,
    }
}
