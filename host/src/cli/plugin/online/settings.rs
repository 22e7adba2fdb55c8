//! `waxwing plugin settings`: what a slot's plugin is set to.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use reqwest::Method;
use serde_json::Value;

use super::slots::{is_on_its_way, line};
use super::{OnlineError, PATIENCE, POLL_INTERVAL, Server, read};
use crate::plugin::slot::SlotName;

/// Show or change the settings of the plugin in a slot
///
/// Settings that are given are all that the plugin has then. Its own schema validates them; they are written into the slot's
/// file, and take the way of every change of it.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  waxwing plugin settings plan-policy > settings.json
  waxwing plugin settings plan-policy --set settings.json")]
pub struct Settings {
    /// The slot
    slot: SlotName,
    /// Give it the settings of this file, in JSON or, where its name ends so, in TOML
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Show the JSON Schema of the settings instead
    #[arg(long, conflicts_with = "set")]
    schema: bool,
    #[command(flatten)]
    server: Server,
}

pub async fn settings(it: Settings) -> Result<(), OnlineError> {
    let (path, server) = (format!("/v1/plugins/{}/settings", it.slot), it.server.connect()?);
    if let Some(file) = &it.set {
        let given = parsed(file)?;
        let slot = format!("/v1/plugins/{}", it.slot);
        let before = server.get(&slot, &[]).await?;
        let body = ("application/json", given.to_string().into_bytes());
        let mut view = server.send(Method::PUT, &path, &[], body).await?;
        let start = Instant::now();
        // They are written into a file, and the slot turns to the file a moment later.
        while start.elapsed() < PATIENCE {
            let is_new = !view["candidate"].is_null() && view["candidate"] != before["candidate"];
            let is_live = server.get(&path, &[]).await?["settings"] == given;
            if is_live || (is_new && !is_on_its_way(&view)) {
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            view = server.get(&slot, &[]).await?;
        }
        it.server.output.one(&view, || line(&view));
        return Ok(());
    }
    let answer = server.get(&path, &[]).await?;
    let shown = &answer[if it.schema { "schema" } else { "settings" }];
    it.server.output.one(&answer, || format!("{shown:#}"));
    Ok(())
}

fn parsed(path: &Path) -> Result<Value, OnlineError> {
    let wrong = |reason: String| OnlineError::Settings { path: path.to_owned(), reason };
    let text = String::from_utf8(read(path)?).map_err(|error| wrong(error.to_string()))?;
    if path.extension().is_some_and(|it| it == "toml") {
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        return serde_json::to_value(table).map_err(|error| wrong(error.to_string()));
    }
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}
