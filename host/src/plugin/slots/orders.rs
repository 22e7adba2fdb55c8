//! What the operator asks the supervisor for, and why it may say no.

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::plugin::config::slot::{Activation, BadSlotConfig, SlotName};
use crate::plugin::promotion::error::LoadError;
use crate::plugin::runtime::error::ComponentError;

/// What the operator asks for.
#[derive(Debug)]
pub enum Order {
    /// A waiting candidate becomes live now. Otherwise the files are examined again: by the slot's rule if the slot was
    /// switched off, with the operator's approval if they were rejected or quarantined.
    Activate,
    /// The previous version comes back.
    RollBack,
    /// The slot's calls go to a broader plugin.
    Disable,
    /// The candidate gets that many live calls first.
    Shadow { calls: u32 },
    /// The plugin gets these settings and no others: they are written into the slot's file.
    Configure { settings: Map<String, Value> },
    /// What other nodes have changed until now is shown.
    Refresh,
    /// A component is put among the files.
    Install {
        component: bytes::Bytes,
        signature: Option<String>,
        /// By what rules it becomes live, if not by those of the slot's file.
        activation: Option<Activation>,
    },
}

/// An order, and where its answer goes.
#[derive(Debug)]
pub struct Command {
    /// Whom it is for.
    pub slot: SlotName,
    pub order: Order,
    /// The mark of the slot's status that whoever gives the order has seen; none where that does not count.
    pub seen: Option<String>,
    /// Where the answer goes.
    pub answer: oneshot::Sender<Result<(), OrderError>>,
}

/// Why an order is not carried out.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    #[error("there is no slot {0}; `waxwing plugin list` shows all")]
    Unknown(SlotName),
    /// No candidate waits or was rejected, nothing is quarantined, and the slot is on.
    #[error(
        "the slot {0} has nothing to activate: no candidate waits, was rejected or is quarantined, and the slot is not \
         switched off"
    )]
    NothingToActivate(SlotName),
    /// The slot has no active version of its own.
    #[error("the slot {0} has nothing to roll back: another plugin serves its calls")]
    NothingBefore(SlotName),
    /// Another slot has the binding of the previous version.
    #[error("the previous version cannot come back: {0}")]
    BindingTaken(Box<LoadError>),
    /// Nothing could be in the shadow.
    #[error(
        "the slot {0} has no waiting candidate to shadow; install one with `waxwing plugin install --shadow N`"
    )]
    NothingToShadow(SlotName),
    /// Nothing runs whose settings they could be.
    #[error("the slot {0} runs nothing that could have settings")]
    NothingToConfigure(SlotName),
    /// Whoever gave the order has seen another component, or other settings; or another node changed the slot at the same
    /// time.
    #[error("the slot {0} has changed since it was shown, and nothing was done; look at it again")]
    Changed(SlotName),
    #[error("settings of the slot {0} are being proven; look again when they are live or rejected")]
    SettingsBeingProven(SlotName),
    /// By the plugin's own schema.
    #[error(transparent)]
    Settings(ComponentError),
    /// The slot's file, as it is or as it would be.
    #[error(transparent)]
    File(#[from] BadSlotConfig),
    /// The file system says no, or the database that nodes share.
    #[error("the plugin cannot be written: {0}")]
    Write(std::io::Error),
    /// This node does not run yet what the others run.
    #[error(
        "this node has not loaded the versions of the slot {0} yet, or cannot; `waxwing plugin list` shows why. Try again \
         in a moment, or on another node"
    )]
    NotLoaded(SlotName),
    #[error("the server is shutting down")]
    ShuttingDown,
}
