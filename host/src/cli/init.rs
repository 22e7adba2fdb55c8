//! `waxwing init`: from an empty machine to a configuration, and to the DNS records that the host needs.

mod answers;
mod configuration;
mod questions;
mod report;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::output::Output;
use crate::clock::Clock;
use crate::config::{Config, Log, LogFilter, LogFormat};
use crate::server;
use crate::server::directory;
use crate::server::host_records::{self, Standing};
use crate::server::resolvers::resolver;
use crate::telemetry;
use answers::{Answers, Flags};
use questions::Questions;

/// Write a configuration for this machine, and print the DNS records that it needs as a zone file
#[derive(Debug, Args)]
#[command(after_help = "At a terminal the command asks for what is missing. For scripts:
  waxwing init --hostname mail.example.net --email ops@example.net --route direct --agree-to-terms
When the records are published:
  waxwing init --check")]
pub struct Init {
    /// The file to write; with --check the one to read
    #[arg(long, default_value = "/etc/waxwing/waxwing.toml")]
    config: PathBuf,
    #[command(flatten)]
    flags: Flags,
    /// Replace the file that is there
    #[arg(long)]
    force: bool,
    /// Ask nothing, also at a terminal
    #[arg(long)]
    yes: bool,
    /// Write nothing: look the records of the configuration up in DNS, and say what is missing
    #[arg(long, conflicts_with_all = [
        "hostname", "email", "route", "smarthost", "smarthost_user", "smarthost_password_file", "data_dir",
        "nameservers", "agree_to_terms", "force",
    ])]
    check: bool,
    #[command(flatten)]
    output: Output,
}

/// Writes the configuration, or looks its records up.
pub async fn run(init: Init) -> Result<(), CliError> {
    let filter = LogFilter::level(tracing::Level::WARN);
    telemetry::logs::start(&Log { filter, format: LogFormat::Text });
    if init.check { check(&init).await } else { write(init).await }
}

async fn write(init: Init) -> Result<(), CliError> {
    let Init { config: file, flags, force, yes, check: _, output } = init;
    if !force && file.exists() {
        let file = file.display();
        return Err(CliError::Usage(format!(
            "{file} exists, and is not overwritten: `waxwing init --check --config {file}` looks its \
             DNS records up, --force replaces the file"
        )));
    }
    let answers = if yes || !io::stdin().is_terminal() {
        Answers::of(flags, &file)?
    } else {
        asked(flags, &file)?
    };
    let existing = if force { Existing::Replaced } else { Existing::Kept };
    create(&file, &configuration::text(&answers), existing)?;
    let reading = Config::read(Some(&file), std::env::vars())?;
    let missing = [reading.faults.clone(), server::check(&reading).await].concat();
    let records = host_records::records(&reading.config, &answers.addresses);
    report::written(output, &file, (missing.as_slice(), &answers), &records);
    Ok(())
}

/// Asks at the terminal. What is said there is no answer to parse: it goes to standard error.
fn asked(mut flags: Flags, file: &Path) -> Result<Answers, CliError> {
    let (mut input, mut output) = (io::stdin().lock(), io::stderr().lock());
    let mut questions = Questions { input: &mut input, output: &mut output };
    let interrupted = |error: io::Error| {
        CliError::Usage(format!("no answer ({error}); give the flags instead, with --yes"))
    };
    flags.fill(&mut questions).map_err(interrupted)?;
    let answers = Answers::of(flags, file)?;
    let question = format!("Write {}?", file.display());
    if questions.confirm(&question).map_err(interrupted)? {
        Ok(answers)
    } else {
        Err(CliError::Usage("nothing was written".to_owned()))
    }
}

/// What becomes of a file that is there.
#[derive(Debug, Clone, Copy)]
enum Existing {
    Kept,
    Replaced,
}

/// Makes the file whole or not at all, for its owner and the group of its directory: that of the server's user.
fn create(file: &Path, text: &str, existing: Existing) -> Result<(), CliError> {
    let folder = directory::of_file(file);
    let failed = |source: io::Error| CliError::Unwritable { path: file.to_owned(), source };
    let group = fs::metadata(folder).map_err(|source| {
        CliError::Usage(format!(
            "the directory {0} cannot be used ({source}); make it for the server's user, as in \
             `install -d -o root -g waxwing -m 0750 {0}`",
            folder.display()
        ))
    })?;
    // The name of the unfinished file says nothing to anybody.
    let bare = |error: io::Error| failed(error.kind().into());
    let mut partial = tempfile::NamedTempFile::new_in(folder).map_err(bare)?;
    io::Write::write_all(&mut partial, text.as_bytes()).map_err(bare)?;
    share(partial.as_file(), &group).map_err(bare)?;
    partial.as_file().sync_all().map_err(bare)?;
    let placed = match existing {
        Existing::Kept => partial.persist_noclobber(file),
        Existing::Replaced => partial.persist(file),
    };
    placed.map(drop).map_err(|error| failed(error.error))
}

#[cfg(unix)]
fn share(file: &fs::File, folder: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    if file.metadata()?.gid() != folder.gid() {
        fchown(file, None, Some(folder.gid()))?;
    }
    file.set_permissions(fs::Permissions::from_mode(0o640))
}

#[cfg(not(unix))]
fn share(_: &fs::File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

async fn check(init: &Init) -> Result<(), CliError> {
    let config = Config::load(Some(&init.config), std::env::vars())?;
    let resolver = resolver(&config, &Clock::system())?;
    let mut addresses = init.flags.address.clone();
    if addresses.is_empty() {
        addresses = host_records::own_addresses(&config);
    }
    if addresses.is_empty() {
        // Behind address translation only DNS can tell; that the name has an address is found out, too.
        addresses = host_records::published_addresses(&config, &resolver).await;
    }
    let records = host_records::records(&config, &addresses);
    let findings = host_records::observe(&resolver, records).await;
    report::observed(init.output, &findings);
    if addresses.is_empty() {
        let unknown = "this machine has only private addresses, and its name has none in DNS: give the \
                       public one as --address";
        return Err(CliError::Usage(unknown.to_owned()));
    }
    let open = findings.iter().filter(|it| it.standing != Standing::Seen).count();
    if open > 0 {
        return Err(CliError::HostRecords { open, all: findings.len() });
    }
    report::all_seen(init.output);
    Ok(())
}
