//! The golden-liquid conformance suite, with a list of known failures that may only shrink, and cases
//! of our own. The host makes the same cases to the component `liquid-renderer`: both have to agree on each.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::{Compiled, Part, Partial, RenderError, Source, Template, Undefined};

#[derive(serde::Deserialize)]
pub struct Suite {
    /// The time that `now` stands for.
    #[serde(default)]
    pub now: u64,
    pub tests: Vec<Case>,
}

#[derive(serde::Deserialize)]
pub struct Case {
    pub name: String,
    pub template: String,
    #[serde(default)]
    data: Option<serde_json::Value>,
    #[serde(default)]
    templates: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    results: Vec<String>,
}

#[test]
fn golden_liquid_passes_but_for_the_known_failures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suite: PathBuf = root.join("../../../shared/data/golden-liquid.json");
    let Ok(text) = std::fs::read_to_string(&suite) else {
        assert!(std::env::var_os("CI").is_none(), "CI needs {}", suite.display());
        say("!!! NOT RUN: golden-liquid.json is not in ../shared/data");
        return;
    };
    let suite: Suite = serde_json::from_str(&text).expect("the suite is JSON");
    let known = include_str!("../golden-known-failures.txt");
    let known: BTreeSet<&str> = known.lines().collect();
    suite.check("golden-liquid", &known);
}

impl Suite {
    /// Every case passes but for the known ones, and each of these fails.
    pub fn check(&self, name: &str, known: &BTreeSet<&str>) {
        let mut failed = BTreeSet::new();
        let mut report = String::new();
        for case in &self.tests {
            let got = run(case, self.now);
            if !passes(case, &got) {
                failed.insert(case.name.as_str());
                if !known.contains(case.name.as_str()) {
                    let Case { name, template, data, result, results, .. } = case;
                    put!(report, "{name}\n  template {template:?}\n  data     {data:?}\n");
                    put!(report, "  wanted   {result:?} {results:?}\n  got      {got:?}\n");
                }
            }
        }
        let (total, passed) = (self.tests.len(), self.tests.len() - failed.len());
        say(&format!("{name}: {passed} of {total} natively"));
        assert!(failed.is_subset(known), "new failures\n{report}");
        let fixed: Vec<_> = known.difference(&failed).collect();
        assert!(fixed.is_empty(), "these pass now: take them off the list: {fixed:#?}");
    }
}

#[test]
fn our_own_golden_cases_pass() {
    let suite: Suite =
        serde_json::from_str(include_str!("../golden-own.json")).expect("the suite is JSON");
    suite.check("our own cases", &BTreeSet::new());
}

/// Past the test's capture: a suite that did not run must be seen.
fn say(message: &str) {
    writeln!(std::io::stderr(), "{message}").expect("standard error is open");
}

fn passes(case: &Case, got: &Result<String, String>) -> bool {
    match (&case.result, got) {
        (Some(wanted), Ok(got)) => wanted == got,
        (Some(_), Err(_)) => false,
        (None, Ok(got)) => case.results.contains(got),
        (None, Err(_)) => case.results.is_empty(),
    }
}

fn run(case: &Case, now_unix_ms: u64) -> Result<String, String> {
    let partials = case.templates.iter().map(|(name, it)| Partial {
        name: name.clone(),
        text: it.as_str().unwrap_or_default().to_owned(),
    });
    let template = Template {
        sources: vec![Source { part: Part::Text, text: case.template.clone() }],
        partials: partials.collect(),
        layout: None,
    };
    let compiled = Compiled::new(&template, Undefined::Nil).map_err(|it| format!("{it:?}"))?;
    let data = case.data.as_ref().map_or_else(|| "{}".to_owned(), ToString::to_string);
    match compiled.render(now_unix_ms, &data) {
        Ok(it) => Ok(it.bodies[0].text.clone()),
        Err(RenderError::Data(it) | RenderError::Template(it)) => Err(format!("{it:?}")),
    }
}
