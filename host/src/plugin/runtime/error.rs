//! How a plugin can fail: on its way from bytes to a generation, and in a call.

use super::bindings::types::Diagnostic;
use super::compiler::CompileError;
use super::inspect::InspectError;

/// Why a component does not become a generation.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// The machine or its limits do not allow the engine.
    #[error("the plugin engine cannot start: {0}")]
    Engine(wasmtime::Error),
    /// It is no component that this server takes.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// It was not compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Its types are not those of the interface.
    #[error("the component does not fit the interface: {0}")]
    Link(wasmtime::Error),
    /// What it says of itself cannot be used.
    #[error("the plugin's manifest cannot be used: {detail}")]
    Manifest { detail: BadManifest },
    /// Its schema is not one.
    #[error("the plugin {name} gives a settings schema that is not JSON Schema 2020-12: {detail}")]
    Schema { name: String, detail: String },
    /// Its settings are wrong.
    #[error("the plugin {name} refused its settings: {}", list(.faults))]
    Settings { name: String, faults: Vec<Diagnostic> },
    /// Its own test failed.
    #[error("the plugin {name} did not pass its own test {test}: {detail}")]
    SelfTest { name: String, test: String, detail: String },
    /// A newer file came while this one was validated.
    #[error("a newer file came")]
    Superseded,
    /// It failed in a call while it was loaded.
    #[error(transparent)]
    Call(#[from] CallFailure),
}

/// What a plugin must not say of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadManifest {
    #[error("its {field} has more than {most} characters")]
    TooLong { field: &'static str, most: usize },
    #[error("its {field} has control characters")]
    ControlCharacters { field: &'static str },
    #[error("its name or its version is empty")]
    Unnamed,
}

/// A call that gave no answer. The plugin is to blame, or its limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFailure {
    /// It ran into a trap: a bug.
    #[error("the plugin {plugin} trapped in {call}: {detail}{}", wrote(.words))]
    Trapped {
        plugin: String,
        /// The exported function.
        call: &'static str,
        detail: String,
        /// What the plugin wrote last: for the operator, and for nobody else.
        words: String,
    },
    /// It did not come back in time.
    #[error("the plugin {plugin} used up its time in {call}: {knob} is {limit_ms} ms")]
    Time {
        plugin: String,
        /// The exported function.
        call: &'static str,
        /// The setting to raise.
        knob: &'static str,
        /// Its value, in milliseconds.
        limit_ms: u128,
    },
    /// It wanted more memory than it may have.
    #[error("the plugin {plugin} used up its memory in {call}: {knob} is {limit} bytes")]
    Memory {
        plugin: String,
        /// The exported function.
        call: &'static str,
        /// The setting to raise.
        knob: &'static str,
        /// Its value, in bytes.
        limit: usize,
    },
    /// It answered more than it may.
    #[error("the plugin {plugin} answered too much in {call}: {knob} is {limit} bytes")]
    Output {
        plugin: String,
        /// The exported function.
        call: &'static str,
        /// The setting to raise.
        knob: &'static str,
        /// Its value, in bytes.
        limit: usize,
    },
    /// Two generations trapped on this input, so it is not given to a plugin again.
    #[error(
        "{input} is in quarantine, because two generations of the plugin trapped on it: {detail}; \
         change it, or replace the plugin"
    )]
    InputQuarantined {
        input: String,
        /// How the plugin trapped.
        detail: String,
    },
    /// The plugin reported that it cannot decide.
    #[error("the plugin {plugin} gave up in {call}: {detail}")]
    GaveUp {
        plugin: String,
        /// The exported function.
        call: &'static str,
        detail: String,
    },
    /// It answered something that the interface does not allow.
    #[error("the plugin {plugin} broke the interface in {call}: {detail}")]
    BrokenPromise {
        plugin: String,
        /// The exported function.
        call: &'static str,
        /// What was wrong.
        detail: String,
    },
}

impl CallFailure {
    /// What a client may know of it: neither what the plugin wrote, which may be of another client's
    /// call, nor settings and their values, which are for the operator. The log and the decision record
    /// have both. A limit that the data of a send used up is the refusal `too_much_work`.
    #[must_use]
    pub fn for_client(&self) -> String {
        match self {
            Self::Trapped { plugin, call, detail, words: _ } => {
                format!("the plugin {plugin} trapped in {call}: {detail}")
            }
            Self::InputQuarantined { input, detail: _ } => {
                format!(
                    "{input} is in quarantine, because two generations of the plugin trapped on it"
                )
            }
            Self::Time { plugin, call, .. } => {
                format!("the plugin {plugin} used up its time in {call}")
            }
            Self::Memory { plugin, call, .. } => {
                format!("the plugin {plugin} used up its memory in {call}")
            }
            Self::Output { plugin, call, .. } => {
                format!("the plugin {plugin} answered too much in {call}")
            }
            Self::GaveUp { plugin, call, detail: _ } => {
                format!("the plugin {plugin} gave up in {call}")
            }
            Self::BrokenPromise { plugin, call, detail: _ } => {
                format!("the plugin {plugin} broke the interface in {call}")
            }
        }
    }

    /// The limit that it came to, with its value: `plugins.limits.renderer.call_ms is 100 ms`.
    #[must_use]
    pub fn limit(&self) -> Option<String> {
        match self {
            Self::Time { knob, limit_ms, .. } => Some(format!("{knob} is {limit_ms} ms")),
            Self::Memory { knob, limit, .. } | Self::Output { knob, limit, .. } => {
                Some(format!("{knob} is {limit} bytes"))
            }
            Self::Trapped { .. }
            | Self::InputQuarantined { .. }
            | Self::GaveUp { .. }
            | Self::BrokenPromise { .. } => None,
        }
    }

    /// Whether it came to a limit in that exported function.
    #[must_use]
    pub fn is_limit_of(&self, function: &str) -> bool {
        match self {
            Self::Time { call, .. } | Self::Memory { call, .. } | Self::Output { call, .. } => {
                *call == function
            }
            Self::Trapped { .. }
            | Self::InputQuarantined { .. }
            | Self::GaveUp { .. }
            | Self::BrokenPromise { .. } => false,
        }
    }

    /// Whether the plugin broke, rather than declined: such failures count for its rollback.
    #[must_use]
    pub fn is_trap(&self) -> bool {
        match self {
            Self::Trapped { .. }
            | Self::Time { .. }
            | Self::Memory { .. }
            | Self::Output { .. }
            | Self::BrokenPromise { .. } => true,
            Self::GaveUp { .. } | Self::InputQuarantined { .. } => false,
        }
    }
}

fn wrote(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; it wrote: {words}") }
}

/// One line for a list of faults.
pub fn list(faults: &[Diagnostic]) -> String {
    let one = |fault: &Diagnostic| {
        let at = match (fault.line, fault.column) {
            (0, _) => String::new(),
            (line, column) => format!(" (line {line}, column {column})"),
        };
        match &fault.part {
            Some(part) => format!("{part}: {}{at}", fault.message),
            None => format!("{}{at}", fault.message),
        }
    };
    faults.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_learns_no_setting_and_no_word_of_the_plugin() {
        let (plugin, call) = ("prices".to_owned(), "check");
        let knob = "plugins.limits.plan.call_ms";
        let words = "secret".to_owned();
        let failures = [
            CallFailure::Time { plugin: plugin.clone(), call, knob, limit_ms: 10 },
            CallFailure::Memory { plugin: plugin.clone(), call, knob, limit: 10 },
            CallFailure::Output { plugin: plugin.clone(), call, knob, limit: 10 },
            CallFailure::GaveUp { plugin: plugin.clone(), call, detail: words.clone() },
            CallFailure::BrokenPromise { plugin: plugin.clone(), call, detail: words.clone() },
            CallFailure::Trapped { plugin, call, detail: "unreachable".to_owned(), words },
        ];
        for failure in failures {
            let text = failure.for_client();
            assert!(text.contains("prices") && text.contains("check"), "{text}");
            assert!(!text.contains(knob) && !text.contains("secret"), "{text}");
            let log = failure.to_string();
            assert!(log.contains(knob) || log.contains("secret"), "for the operator: {log}");
        }
    }
}
