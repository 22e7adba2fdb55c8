//! How PostgreSQL runs the statements that find and lease messages.

use std::io;

use serde_json::{Value, json};

use super::{DUE, LANES, LEASE, MAX_LANES, MAX_LEASES, NOW};
use crate::postgres::{Database, filled};

/// The lanes, and the messages, of a lease.
const STARTS: &str = "
    SELECT json_agg(json_build_array(lane, encode(account_id, 'hex'), 0, repeat('0', 32)))
    FROM (SELECT * FROM ({lanes}) AS page LIMIT {lanes_of_a_claim}) AS of_a_claim";
const IDS: &str = "SELECT array_agg(message_id) FROM ({due}) AS due";

/// Runs each statement once with its plan and its time; what the lease writes is undone.
pub async fn explain(database: &Database) -> io::Result<Value> {
    let lanes = filled(LANES, &[("now", NOW), ("own", "")]);
    let most = MAX_LANES.to_string();
    let values = [("lanes", lanes.trim_end()), ("lanes_of_a_claim", most.as_str())];
    let starts = filled(STARTS, &values);
    let starts = format!("'{}'", database.ask(&starts).await?.replace('\'', "''"));
    let each = (MAX_LEASES / MAX_LANES).to_string();
    let due = filled(DUE, &[("starts", starts.as_str()), ("now", NOW), ("each", each.as_str())]);
    let ids = database.ask(&filled(IDS, &[("due", due.trim_end())])).await?;
    let ids = format!("CAST('{ids}' AS BYTEA[])");
    let lease = filled(LEASE, &[("owner", "'plan'"), ("ids", ids.as_str()), ("now", NOW)]);
    let mut plans = json!({});
    for (name, statement) in [("lanes", lanes), ("due", due), ("lease", lease)] {
        let statement = statement.trim_end();
        let explained =
            format!("BEGIN; EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}; ROLLBACK");
        let plan = database.ask_json(&explained).await?;
        plans[name] = summary(&plan[0]);
    }
    Ok(plans)
}

/// The steps of a plan from its top, each with its index, and what it took.
fn summary(explained: &Value) -> Value {
    let mut steps = Vec::new();
    collect(&explained["Plan"], &mut steps);
    json!({
        "millis": explained["Execution Time"],
        "buffersHit": explained["Plan"]["Shared Hit Blocks"],
        "buffersRead": explained["Plan"]["Shared Read Blocks"],
        "steps": steps,
    })
}

fn collect(plan: &Value, steps: &mut Vec<String>) {
    let text = |name: &str| plan[name].as_str();
    let on = text("Index Name").or_else(|| text("Relation Name"));
    let step = text("Node Type").unwrap_or_default();
    steps.push(on.map_or_else(|| step.to_owned(), |on| format!("{step} on {on}")));
    for below in plan["Plans"].as_array().into_iter().flatten() {
        collect(below, steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_step_by_step_with_its_indexes() {
        let explained = json!({
            "Execution Time": 1.5,
            "Plan": {
                "Node Type": "Limit",
                "Shared Hit Blocks": 7,
                "Shared Read Blocks": 0,
                "Plans": [{"Node Type": "Index Scan", "Index Name": "queue_of_lane", "Relation Name": "queue"}],
            },
        });
        let told = summary(&explained);
        assert_eq!(told["steps"], json!(["Limit", "Index Scan on queue_of_lane"]));
        assert_eq!((&told["millis"], &told["buffersHit"]), (&json!(1.5), &json!(7)));
    }
}
