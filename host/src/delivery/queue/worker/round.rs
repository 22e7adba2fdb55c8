//! What one round of the worker has looked at and chosen.

use std::collections::HashMap;
use std::sync::Arc;

use crate::delivery::outcome::Report;
use crate::delivery::shaping::admission::Plan;
use crate::delivery::shaping::round_skips::{Bottleneck, RoundSkips};
use crate::id::MessageId;
use crate::nodes::Held;
use crate::store::records::{BackedOff, Lane, LaneStart};

/// What a round has decided so far, over all lanes.
#[derive(Default)]
pub struct Round {
    /// The shares that this node held when the round began.
    pub held: Arc<Held>,
    pub skips: RoundSkips,
    /// How each message is attempted, or what is settled without an attempt.
    pub chosen: HashMap<MessageId, Result<Plan, Report>>,
    /// Lanes without a due message, to be corrected in the store.
    pub empty: Vec<Lane>,
    pub backed_off: Vec<BackedOff>,
}

/// Lanes of one kind that a round has taken out, so that it reads each once; they are given back at
/// its end.
#[derive(Default)]
pub struct LaneTurns {
    /// Lanes that the round looks at next.
    pub batch: Vec<LaneStart>,
    /// Lanes that may have more due messages.
    pub kept: Vec<LaneStart>,
    /// Lanes without further due messages.
    pub exhausted: Vec<Lane>,
}

/// What the round has found in one lane.
pub enum LaneOutcome {
    /// No further message of the lane is due.
    Exhausted,
    /// Further messages of the lane may be due.
    More,
    Blocked(Bottleneck, LaneStart),
}
