//! `waxwing nodes`: the servers that work with the database.

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::text;
use crate::api::shapes;
use crate::nodes::SHARES;
use crate::store::NodeState;

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
    let rows: Vec<Value> = rows.into_iter().map(|row| json!(shapes::Node::from(row))).collect();
    command.target.output.list(&rows, line);
    Ok(())
}

fn line(node: &Value) -> String {
    let [name, id, state, version] = ["name", "id", "state", "version"].map(|it| text(node, it));
    let [since, seen, shares] = ["startedAt", "seenAt", "shares"].map(|it| text(node, it));
    let [leases, skew] = ["leases", "clockSkewMs"].map(|it| text(node, it));
    format!(
        "{name}  {id}  {state}  {version}  since {since}  seen {seen}  {shares} of {SHARES} shares  \
         {leases} in delivery  clock {skew} ms ahead"
    )
}
