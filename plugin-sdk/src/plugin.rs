//! What every kind of plugin has: a name, settings, a self-test.

use crate::{CallContext, Diagnostic, Failure, PluginSettings, Severity};
use waxwing_world_plan::exports::waxwing::plugin::plugin as wit;

pub use wit::{Manifest, SelfTestResult};

/// Every plugin. The kind's own trait has this one as its base.
///
/// Name, version and summary of the manifest are `name`, `version` and `description` of the
/// package's `Cargo.toml`.
pub trait Plugin: Sized + 'static {
    /// The settings of the slot's `.toml`, as JSON.
    type Settings: PluginSettings;

    /// JSON Schema (2020-12) of the settings; the host validates before `configure`.
    #[must_use]
    fn settings_schema() -> String {
        Self::Settings::schema()
    }

    /// Makes the plugin from its settings, once per instance.
    ///
    /// # Errors
    /// Every fault in the settings at once; the host shows them to the operator.
    fn configure(settings: Self::Settings) -> Result<Self, Vec<Diagnostic>>;

    /// Checks that run after `configure` and before traffic; every one must pass.
    fn self_test(&self, _ctx: &CallContext) -> Vec<SelfTestResult> {
        Vec::new()
    }
}

/// One fault that a person can fix, without a place: `code` is for programs, `message` for them.
#[must_use]
pub fn fault(code: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: code.to_owned(),
        message: message.into(),
        line: 0,
        column: 0,
        snippet: None,
        path: None,
        part: None,
    }
}

/// A [`fault`] at a place in the settings or in the data, e.g. `plans[1].price`.
#[must_use]
pub fn fault_at(path: impl Into<String>, code: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic { path: Some(path.into()), ..fault(code, message) }
}

/// A [`fault`] at a byte of a source text: it gets line, column, a snippet and the part, e.g. `html`.
#[must_use]
pub fn fault_in_source(
    (part, source): (&str, &str),
    at: usize,
    code: &str,
    message: impl Into<String>,
) -> Diagnostic {
    let at = source.floor_char_boundary(at);
    let (before, after) = source.split_at(at);
    let line_start = before.rsplit('\n').next().unwrap_or_default();
    let line_end = after.split('\n').next().unwrap_or_default();
    let lead: Vec<char> = line_start.chars().rev().take(SNIPPET_CHARACTERS).collect();
    let snippet: String =
        lead.into_iter().rev().chain(line_end.chars().take(SNIPPET_CHARACTERS)).collect();
    let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    Diagnostic {
        line: number(before.matches('\n').count() + 1),
        column: number(line_start.chars().count() + 1),
        snippet: Some(snippet.trim().to_owned()),
        part: Some(part.to_owned()),
        ..fault(code, message)
    }
}

/// Characters of a snippet on each side of its place.
const SNIPPET_CHARACTERS: usize = 60;

/// A [`Failure`] with one fault in what the sender wrote.
#[must_use]
pub fn invalid_input(code: &str, message: &str) -> Failure {
    Failure::InvalidInput(vec![fault(code, message)])
}

/// One result of [`Plugin::self_test`]; the error says what was expected and what came.
#[must_use]
pub fn self_check(name: &str, outcome: Result<(), String>) -> SelfTestResult {
    let passed = outcome.is_ok();
    SelfTestResult { name: name.to_owned(), passed, detail: outcome.err().unwrap_or_default() }
}
