//! `waxwing plugin install` and `impact`: a component on its way into a slot of a running server.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use super::slots::{line, summary, text};
use super::{Connection, OnlineError, PATIENCE, POLL_INTERVAL, Server, WASM, read};
use crate::plugin::Artifact;
use crate::plugin::inspect::inspect;
use crate::plugin::slot::SlotName;

/// Put a component into a slot; it goes live once the server has validated it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing plugin install quiet_hours.wasm
  waxwing plugin install quiet_hours.wasm --shadow 1000 --impact ask
  waxwing plugin install pro.wasm --slot pro-prices      (pro-prices.toml says: [binding] plan = \"pro\")")]
pub struct Install {
    /// The component
    component: PathBuf,
    /// The slot [default: that of the built-in plugin of its kind]
    #[arg(long)]
    slot: Option<SlotName>,
    /// What to do where recorded calls would be answered otherwise: auto, ask, or so many may change
    #[arg(long, value_name = "auto|ask|N")]
    impact: Option<String>,
    /// Make that many live calls to it first, beside the plugin that is live
    #[arg(long, value_name = "CALLS")]
    shadow: Option<u32>,
    /// Its signature [default: the .sig file beside it, where there is one]
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
}

/// Show what a component would change of the recorded calls; nothing becomes live
#[derive(Debug, Args)]
#[command(after_help = "Example:
  waxwing plugin impact quiet_hours.wasm")]
pub struct Impact {
    /// The component
    component: PathBuf,
    /// The slot [default: that of the built-in plugin of its kind]
    #[arg(long)]
    slot: Option<SlotName>,
    /// Its signature [default: the .sig file beside it, where there is one]
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
}

/// Installs, and waits until the component is live, waits for the operator, or is refused.
pub async fn install(install: Install) -> Result<(), OnlineError> {
    let component = read(&install.component)?;
    let slot = slot(install.slot, &component)?;
    let mut query = signature(&install.component, install.signature.as_deref())?;
    query.extend(install.impact.clone().map(|impact| ("impact", impact)));
    query.extend(install.shadow.map(|calls| ("shadow", calls.to_string())));
    let server = install.server.connect()?;
    let start = Instant::now();
    let path = format!("/v1/plugins/{slot}/component");
    let digest = Artifact::new(component.clone()).digest().to_owned();
    server.send(Method::PUT, &path, &query, (WASM, component)).await?;
    let view = settled(&server, &slot, &digest).await?;
    let took = start.elapsed().as_millis();
    let outcome = outcome(&view, &digest);
    let answer =
        json!({"slot": slot, "digest": digest, "outcome": outcome, "millis": took, "state": view});
    install.server.output.one(&answer, || {
        let said = match outcome {
            "live" => format!("live after {took} ms"),
            "shadow" => format!("in the shadow of the live plugin; {}\n`waxwing plugin list` counts the differences, `waxwing plugin activate {slot}` makes it live now", after_the_shadow(install.impact.as_deref())),
            _ => {
                let why = view["candidate"]["waits"].as_str().unwrap_or("its slot is switched off");
                format!("waiting, because {why}: `waxwing plugin activate {slot}` makes it live all the same")
            }
        };
        format!("{said}\n{}", line(&view))
    });
    Ok(())
}

/// Asks for the impact and shows it.
pub async fn impact(impact: Impact) -> Result<(), OnlineError> {
    let component = read(&impact.component)?;
    let slot = slot(impact.slot, &component)?;
    let query = signature(&impact.component, impact.signature.as_deref())?;
    let path = format!("/v1/plugins/{slot}/impact");
    let answer =
        impact.server.connect()?.send(Method::POST, &path, &query, (WASM, component)).await?;
    impact.server.output.one(&answer, || summary(&answer));
    Ok(())
}

/// How long another component may be on its way before it is the newer one.
const SUPERSEDED: Duration = Duration::from_secs(10);

async fn settled(server: &Connection, slot: &SlotName, digest: &str) -> Result<Value, OnlineError> {
    let (start, mut other_since) = (Instant::now(), None);
    while start.elapsed() < PATIENCE {
        let view = server.get(&format!("/v1/plugins/{slot}"), &[]).await?;
        let candidate = &view["candidate"];
        if candidate["digest"] == digest {
            if let Some(reason) = candidate["rejected"].as_str() {
                let (stage, reason) = (text(candidate, "stage"), reason.to_owned());
                return Err(OnlineError::Rejected { stage, reason });
            }
            if matches!(candidate["stage"].as_str(), Some("shadow" | "waiting")) {
                return Ok(view);
            }
        } else if view["active"]["digest"] == digest && candidate.is_null() {
            return Ok(view);
        }
        // At first it may be the one that was there before.
        let other = candidate["digest"].as_str().is_some_and(|it| it != digest);
        let since = other_since.get_or_insert_with(Instant::now);
        if !other {
            other_since = None;
        } else if since.elapsed() > SUPERSEDED {
            return Err(OnlineError::Superseded);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(OnlineError::Slow { seconds: PATIENCE.as_secs() })
}

fn outcome(view: &Value, digest: &str) -> &'static str {
    match view["candidate"]["stage"].as_str() {
        Some("shadow") => "shadow",
        _ if view["active"]["digest"] == digest => "live",
        _ => "waiting",
    }
}

/// What happens once a candidate has had its calls.
fn after_the_shadow(impact: Option<&str>) -> String {
    match impact {
        Some("ask") => "after that it waits for you".to_owned(),
        Some(most) if most != "auto" => {
            format!(
                "after that it goes live by itself where at most {most} answers differ and none is served worse"
            )
        }
        Some(_) | None => {
            "after that it goes live by itself, unless a send is served worse or all \
                           answers differ"
                .to_owned()
        }
    }
}

fn slot(slot: Option<SlotName>, component: &[u8]) -> Result<SlotName, OnlineError> {
    match slot {
        Some(slot) => Ok(slot),
        None => Ok(inspect(component)?.kind.builtin_slot()),
    }
}

fn signature(
    component: &Path,
    given: Option<&Path>,
) -> Result<Vec<(&'static str, String)>, OnlineError> {
    let beside = component.with_extension("sig");
    let file = match given {
        Some(file) => file,
        None if beside.exists() => &beside,
        None => return Ok(Vec::new()),
    };
    let text = String::from_utf8_lossy(&read(file)?).trim().to_owned();
    Ok(vec![("signature", text)])
}
