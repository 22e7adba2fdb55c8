//! `waxwing plugin dev`: builds on each save, validates, and swaps into a local server.

mod source;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::build::project_in;
use super::error::ToolError;
use super::local_validation::{ToolHost, Tools, milliseconds};
use super::project::{artifact, kind};
use super::scaffold::project::Project;
use crate::cli::output;
use crate::plugin::files::Directory;
use crate::plugin::slot::{SlotConfig, SlotName};
use crate::plugin::validation::{UNOBSERVED, ValidationInput};
use source::Source;

/// Changes that come so soon after one another are one.
const SETTLES: Duration = Duration::from_millis(200);

/// Build a plugin project on every save, and swap it into a server on this machine
#[derive(Debug, Args)]
#[command(after_help = "Example, in two terminals:
  waxwing dev
  waxwing plugin dev quiet-hours --data-dir waxwing-data

On each save the project is built and checked, with its golden cases and under the settings of the
slot, and put into the server's plugins. The server validates it once more and swaps it in; `waxwing
plugin list` shows it. If the build or the check fails, the active version stays. Ctrl-C ends it;
the last good component stays.")]
pub struct Dev {
    /// The project's folder
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The data directory of the server [default: waxwing-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The server's directory of plugins, if it is not in its data directory
    #[arg(long, value_name = "DIR", conflicts_with = "data_dir")]
    plugins_dir: Option<PathBuf>,
    /// The slot it goes into [default: the project's name if there is a <name>.toml, with a
    /// [binding], else the slot of the built-in plugin of its kind]
    #[arg(long)]
    slot: Option<SlotName>,
    /// Build, check and swap in once, and end
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    tools: Tools,
}

/// A round that ended well: the component lies where the server finds it.
struct Installed {
    digest: String,
    file: PathBuf,
    is_new: bool,
    building: Duration,
    checking: Duration,
    /// What a server with the usual limits would say to it.
    warning: Option<String>,
}

/// What all rounds have in common.
struct Loop {
    host: ToolHost,
    dir: PathBuf,
    slot: SlotName,
    plugins: Directory,
}

/// Runs until Ctrl-C, or one round.
pub async fn run(dev: Dev) -> Result<(), ToolError> {
    let host = dev.tools.open()?;
    let project = Project::read(&dev.dir)?;
    let plugins = plugins_dir(&dev, &host)?;
    let plugins = Directory::open(&plugins).map_err(ToolError::write(&plugins))?;
    let slot = match dev.slot {
        Some(slot) => slot,
        None => usual_slot(&project, &plugins)?,
    };
    let rounds = Loop { host, dir: dev.dir, slot, plugins };
    let output = dev.tools.output;
    let say = |round: &Result<Installed, ToolError>| match round {
        Ok(placed) => output.one(&placed.to_json(), || placed.line()),
        Err(error) => output.one(&json!({"ok": false, "reason": error.to_string()}), || {
            format!("failed   {error}\n         the active version stays in service")
        }),
    };
    if dev.once {
        return match rounds.round().await {
            Ok(placed) => {
                say(&Ok(placed));
                Ok(())
            }
            Err(error) => {
                let reason = error.to_string();
                if output.is_json() {
                    say(&Err(error));
                }
                Err(ToolError::Round { reason })
            }
        };
    }
    let mut source = Source::watch(&rounds.dir, &project)?;
    if !output.is_json() {
        let (name, dir, slot) = (&project.name, rounds.dir.display(), &rounds.slot);
        output::say(format_args!(
            "{name} in {dir} goes into the slot {slot} on each save; Ctrl-C ends this"
        ));
    }
    let ended = tokio::signal::ctrl_c();
    tokio::pin!(ended);
    while !output::is_gone() {
        source.take();
        tokio::select! {
            _ = &mut ended => return Ok(()),
            round = rounds.round() => say(&round),
        }
        tokio::select! {
            _ = &mut ended => return Ok(()),
            () = source.changed(SETTLES) => {}
        }
    }
    Ok(())
}

/// The directory that the server on this machine looks at.
fn plugins_dir(dev: &Dev, host: &ToolHost) -> Result<PathBuf, ToolError> {
    let configured = &host.config.plugins.dir;
    if let Some(given) =
        dev.plugins_dir.as_ref().or(configured.as_ref().filter(|_| dev.data_dir.is_none()))
    {
        return Ok(given.clone());
    }
    let data_dir = dev.data_dir.as_ref().unwrap_or(&host.config.store.data_dir);
    if data_dir.is_dir() {
        Ok(data_dir.join("plugins"))
    } else {
        Err(ToolError::NoServer { data_dir: data_dir.clone() })
    }
}

/// A slot of its own needs a file that says whose calls come there; without one, a plugin can only
/// replace the built-in one.
fn usual_slot(project: &Project, plugins: &Directory) -> Result<SlotName, ToolError> {
    let own: SlotName = project.name.parse()?;
    let is_there = plugins.path().join(format!("{own}.toml")).exists();
    Ok(if is_there { own } else { kind(project.kind).builtin_slot() })
}

impl Loop {
    /// Builds, validates as the server will, and renames into place.
    async fn round(&self) -> Result<Installed, ToolError> {
        let begun = Instant::now();
        let project = Project::read(&self.dir)?;
        let cases = project.cases();
        let built = tokio::task::spawn_blocking(move || project_in(&project)).await??;
        let building = begun.elapsed();
        let component = artifact(&built.component, self.host.largest)?;
        let there = self.plugins.read(&self.slot, self.host.largest)?;
        let config = match &there.config {
            Some(text) => SlotConfig::parse(&self.slot, text)?,
            None => SlotConfig::default(),
        };
        let candidate = ValidationInput {
            slot: self.slot.clone(),
            component: Some(component.clone()),
            signature: None,
            config: Arc::new(config),
            settings_revision: 0,
        };
        let begun = Instant::now();
        let log = self.host.validator.log(&self.slot);
        self.host.validator.validate(&candidate, log, Some(&cases), UNOBSERVED).await?;
        let checking = begun.elapsed();
        let is_new = there.component.as_ref() != Some(&component);
        let file = self.plugins.path().join(format!("{}.wasm", self.slot));
        if is_new {
            let installed = self.plugins.install(&self.slot, component.bytes(), None);
            installed.map_err(ToolError::write(&file))?;
        }
        let warning = self.host.too_large(component.bytes().len() as u64);
        let digest = component.digest().to_owned();
        Ok(Installed { digest, file, is_new, building, checking, warning })
    }
}

impl Installed {
    fn line(&self) -> String {
        let (build, check) = (milliseconds(self.building), milliseconds(self.checking));
        let what = if self.is_new { "placed  " } else { "the same" };
        let file = self.file.display();
        let warning = self.warning.iter().fold(String::new(), |_, it| format!("\nwarning: {it}"));
        format!("{what} built in {build}, checked in {check}: {file}, {}{warning}", self.digest)
    }

    fn to_json(&self) -> Value {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        json!({
            "ok": true,
            "placed": self.is_new,
            "digest": self.digest,
            "file": self.file.display().to_string(),
            "buildMicroseconds": micros(self.building),
            "checkMicroseconds": micros(self.checking),
            "warning": self.warning,
        })
    }
}
