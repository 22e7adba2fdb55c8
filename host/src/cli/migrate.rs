//! `waxwing migrate`: moves an installation from a file of SQLite to PostgreSQL, or back.
//!
//! While a server works with the database that is moved, its rows are copied beside it. The pause begins when that server is
//! stopped: what changed is copied, all is compared, and no server starts with what was left behind.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::output::{Output, tell, text};
use crate::config::{Log, LogFilter, LogFormat, Store as StoreSettings};
use crate::server::data_dir::{DataDir, DataDirError};
use crate::server::master_key;
use crate::store::Place;
use crate::store::transfer::{self, ComparedTable, Copied, Progress, Source, Standing, Transfer};
use crate::telemetry;

/// How often it looks whether the server has stopped.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often it says how far it is within a table.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// What of an installation is not in its database.
const FILES: [&str; 6] = ["master.key", "plugins", "plugin-state", "tls", "acme", "inbox.db"];

/// Move everything from a file of SQLite to PostgreSQL, or back
#[derive(Debug, Args)]
pub struct Migrate {
    /// What is moved: the data directory, or postgres://…
    #[arg(long, value_name = "DIRECTORY|URL")]
    from: End,
    /// Where to: postgres://… with an empty database, or a data directory
    #[arg(long, value_name = "URL|DIRECTORY")]
    to: End,
    /// Only look: how much would be moved, and whether it can be
    #[arg(long, conflicts_with = "verify")]
    dry_run: bool,
    /// Only compare the two databases, row by row; no server may be running on either
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    output: Output,
}

/// One end of a move.
#[derive(Clone)]
enum End {
    /// A data directory with a file of SQLite.
    Directory(PathBuf),
    /// A database of PostgreSQL, by its URL.
    Server(String),
}

/// What keeps servers away from one end until it is dropped.
type Held = Box<dyn Any>;

impl FromStr for End {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let is_url = ["postgres://", "postgresql://"].iter().any(|it| text.starts_with(it));
        Ok(if is_url { Self::Server(text.to_owned()) } else { Self::Directory(text.into()) })
    }
}

impl fmt::Debug for End {
    /// A URL may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => f.debug_tuple("Directory").field(path).finish(),
            Self::Server(_) => f.write_str("Server(…)"),
        }
    }
}

impl End {
    /// Its database, where there is one; that of a server may have no tables yet. A directory whose database is gone, as
    /// after an earlier move, can be filled.
    fn place(&self) -> Option<Place> {
        match self {
            Self::Directory(path) => DataDir::existing_place(&settings(path)).ok().flatten(),
            Self::Server(url) => Some(Place::Server(url.clone())),
        }
    }

    fn existing(&self) -> Result<Place, CliError> {
        match self {
            Self::Directory(path) => DataDir::existing_place(&settings(path))?
                .ok_or_else(|| CliError::NoStore(path.clone())),
            Self::Server(url) => Ok(Place::Server(url.clone())),
        }
    }

    /// In words, without a password.
    fn name(&self) -> Result<String, CliError> {
        match self {
            Self::Directory(path) if self.place().is_none() => Ok(path.display().to_string()),
            Self::Directory(_) | Self::Server(_) => Ok(transfer::name_of(&self.existing()?)?),
        }
    }

    /// Whether a server works with a database that servers share. A directory is locked instead.
    async fn is_served(&self) -> Result<bool, CliError> {
        match self {
            Self::Directory(_) => Ok(false),
            Self::Server(url) => {
                Ok(Box::pin(transfer::has_node(&Place::Server(url.clone()))).await?)
            }
        }
    }

    /// Takes a directory for this process; none while a server runs on either end. What keeps servers away from a database
    /// that they share is [`Transfer::hold`].
    async fn hold(&self) -> Result<Option<Held>, CliError> {
        match self {
            Self::Directory(path) => match DataDir::open(path)?.lock() {
                Ok(lock) => Ok(Some(Box::new(lock))),
                Err(DataDirError::Locked { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
            Self::Server(_) if self.is_served().await? => Ok(None),
            Self::Server(_) => Ok(Some(Box::new(()))),
        }
    }
}

fn settings(directory: &Path) -> StoreSettings {
    StoreSettings { data_dir: directory.to_owned(), ..StoreSettings::default() }
}

/// Moves, compares, or looks.
pub async fn run(migrate: &Migrate) -> Result<(), CliError> {
    let filter = LogFilter::level(tracing::Level::WARN);
    telemetry::logs::start(&Log { filter, format: LogFormat::Text });
    match (&migrate.from, &migrate.to) {
        (End::Directory(_), End::Server(_)) | (End::Server(_), End::Directory(_)) => {}
        (End::Directory(_), End::Directory(_)) => {
            let how = "--from and --to are two directories: stop the server and copy the directory";
            return Err(CliError::Usage(how.to_owned()));
        }
        (End::Server(_), End::Server(_)) => {
            let how = "--from and --to are two databases of PostgreSQL: stop the server, and move the database with \
                       pg_dump and pg_restore";
            return Err(CliError::Usage(how.to_owned()));
        }
    }
    if migrate.verify {
        return verify(migrate).await;
    }
    let from = migrate.from.existing()?;
    let mut source = Box::pin(Source::open(&from)).await?;
    if let (End::Directory(path), Some(noted)) =
        (&migrate.to, source.noted(master_key::PROOF).await?)
        && path.join("master.key").is_file()
    {
        master_key::check(&DataDir::unopened_at(path), &noted)?;
    }
    let standing = match migrate.to.place() {
        Some(to) => Box::pin(source.standing(&to)).await?,
        None => Standing::Empty,
    };
    if migrate.dry_run {
        return look(migrate, &mut source, standing).await;
    }
    Box::pin(do_move(migrate, source, standing)).await
}

async fn do_move(migrate: &Migrate, source: Source, standing: Standing) -> Result<(), CliError> {
    let data = match &migrate.to {
        End::Directory(path) => Some(DataDir::open(path)?),
        End::Server(_) => None,
    };
    let _filling = data.as_ref().map(DataDir::lock_filling).transpose()?;
    let mut held_target = migrate.to.hold().await?;
    if held_target.is_none() {
        may_be_filled(migrate, standing)?;
    }
    let to = match &data {
        Some(data) => Place::File(data.database()?),
        None => migrate.to.existing()?,
    };
    let mut transfer = Box::pin(Transfer::begin(source, &to)).await?;
    let mut told = teller();
    let mut held_source = migrate.from.hold().await?;
    if held_source.is_none() || held_target.is_none() {
        tell("A server is running: it goes on, and what is there is copied beside it.");
        let began = Instant::now();
        let copied = transfer.copy(&mut told).await?;
        tell(format_args!(
            "{} rows were copied in {} s. Stop the server now: the pause begins then, and ends when a server starts \
             with the other database. Until then mail is refused or waits with its senders, and none is lost.",
            copied.added,
            began.elapsed().as_secs()
        ));
    }
    let hold = loop {
        while held_source.is_none() || held_target.is_none() {
            tokio::time::sleep(LOOK_EVERY).await;
            if held_source.is_none() {
                held_source = migrate.from.hold().await?;
            }
            if held_target.is_none() {
                held_target = migrate.to.hold().await?;
            }
        }
        let hold = Box::pin(transfer.hold()).await?;
        // No server registers any more. One that has done so since the look above works with the database.
        if !migrate.from.is_served().await? {
            break hold;
        }
        held_source = None;
    };
    let began = Instant::now();
    tell("No server is running. What has changed is copied, and all is compared.");
    let copied = transfer.copy(&mut told).await?;
    let tables = transfer.compare(&mut told).await?;
    Box::pin(transfer.finish(hold)).await?;
    report(migrate, &tables, Some((copied, began.elapsed())))
}

/// The server that locks the target's directory may be the one whose database on PostgreSQL is moved: the move waits for it.
/// A directory that has a database already is refused.
fn may_be_filled(migrate: &Migrate, standing: Standing) -> Result<(), CliError> {
    match &migrate.to {
        End::Directory(path) if standing == Standing::Empty && migrate.to.place().is_some() => {
            Err(DataDirError::Locked { path: path.clone() }.into())
        }
        End::Directory(_) => Ok(()),
        End::Server(url) => {
            let server = transfer::name_of(&Place::Server(url.clone()))?;
            Err(CliError::Usage(format!(
                "a server works with the database ({server}), or did until some seconds ago; stop it, or name another \
                 database"
            )))
        }
    }
}

async fn verify(migrate: &Migrate) -> Result<(), CliError> {
    let (from, to) = (migrate.from.existing()?, migrate.to.existing()?);
    let tables = Box::pin(transfer::compare((&from, &to), &mut teller())).await?;
    report(migrate, &tables, None)
}

async fn look(migrate: &Migrate, source: &mut Source, standing: Standing) -> Result<(), CliError> {
    let counts = source.counts().await?;
    let rows: i64 = counts.iter().map(|(_, rows)| rows).sum();
    let tables: Vec<Value> =
        counts.iter().map(|(name, rows)| json!({"table": name, "rows": rows})).collect();
    let (standing, state) = match standing {
        Standing::Empty => ("empty", "it is empty"),
        Standing::Half => ("half", "an earlier run has begun"),
    };
    let runs = migrate.from.hold().await?.is_none();
    let next = files(migrate);
    let answer = json!({
        "from": migrate.from.name()?,
        "to": migrate.to.name()?,
        "target": standing,
        "serverRuns": runs,
        "rows": rows,
        "tables": tables,
        "next": next,
    });
    migrate.output.one(&answer, || {
        let mut lines: Vec<String> =
            counts.iter().map(|(table, rows)| format!("{table}: {rows}")).collect();
        lines.push(format!("{rows} rows can be moved to {}; {state}", text(&answer, "to")));
        if runs {
            let asked = "A server is running: you are asked to stop it after a first pass";
            lines.push(asked.to_owned());
        }
        lines.extend(next);
        lines.join("\n")
    });
    Ok(())
}

/// Says what was done, and what is left to do.
fn report(
    migrate: &Migrate,
    tables: &[ComparedTable],
    done: Option<(Copied, Duration)>,
) -> Result<(), CliError> {
    let rows: u64 = tables.iter().map(|it| it.rows).sum();
    let all: Vec<Value> = tables
        .iter()
        .map(|it| json!({"table": it.name, "rows": it.rows, "digest": it.digest}))
        .collect();
    let (from, to) = (migrate.from.name()?, migrate.to.name()?);
    let mut answer = json!({"from": from, "to": to, "rows": rows, "tables": all});
    let Some((copied, pause)) = done else {
        migrate.output.one(&answer, || format!("{rows} rows of {from} and {to} are the same"));
        return Ok(());
    };
    let next = files(migrate);
    answer["changedInPause"] = json!(copied.added + copied.removed);
    answer["pauseSeconds"] = json!(pause.as_secs());
    answer["next"] = json!(next);
    migrate.output.one(&answer, || {
        let seconds = pause.as_secs();
        let moved = format!(
            "{rows} rows are in {to}, and are the same as in {from}. It took {seconds} s since no server ran. No server \
             starts with {from} any more."
        );
        [vec![moved], next].concat().join("\n")
    });
    Ok(())
}

/// What an operator does next, by files that no database has.
fn files(migrate: &Migrate) -> Vec<String> {
    match (&migrate.from, &migrate.to) {
        (_, End::Directory(to)) => {
            let missing: Vec<&str> = FILES.into_iter().filter(|it| !to.join(it).exists()).collect();
            let mut next = Vec::new();
            if missing.contains(&"master.key") {
                next.push(format!(
                    "Copy these from the data directory of the server, as far as they are there, into {}: {}. Without \
                     master.key, or the file that store.master_key_file names, the server does not start.",
                    to.display(),
                    missing.join(", ")
                ));
            }
            next.push(format!(
                "Take store.url out of the configuration and the environment, set store.data_dir to {}, and start the \
                 server.",
                to.display()
            ));
            next
        }
        (End::Directory(from), End::Server(_)) => vec![
            format!(
                "Set store.url to the database and start the server with the same data directory, {}: {} stay there. On \
                 another machine copy them first.",
                from.display(),
                FILES.join(", ")
            ),
            format!(
                "Delete waxwing.db in {} when the server has run well for as long as you want to be able to go back.",
                from.display()
            ),
        ],
        (End::Server(_), End::Server(_)) => Vec::new(),
    }
}

/// Says how far it is, on standard error.
fn teller() -> impl FnMut(Progress<'_>) {
    let mut told_at = Instant::now();
    move |progress| match progress {
        Progress::Rows { table, rows } if told_at.elapsed() >= TELL_EVERY => {
            told_at = Instant::now();
            tell(format_args!("  {table}: {rows} rows looked at"));
        }
        Progress::Copied { table, copied } if copied.added + copied.removed > 0 => {
            tell(format_args!(
                "  {table}: {} rows added, {} removed",
                copied.added, copied.removed
            ));
        }
        Progress::Compared { table, rows } if rows > 0 => {
            tell(format_args!("  {table}: {rows} rows are the same"));
        }
        Progress::Rows { .. } | Progress::Copied { .. } | Progress::Compared { .. } => {}
    }
}
