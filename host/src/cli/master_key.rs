//! `waxwing master-key`.

use std::path::Path;

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::{self, text};
use crate::clock::Timestamp;
use crate::plural::plural;
use crate::server::master_key::rotation::{self, Haste, KeyStatus, Resealed};

/// List and rotate the keys under which the server seals its secrets.
#[derive(Debug, Subcommand)]
pub enum MasterKeyCommand {
    /// List the keys, newest first, with how many values are sealed under each
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Make a new key and seal every secret again under it, also beside a running server; earlier keys stay until `drop`
    Rotate {
        #[command(flatten)]
        target: Target,
    },
    /// Seal again what an interrupted rotation has left
    Reseal {
        #[command(flatten)]
        target: Target,
    },
    /// Remove earlier keys that nothing needs: no value is sealed under them, and 30 days are over since they made return paths
    Drop {
        /// Do not wait 30 days: reports to mail from before the rotation are lost. All servers must be stopped
        #[arg(long)]
        now: bool,
        #[command(flatten)]
        target: Target,
    },
}

pub async fn run(command: MasterKeyCommand) -> Result<(), CliError> {
    match command {
        MasterKeyCommand::List { target } => {
            let opened = target.open().await?;
            let found = rotation::overview(opened.data(), &opened.store).await?;
            let keys: Vec<Value> = found.keys.iter().map(status).collect();
            target.output.list(&keys, line);
            if found.unreadable > 0 && !target.output.is_json() {
                output::say(unreadable(found.unreadable));
            }
        }
        MasterKeyCommand::Rotate { target } => {
            let opened = target.open().await?;
            let now = opened.clock.now();
            let done = rotation::rotate(opened.data(), &opened.store, now).await?;
            let others = rotation::other_nodes(opened.data(), &opened.store).await?;
            let mut answer = resealed(&done);
            answer["otherNodes"] = json!(others);
            target.output.one(&answer, || {
                let mut said =
                    format!("the key {} seals from now on; {}", done.key, counted(&done));
                if !others.is_empty() {
                    let path = opened.data().master_key_path();
                    said.push_str(&copies_for(&others, &path));
                }
                said
            });
        }
        MasterKeyCommand::Reseal { target } => {
            let opened = target.open().await?;
            let done = rotation::reseal(opened.data(), &opened.store).await?;
            target.output.one(&resealed(&done), || counted(&done));
        }
        MasterKeyCommand::Drop { now, target } => {
            let opened = target.open().await?;
            let haste = if now { Haste::AtOnce } else { Haste::WhenUnneeded };
            let when = (haste, opened.clock.now());
            let gone = rotation::drop_earlier(opened.data(), &opened.store, when).await?;
            target.output.one(&json!({"dropped": gone}), || removed(&gone));
        }
    }
    Ok(())
}

fn status(key: &KeyStatus) -> Value {
    json!({
        "id": key.name,
        "since": key.since.map(Timestamp::rfc3339),
        "values": key.values,
        "retiredAt": key.retired_at.map(Timestamp::rfc3339),
        "neededUntil": key.needed_until().map(Timestamp::rfc3339),
    })
}

fn line(key: &Value) -> String {
    let [id, values] = ["id", "values"].map(|it| text(key, it));
    let since = match key["since"].as_str() {
        Some(since) => format!("since {since}"),
        None => "from the first start".to_owned(),
    };
    let role = match key["neededUntil"].as_str() {
        None => "seals".to_owned(),
        Some(until) => format!("needed for return paths until {until}"),
    };
    format!("{id}  {since}  {values} sealed values  {role}")
}

fn resealed(done: &Resealed) -> Value {
    json!({"id": done.key, "resealed": done.values, "unreadable": done.unreadable})
}

fn counted(done: &Resealed) -> String {
    let (values, key) = (done.values, &done.key);
    let are = plural(values, "value is", "values are");
    let mut said = format!("{values} {are} sealed again under the key {key}");
    if done.unreadable > 0 {
        said.push('\n');
        said.push_str(&unreadable(done.unreadable));
    }
    said
}

fn copies_for(nodes: &[String], path: &Path) -> String {
    format!(
        "\ncopy {} to the other nodes of this database, unless they have that file in store.master_key_file: {}. Each takes \
         it by itself; until then it delivers nothing and answers 503 at /readyz",
        path.display(),
        nodes.join(", ")
    )
}

fn removed(gone: &[String]) -> String {
    if gone.is_empty() {
        "no key was removed: each is still needed; `waxwing master-key list` says for what"
            .to_owned()
    } else {
        format!(
            "removed: {}\na copy of the database from before an upgrade (waxwing.db.schema-…) that was sealed with them does \
             not open any more: going back needs a backup",
            gone.join(", ")
        )
    }
}

fn unreadable(count: u64) -> String {
    format!(
        "{count} {} with none of the keys and {} left as before: sealed under a key that is not in the file any more, \
         or altered in the database",
        plural(count, "value opens", "values open"),
        plural(count, "is", "are"),
    )
}
