//! `waxwing nodes`: the servers that work with the database.

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::{say, text};
use crate::api::shapes;
use crate::nodes::SHARES;
use crate::store::{NodeState, is_rolling};

/// List the servers that work with the database, and for a day those that are gone.
#[derive(Debug, Args)]
pub struct Nodes {
    #[command(flatten)]
    target: Target,
}

pub async fn run(command: &Nodes) -> Result<(), CliError> {
    let opened = command.target.open().await?;
    let mut rows = opened.store.nodes().await?;
    if opened.store.has_file() && !opened.is_served {
        // The server of a file says only when it stops that it is gone, and one that was killed says nothing.
        for row in &mut rows {
            (row.state, row.shares) = (NodeState::Gone, 0);
        }
    }
    let is_rolling = is_rolling(&rows);
    let rows: Vec<Value> = rows.into_iter().map(|row| json!(shapes::Node::from(row))).collect();
    command.target.output.list(&rows, line);
    if is_rolling && !command.target.output.is_json() {
        say("a rolling upgrade is under way: nodes of several versions work beside each other");
    }
    Ok(())
}

fn line(node: &Value) -> String {
    let [name, id, state, version] = ["name", "id", "state", "version"].map(|it| text(node, it));
    let [since, seen, shares] = ["startedAt", "seenAt", "shares"].map(|it| text(node, it));
    let [leases, skew, schema] = ["leases", "clockSkewMs", "schema"].map(|it| text(node, it));
    format!(
        "{name}  {id}  {state}  {version} (schema {schema})  since {since}  seen {seen}  {shares} of {SHARES} shares  \
         {leases} in delivery  clock skew {skew} ms"
    )
}
