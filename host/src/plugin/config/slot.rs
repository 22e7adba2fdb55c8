//! The configuration of a slot, from `<slot>.toml`: its kind, its binding, limits, activation rules and settings. A
//! slot runs one plugin at a time and is named after its files.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::binding::Binding;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::limits::{CallLimits, LimitOverrides};
use crate::plugin::runtime::pool::Instances;

/// The name of a slot: 1 to 64 of `a-z`, `0-9` and `-`, with no `-` at either end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SlotName(String);

/// The text is not a valid slot name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid slot name: use 1 to 64 of a-z, 0-9 and -, with no - at either end, such as \
     `plan-policy` or `pro-prices`"
)]
pub struct BadSlotName(String);

/// A parsed `<slot>.toml`. Every key has a default.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SlotConfig {
    /// If set, the component must be of this kind. Without `<slot>.wasm` the built-in plugin of the kind runs with
    /// these settings; only a slot with a built-in plugin's name does not need the key then.
    pub kind: Option<Kind>,
    pub on_failure: OnFailure,
    /// Fresh or warm instances, where the default for the kind does not fit.
    pub instances: Option<Instances>,
    /// Whose calls the slot answers; the whole server's by default.
    pub binding: Binding,
    /// Limits of a call that override the server's for the kind.
    pub limits: LimitOverrides,
    /// Checks of a new version before it becomes active.
    pub activation: Activation,
    /// Settings that the plugin itself reads.
    pub settings: toml::Table,
}

/// What happens to a send when the plugin fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The send is refused; nothing is charged.
    #[default]
    Closed,
    /// The built-in plugin of the kind decides. For plan policies.
    Builtin,
}

/// Checks of a new version before it becomes active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Activation {
    pub impact: ImpactRule,
    /// Calls that the new version answers in shadow first; 0 for none.
    pub shadow_calls: u32,
}

/// When a validated version becomes active without the operator. Under every rule it waits if a recorded call, a
/// shadow call or a published template would be served worse than now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImpactRule {
    /// However many answers change; but it waits if it refuses every recorded call that passes now, or if it answers
    /// every shadow call differently.
    #[default]
    Auto,
    /// The operator decides, with `waxwing plugin activate`.
    Ask,
    /// Up to that many changed answers, to recorded and shadow calls together; beyond it the operator decides.
    #[serde(untagged)]
    UpTo(u32),
}

/// Why `<slot>.toml` cannot be used: invalid TOML, with line and column, or every rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{slot}.toml is not valid: {message}")]
pub struct BadSlotConfig {
    pub slot: SlotName,
    /// What is wrong, and where.
    pub message: String,
}

impl SlotName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The kind whose built-in plugin has this name.
    #[must_use]
    pub fn builtin_kind(&self) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.builtin_slot() == *self)
    }
}

impl Kind {
    /// The slot that replaces the built-in plugin of the kind.
    #[must_use]
    pub fn builtin_slot(self) -> SlotName {
        let name = match self {
            Self::Renderer => "liquid-renderer",
            Self::Domain => "domain-policy",
            Self::Plan => "plan-policy",
            Self::Mjml => "mjml",
        };
        SlotName(name.to_owned())
    }
}

impl SlotConfig {
    /// Parses `<slot>.toml`.
    ///
    /// # Errors
    /// The text is not valid TOML for a slot, or it breaks a rule.
    pub fn parse(slot: &SlotName, text: &str) -> Result<Self, BadSlotConfig> {
        let wrong = |message| BadSlotConfig { slot: slot.clone(), message };
        // The line itself is not repeated: it may hold a secret.
        let config: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            wrong(format!("line {line}, column {column}: {}", error.message()))
        })?;
        let mut faults: Vec<String> =
            config.limits.broken_rules().iter().map(|rule| format!("limits.{rule}")).collect();
        if let (Some(kind), Some(builtin)) = (config.kind, slot.builtin_kind())
            && kind != builtin
        {
            faults.push(format!(
                "this slot replaces the built-in {builtin}, so its kind cannot be a {kind}; give the \
                 plugin a slot of another name"
            ));
        }
        match &config.binding {
            Binding::Plan(name) | Binding::Account(name) | Binding::Domain(name)
                if name.is_empty() =>
            {
                faults
                    .push("[binding] names nothing; leave it out for the whole server".to_owned());
            }
            Binding::Server | Binding::Plan(_) | Binding::Account(_) | Binding::Domain(_) => {}
        }
        if faults.is_empty() { Ok(config) } else { Err(wrong(faults.join("; "))) }
    }

    /// The plugin's settings as JSON.
    #[must_use]
    pub fn settings(&self) -> Value {
        to_json(toml::Value::Table(self.settings.clone()))
    }

    /// The limits of the slot over those of the server for the kind.
    #[must_use]
    pub fn limits(&self, server: CallLimits) -> CallLimits {
        self.limits.over(server)
    }
}

/// Dates, infinities and NaN have no JSON form: they become strings.
fn to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => serde_json::Number::from_f64(number)
            .map_or(Value::String(number.to_string()), Value::from),
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(moment) => Value::String(moment.to_string()),
        toml::Value::Array(items) => items.into_iter().map(to_json).collect(),
        toml::Value::Table(members) => {
            members.into_iter().map(|(name, member)| (name, to_json(member))).collect()
        }
    }
}

impl FromStr for SlotName {
    type Err = BadSlotName;

    fn from_str(text: &str) -> Result<Self, BadSlotName> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let inside = !text.starts_with('-') && !text.ends_with('-');
        let fits = (1..=64).contains(&text.len()) && text.chars().all(allowed) && inside;
        if fits { Ok(Self(text.to_owned())) } else { Err(BadSlotName(text.to_owned())) }
    }
}

impl<'de> Deserialize<'de> for SlotName {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::runtime::limits::Limits;

    fn read(text: &str) -> Result<SlotConfig, BadSlotConfig> {
        SlotConfig::parse(&"pro-prices".parse().expect("a name"), text)
    }

    #[test]
    fn the_files_that_documents_show_are_valid() {
        let plugins = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
        let examples = std::fs::read_dir(plugins.join("examples")).expect("a folder");
        let mut documents: Vec<_> =
            examples.map(|it| it.expect("an example").path().join("README.md")).collect();
        documents.push(plugins.join("README.md"));
        for document in documents {
            let text = std::fs::read_to_string(&document).expect("a document");
            let files: Vec<_> = text
                .split("```toml\n")
                .skip(1)
                .filter_map(|it| it.split("```").next().filter(|it| it.contains("kind = ")))
                .collect();
            assert_eq!(files.len(), 1, "{} shows one", document.display());
            let config = read(files[0]);
            assert!(config.is_ok_and(|it| it.kind.is_some()), "{}", document.display());
        }
    }

    #[test]
    fn a_file_says_kind_binding_limits_activation_and_settings() {
        let text = "kind = 'plan'\non_failure = 'builtin'\n[binding]\nplan = 'pro'\n\
                    [limits]\ncall_ms = 20\n[activation]\nimpact = 3\nshadow_calls = 100\n\
                    [settings]\nprice = 2\n";
        let config = read(text).expect("valid");
        assert_eq!(config.kind, Some(Kind::Plan));
        assert_eq!(config.binding, Binding::Plan("pro".to_owned()));
        assert_eq!(config.activation.impact, ImpactRule::UpTo(3));
        assert_eq!(config.settings()["price"], 2);
        let limits = config.limits(Limits::default().of(Kind::Plan));
        assert_eq!((limits.call_ms, limits.prepare_ms), (20, 50));
        assert_eq!(read("").expect("valid"), SlotConfig::default());
        let asks = read("[activation]\nimpact = 'ask'").expect("valid");
        assert_eq!(asks.activation.impact, ImpactRule::Ask);
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_line() {
        let error = read("\n[activation]\nshadow = 1\n").expect_err("an unknown key");
        let text = error.to_string();
        assert!(text.contains("pro-prices.toml") && text.contains("line 3"), "{text}");
        assert!(text.contains("shadow_calls"), "{text}");
        let error = read("[binding]\nplan = 'pro'\naccount = 'x'\n").expect_err("two bindings");
        assert!(error.to_string().contains("one of"), "{error}");
    }

    #[test]
    fn the_slot_of_a_built_in_plugin_is_of_its_kind() {
        let slot = Kind::Plan.builtin_slot();
        let error = SlotConfig::parse(&slot, "kind = 'renderer'\n").expect_err("another kind");
        assert!(error.to_string().contains("another name"), "{error}");
        assert!(SlotConfig::parse(&slot, "kind = 'plan'\n").is_ok());
    }

    #[test]
    fn faults_beyond_the_grammar_are_named_at_once() {
        let text =
            "kind = 'renderer'\n[binding]\nplan = ''\n[limits]\ncall_ms = 0\nmemory_bytes = 1\n";
        let error = SlotConfig::parse(&Kind::Plan.builtin_slot(), text).expect_err("four faults");
        let said = error.to_string();
        for words in
            ["limits.call_ms: 1 to 60000", "limits.memory_bytes: ", "another name", "names nothing"]
        {
            assert!(said.contains(words), "{words}: {said}");
        }
    }

    #[test]
    fn a_name_is_plain() {
        for bad in ["", "-", "x-", "../x", "Plan", "a b", &"a".repeat(65)] {
            assert!(bad.parse::<SlotName>().is_err(), "{bad}");
        }
    }
}
