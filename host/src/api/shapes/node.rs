//! Nodes.

use serde::Serialize;
use utoipa::ToSchema;

use super::page::{Listed, Page, PageDoc, WHOLE};
use crate::id::NodeId;
use crate::store::{self, NodeRow};

/// A server, from its start to its end.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// `nod_…`
    #[schema(value_type = String)]
    id: NodeId,
    /// From `[node] name`, or that of its machine.
    name: String,
    version: String,
    /// The newest migration that its version has. While version or schema differ among nodes that are not gone, an
    /// upgrade goes from one to the next.
    schema: i64,
    state: NodeState,
    #[schema(format = "date-time")]
    started_at: String,
    /// When it last said that it lives.
    #[schema(format = "date-time")]
    seen_at: String,
    /// Of 64: its part of the queue, of webhooks, and of the work that is done once.
    shares: i64,
    /// Messages whose delivery it has begun.
    leases: i64,
    /// Milliseconds that its clock is ahead of the database's.
    clock_skew_ms: i64,
}

/// How a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// It loads what it needs, and has no shares yet.
    Starting,
    /// It works.
    Live,
    /// Its master key is another one: it has given its shares away, and begins nothing until it has the right key.
    Keyless,
    /// It stops: it has given its shares away, and finishes what it has begun.
    Draining,
    /// It has not been seen for as long as it may be silent; the next node that looks takes its shares.
    Late,
    /// It has stopped, or was not seen for too long. It is listed for a day.
    Gone,
}

pub type NodeList = Page<Node>;

impl Listed for Node {
    const PAGE: PageDoc = PageDoc {
        name: "NodeList",
        about: "The servers that work with the database.",
        data: "By their start.",
        ..WHOLE
    };
}

impl From<NodeRow> for Node {
    fn from(row: NodeRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            version: row.version,
            schema: row.migration,
            state: row.state.into(),
            started_at: row.started_at.rfc3339(),
            seen_at: row.seen_at.rfc3339(),
            shares: row.shares,
            leases: row.leases,
            clock_skew_ms: row.skew_ms,
        }
    }
}

impl From<store::NodeState> for NodeState {
    fn from(state: store::NodeState) -> Self {
        match state {
            store::NodeState::Starting => Self::Starting,
            store::NodeState::Live => Self::Live,
            store::NodeState::Keyless => Self::Keyless,
            store::NodeState::Draining => Self::Draining,
            store::NodeState::Late => Self::Late,
            store::NodeState::Gone => Self::Gone,
        }
    }
}
