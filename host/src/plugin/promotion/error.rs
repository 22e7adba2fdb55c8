//! Why a component is rejected for its slot.

use std::io;
use std::path::PathBuf;

use tokio::task::JoinError;

use super::evidence::EvidenceError;
use crate::plugin::config::binding::Binding;
use crate::plugin::config::slot::{BadSlotConfig, SlotName};
use crate::plugin::records::RecordError;
use crate::plugin::runtime::error::ComponentError;
use crate::plugin::runtime::inspect::InspectError;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::signature::SignatureError;

/// Why a component cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be used in any slot.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// It cannot be read, or is larger than it may be.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What the slot ran before is not in its directory any more.
    #[error("its bytes are lost or were changed on disk")]
    Lost,
    /// Only settings, and for no plugin.
    #[error(
        "there is no {slot}.wasm, and {slot}.toml names no kind: say kind = \"plan\", \"domain\" or \
         \"renderer\" to use the built-in plugin with these settings"
    )]
    NoKind { slot: SlotName },
    /// A golden case of the operator's is not what it must be.
    #[error("{} cannot be used: {fault}", path.display())]
    CaseFile { path: PathBuf, fault: CaseFault },
    /// A defect: a task of this server ended by a panic.
    #[error("{0}")]
    Panicked(#[from] JoinError),
    /// Its signature is missing or wrong.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// Its slot's file is wrong.
    #[error(transparent)]
    Config(#[from] BadSlotConfig),
    /// It is of another kind than its slot.
    #[error("the component is a {found}, and this slot takes a {wanted}")]
    WrongKind {
        /// The kind of the slot.
        wanted: Kind,
        /// The kind of the component.
        found: Kind,
    },
    /// One of the operator's golden cases, or of the host's own.
    #[error("the plugin {name} did not pass {case}: {detail}")]
    Case { name: String, case: String, detail: String },
    /// It was declared stateless, and is not.
    #[error(
        "the plugin {name} keeps state: after other calls it answers {case} otherwise than a fresh \
         instance ({detail}); take `instances = \"stateless\"` out of its slot's file, or fix the plugin"
    )]
    KeepsState { name: String, case: String, detail: String },
    /// A slot with such a binding is there already.
    #[error(
        "the slot {other} answers the calls of {binding} for this kind already; give this one a \
         narrower [binding] in its .toml, or remove the other"
    )]
    Taken {
        other: SlotName,
        /// The binding of both.
        binding: Binding,
    },
    /// It was rolled back before.
    #[error(
        "this component was rolled back and is in quarantine ({reason}); `waxwing plugin activate \
         {slot}` lets it run again, or install a fixed one"
    )]
    Quarantined {
        slot: SlotName,
        /// Why it was rolled back.
        reason: String,
    },
    /// What it would change is not known.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// Why a slot's files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system says no.
    #[error("{path} cannot be read: {source}")]
    Io { path: PathBuf, source: io::Error },
    /// It is larger than it may be.
    #[error(
        "{path} is too large: plugins.max_component_bytes is {limit}; raise it if the component must \
         be so large (Python's are about 18 MB and need 33554432)"
    )]
    TooLarge {
        path: PathBuf,
        /// What it may have.
        limit: u64,
    },
}

/// What is wrong with a golden case, or with the folder of all of them.
#[derive(Debug, thiserror::Error)]
pub enum CaseFault {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Call(#[from] RecordError),
    #[error("it is not there")]
    Missing,
    #[error("it has more than {max} cases")]
    TooMany { max: usize },
}

impl From<InspectError> for LoadError {
    fn from(error: InspectError) -> Self {
        Self::Component(error.into())
    }
}

impl LoadError {
    /// A newer file came while this one was validated.
    pub(in crate::plugin) fn superseded() -> Self {
        Self::Component(ComponentError::Superseded)
    }
}
