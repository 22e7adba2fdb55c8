//! A slot of plugins on the pages of operators: how it is found, and what each node runs in it.

use crate::dashboard::response::{Failure, sentence};
use crate::dashboard::state::Dashboard;
use crate::plugin::slot::SlotName;
use crate::plugin::status::{NodeState, NodeStatus, SlotStatus};

/// Letters of a digest that tell one component from another.
const SHORT_DIGEST: usize = 12;

/// What one of several nodes runs in a slot.
#[derive(Debug)]
pub struct NodeLine {
    pub name: String,
    pub badge: (&'static str, &'static str),
    pub state: &'static str,
    pub digest: String,
    pub reason: Option<String>,
}

impl NodeLine {
    pub fn of(node: &NodeStatus) -> Self {
        let (state, badge) = match node.state {
            NodeState::Active => ("runs it", ("good", "✓")),
            NodeState::Ready => ("has loaded what comes next", ("good", "✓")),
            NodeState::Loading => ("loads what comes next", ("wait", "↻")),
            NodeState::Behind => ("runs something else", ("wait", "↻")),
            NodeState::Failed => ("cannot load it", ("bad", "✕")),
        };
        let here = if node.this { " (this page)" } else { "" };
        Self {
            name: format!("{}{here}", node.node),
            badge,
            state,
            digest: node.digest.as_deref().map_or_else(|| "built in".to_owned(), short),
            reason: node.reason.as_deref().map(sentence),
        }
    }
}

/// The slot of that name as all nodes know it now.
pub async fn find(dashboard: &Dashboard, slot: &str) -> Result<(SlotName, SlotStatus), Failure> {
    let name: SlotName = slot.parse().map_err(|_| Failure::Missing)?;
    dashboard.api.plugins.refresh().await;
    let view = dashboard.api.plugins.statuses().slot(&name).ok_or(Failure::Missing)?;
    Ok((name, view))
}

pub fn short(digest: &str) -> String {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    hex.chars().take(SHORT_DIGEST).collect()
}
