//! Calls as JSON: an input of a golden case to the call, the plugin's answer back to JSON.
//!
//! Names are in camel case, as in the host's own form. Every member of an input may be left out; one
//! that is not known is a fault.

mod domain;
mod mjml;
mod plan;
mod renderer;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::configured;
use crate::{CallContext, Diagnostic, Failure, Pair, Plugin, Severity};

pub use domain::domain;
pub use mjml::mjml;
pub use plan::plan;
pub use renderer::renderer;

/// What the inputs of all kinds have.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Common {
    call_id: String,
    now_unix_ms: u64,
    locale: Option<String>,
    dry_run: bool,
    extra: Pairs,
    settings: Map<String, Value>,
}

/// An input in its two halves.
struct Input<K> {
    ctx: CallContext,
    settings: String,
    kind: K,
}

impl<K: DeserializeOwned> Input<K> {
    fn parse(text: &str) -> Result<Self, String> {
        let mut members: Map<String, Value> = parse(text)?;
        let mut common = Map::new();
        for name in ["callId", "nowUnixMs", "locale", "dryRun", "extra", "settings"] {
            common.extend(members.remove(name).map(|it| (name.to_owned(), it)));
        }
        let common: Common = parse(&Value::Object(common).to_string())?;
        let kind = parse(&Value::Object(members).to_string())?;
        let ctx = CallContext {
            call_id: common.call_id,
            now_unix_ms: common.now_unix_ms,
            locale: common.locale,
            dry_run: common.dry_run,
            extra: common.extra.0,
        };
        Ok(Self { ctx, settings: Value::Object(common.settings).to_string(), kind })
    }

    /// The plugin's answer; settings that it refuses are its failure `misconfigured`.
    fn answer<P: Plugin>(
        self,
        call: impl FnOnce(&P, &CallContext, K) -> Result<Value, Failure>,
    ) -> String {
        let answer = configured::<P>(&self.settings)
            .map_err(Failure::Misconfigured)
            .and_then(|plugin| call(&plugin, &self.ctx, self.kind));
        answer.unwrap_or_else(|it| json!({ "failure": failure(it) })).to_string()
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut parser = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut parser).map_err(|it| {
        match it.path().to_string().as_str() {
            "." => it.inner().to_string(),
            path => format!("{path}: {}", it.inner()),
        }
    })
}

/// An object whose members are strings.
#[derive(Debug, Default)]
struct Pairs(Vec<Pair>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(parser: D) -> Result<Self, D::Error> {
        let members = Map::deserialize(parser)?.into_iter().map(|(key, value)| match value {
            Value::String(value) => Ok(Pair { key, value }),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => {
                Err(D::Error::custom(format_args!("the value of `{key}` must be a string")))
            }
        });
        members.collect::<Result<_, _>>().map(Self)
    }
}

fn failure(it: Failure) -> Value {
    match it {
        Failure::InvalidInput(faults) => json!({ "invalidInput": diagnostics(faults) }),
        Failure::Misconfigured(faults) => json!({ "misconfigured": diagnostics(faults) }),
        Failure::Internal(text) => json!({ "internal": text }),
    }
}

fn diagnostics(faults: Vec<Diagnostic>) -> Vec<Value> {
    let severity = |it: Severity| match it {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let one = |it: Diagnostic| {
        json!({
            "severity": severity(it.severity), "code": it.code, "message": it.message,
            "line": it.line, "column": it.column,
            "snippet": it.snippet, "path": it.path, "part": it.part,
        })
    };
    faults.into_iter().map(one).collect()
}
