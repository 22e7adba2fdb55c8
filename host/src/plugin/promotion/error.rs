//! Why a component is rejected for its slot.

use super::evidence::EvidenceError;
use crate::plugin::config::binding::Binding;
use crate::plugin::config::slot::{BadSlotConfig, SlotName};
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
    #[error("{0}")]
    File(String),
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
