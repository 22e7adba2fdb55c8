//! The real components under the host's limits, and components that no host should run.

mod golden;
mod hostile;
mod policies;

use super::*;
use crate::clock::Timestamp;
use crate::id::TemplateId;
use crate::plugin::renderer::{Body, Part, RenderFailure, Source, Template, VersionKey};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// Compiled code of all tests of this build, so that each component is compiled once.
fn cache() -> std::path::PathBuf {
    let executable = std::env::current_exe().expect("a test has a file");
    executable.parent().expect("it is in a folder").join("compiled-plugins-for-tests")
}

async fn plugins(limits: Limits) -> Plugins {
    let clock = Clock::manual(NOW);
    Plugins::start(limits, &cache(), b"tests", clock).await.expect("the built-ins start")
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

async fn render(plugins: &Plugins, text: &str, data: &str) -> Result<Vec<Body>, RenderFailure> {
    let key = VersionKey { template: TemplateId::new(NOW), revision: 1 };
    let context = plugins.context("test".to_owned());
    let (renderer, data) = (plugins.renderer(), data.to_owned());
    let result = renderer.render(key, || text_template(text), &context, &data).await;
    result.map(|(output, _)| output.bodies)
}

/// What every hostile test ends with: the next good call is right.
async fn still_renders(plugins: &Plugins) {
    let bodies = render(plugins, "Dear {{ name }}", r#"{"name":"Ada"}"#).await.expect("renders");
    let texts: Vec<&str> = bodies.iter().map(|body| body.text.as_str()).collect();
    assert_eq!(texts, ["Hi Ada", "Dear Ada"]);
}
