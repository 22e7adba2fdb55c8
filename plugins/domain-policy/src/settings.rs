//! What an operator may write in `domain-policy.toml` under `settings`, and every fault in it.

use serde::Deserialize;
use waxwing_plugin::{Diagnostic, PluginSettings, fault_at};

/// JSON Schema (2020-12) of [`Settings`]; a test holds the two together.
pub const SCHEMA: &str = include_str!("settings.schema.json");

/// The whole of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// Advised, because SPF is looked up at the envelope sender, which is at the return path.
    pub spf: Weight,
    pub dmarc: Weight,
    pub return_path: ReturnPathWeight,
    /// The name below the sender domain that points to the server's return-path host.
    pub return_path_label: String,
    /// Where the return path points to if the host gives a name inside the sender domain.
    pub return_path_target: Option<String>,
}

/// Whether a domain may send without the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Weight {
    Required,
    Advised,
}

/// The same for the return path, which a server may do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReturnPathWeight {
    Required,
    Advised,
    Off,
}

impl PluginSettings for Settings {
    fn schema() -> String {
        SCHEMA.to_owned()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            spf: Weight::Advised,
            dmarc: Weight::Advised,
            return_path: ReturnPathWeight::Required,
            return_path_label: "bounce".to_owned(),
            return_path_target: None,
        }
    }
}

impl Settings {
    /// Every fault at once; empty if there is none.
    pub fn faults(&self) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        if !is_host_name(&self.return_path_label) {
            let message = format!(
                "`returnPathLabel` is `{}`: it must be letters, digits and hyphens, as in `bounce`",
                self.return_path_label
            );
            faults.push(fault_at("returnPathLabel", "label_invalid", message));
        }
        if let Some(target) = &self.return_path_target
            && !(is_host_name(target) && target.contains('.'))
        {
            let message = format!(
                "`returnPathTarget` is `{target}`: it must be a host name, as in `rp.example.com`"
            );
            faults.push(fault_at("returnPathTarget", "target_invalid", message));
        }
        faults
    }
}

/// RFC 1123 section 2.1, A-labels only.
fn is_host_name(name: &str) -> bool {
    let label = |it: &str| {
        (1..=63).contains(&it.len())
            && !it.starts_with('-')
            && !it.ends_with('-')
            && it.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests;
