//! `waxwing plugin`: the operator's loop, from a new project to a policy that is live.

mod bench;
mod build;
mod check;
mod dev;
mod error;
mod inspect;
mod local_validation;
mod new;
mod online;
mod project;
mod record;
mod record_error;
mod scaffold;
mod sign;
mod test;

use clap::Subcommand;

pub use error::PluginCommandError;
pub use online::{Connection, OnlineError, Server as OnlineServer};

use online::{decisions, install, settings, slots};

/// Create, validate, install and monitor plugins.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Make a project for a plugin, in Rust, JavaScript or Python
    New(new::New),
    /// Build the component of a project
    Build(build::Build),
    /// Take a component through all that a server asks of it, by the server's own code
    Check(check::Check),
    /// Run the golden cases of a project, and update them
    Test(test::Test),
    /// Record what DNS has of a real domain, as a golden case of a domain policy
    Record(record::Record),
    /// Measure what calls cost: cold, warm, p50, p99, memory, the distance to each limit
    Bench(bench::Bench),
    /// Show what a component is: kind, manifest, imports, exports, sections, digest
    Inspect(inspect::Inspect),
    /// Make a key that signs components
    Keygen(sign::Keygen),
    /// Sign a component
    Sign(sign::Sign),
    /// Check the signature of a component
    Verify(sign::Verify),
    /// Build a project on each save and swap it into a server on this machine
    Dev(dev::Dev),
    /// Put a component into a slot of a running server; it goes live once it is validated
    Install(install::Install),
    /// List the slots: the active version, the candidate, and why one was rejected
    List(slots::List),
    /// Show what the plugins of a slot logged last
    Logs(slots::Logs),
    /// Show what a component would change of the recorded calls; nothing becomes live
    Impact(install::Impact),
    /// Make the next live calls to the component that waits too, and count the differences
    Shadow(slots::Shadow),
    /// Make the component that waits live; forgive one in quarantine; switch a slot on again
    Activate(slots::Slot),
    /// Roll back to the previous version; the active one goes into quarantine
    Rollback(slots::Slot),
    /// Switch a slot off: its calls go to a broader plugin
    Disable(slots::Slot),
    /// Show or change the settings of the plugin in a slot
    Settings(settings::Settings),
    /// Make the recorded calls of a decision again
    Replay(decisions::Replay),
    /// List the decisions of plugins, each with its plugin, answer, reason and duration
    Decisions(decisions::Decisions),
}

pub async fn run(command: PluginCommand) -> Result<(), PluginCommandError> {
    match command {
        PluginCommand::New(it) => Ok(new::run(it)?),
        PluginCommand::Build(it) => Ok(build::run(&it)?),
        PluginCommand::Check(it) => Ok(Box::pin(check::run(it)).await?),
        PluginCommand::Test(it) => Ok(Box::pin(test::run(it)).await?),
        PluginCommand::Record(it) => Ok(Box::pin(record::run(it)).await?),
        PluginCommand::Bench(it) => Ok(Box::pin(bench::run(it)).await?),
        PluginCommand::Inspect(it) => Ok(Box::pin(inspect::run(it)).await?),
        PluginCommand::Keygen(it) => Ok(sign::keygen(&it)?),
        PluginCommand::Sign(it) => Ok(sign::sign(&it)?),
        PluginCommand::Verify(it) => Ok(sign::verify_command(&it)?),
        PluginCommand::Dev(it) => Ok(Box::pin(dev::run(it)).await?),
        PluginCommand::Install(it) => Ok(install::install(it).await?),
        PluginCommand::List(it) => Ok(slots::list(it).await?),
        PluginCommand::Logs(it) => Ok(slots::logs(it).await?),
        PluginCommand::Impact(it) => Ok(install::impact(it).await?),
        PluginCommand::Shadow(it) => Ok(slots::shadow(it).await?),
        PluginCommand::Activate(it) => Ok(slots::ordered("activate", it).await?),
        PluginCommand::Rollback(it) => Ok(slots::ordered("rollback", it).await?),
        PluginCommand::Disable(it) => Ok(slots::ordered("disable", it).await?),
        PluginCommand::Settings(it) => Ok(settings::settings(it).await?),
        PluginCommand::Replay(it) => Ok(decisions::replay(it).await?),
        PluginCommand::Decisions(it) => Ok(decisions::decisions(it).await?),
    }
}
