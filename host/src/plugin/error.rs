//! How a plugin can fail: when it is loaded, and in a call.

use super::bindings::types::Diagnostic;

/// Why a component cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The machine or its limits do not allow the engine.
    #[error("the plugin engine cannot start: {0}")]
    Engine(wasmtime::Error),
    /// Not a component, or one that does not compile.
    #[error("not a WebAssembly component that can be compiled: {0}")]
    Compile(wasmtime::Error),
    /// It exports none of the three kinds.
    #[error(
        "the component exports no kind of plugin that this server knows (waxwing:plugin/renderer, \
         /domain-policy or /plan-policy, version 0.1); it exports: {exports}"
    )]
    NoKind {
        /// What it exports.
        exports: String,
    },
    /// It is of another kind than its slot.
    #[error("the component is a {found}, and this slot takes a {wanted}")]
    WrongKind {
        /// The kind of the slot.
        wanted: super::Kind,
        /// The kind of the component.
        found: super::Kind,
    },
    /// It asks for something that a plugin may not have.
    #[error(
        "the component imports {import}, and plugins have no files, sockets or clocks of their own; \
         build it without, or take what it needs from its call's context"
    )]
    ForbiddenImport {
        /// The interface.
        import: String,
    },
    /// Its types are not those of the interface.
    #[error("the component does not fit the interface: {0}")]
    Link(wasmtime::Error),
    /// Its settings are wrong.
    #[error("the plugin {name} refused its settings: {}", list(.faults))]
    Settings {
        /// The plugin.
        name: String,
        /// All faults.
        faults: Vec<Diagnostic>,
    },
    /// Its own test failed.
    #[error("the plugin {name} did not pass its own test {test}: {detail}")]
    SelfTest {
        /// The plugin.
        name: String,
        /// The test.
        test: String,
        /// What it says.
        detail: String,
    },
    /// It failed in a call while it was loaded.
    #[error(transparent)]
    Call(#[from] CallFailure),
}

/// A call that gave no answer. The plugin is to blame, or its limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFailure {
    /// It ran into a trap: a bug.
    #[error("the plugin {plugin} trapped in {call}: {detail}")]
    Trapped {
        /// The plugin.
        plugin: String,
        /// The exported function.
        call: &'static str,
        /// The trap, and what the plugin wrote last.
        detail: String,
    },
    /// It did not come back in time.
    #[error("the plugin {plugin} used up its time in {call}: {knob} is {limit_ms} ms")]
    Time {
        /// The plugin.
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
        /// The plugin.
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
        /// The plugin.
        plugin: String,
        /// The exported function.
        call: &'static str,
        /// The setting to raise.
        knob: &'static str,
        /// Its value, in bytes.
        limit: usize,
    },
    /// It said itself that it cannot decide.
    #[error("the plugin {plugin} gave up in {call}: {detail}")]
    GaveUp {
        /// The plugin.
        plugin: String,
        /// The exported function.
        call: &'static str,
        /// What it says.
        detail: String,
    },
    /// It answered something that the interface does not allow.
    #[error("the plugin {plugin} broke the interface in {call}: {detail}")]
    BrokenPromise {
        /// The plugin.
        plugin: String,
        /// The exported function.
        call: &'static str,
        /// What was wrong.
        detail: String,
    },
}

/// One line for a list of faults.
pub fn list(faults: &[Diagnostic]) -> String {
    let one = |fault: &Diagnostic| match (fault.line, fault.column) {
        (0, _) => fault.message.clone(),
        (line, column) => format!("{} (line {line}, column {column})", fault.message),
    };
    faults.iter().map(one).collect::<Vec<_>>().join("; ")
}
