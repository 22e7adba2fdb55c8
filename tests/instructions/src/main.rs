//! Counts the instructions and the allocations of the steps of a message, and fails if one moves from the recorded
//! baseline: `cargo run --release -p waxwing-instructions --features valgrind`. With `--record REASON` it records them anew.
//!
//! A count tells of a change that a clock on a busy machine cannot see. It says nothing of waiting: fsync, locks
//! and caches are measured by `waxwing-load`.

mod callgrind;
mod figures;
mod rounds;
mod runs;
#[path = "../../../host/benches/journey/sample.rs"]
mod sample;

use std::alloc::System;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use callgrind::CountError;
use figures::{Figures, FiguresError};
use rounds::Rounds;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Counts the instructions and the allocations of the steps of a message.
#[derive(Debug, Parser)]
struct CommandLine {
    /// Records the figures anew, each that has moved with this reason.
    #[arg(long, value_name = "REASON")]
    record: Option<String>,
    /// Makes the runs, with this directory for what they need; valgrind starts this.
    #[arg(long, value_name = "DIRECTORY", hide = true)]
    run_in: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Count(#[from] CountError),
    #[error(transparent)]
    Figures(#[from] FiguresError),
    #[error("allocation results cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error(
        "figures moved by more than {} %; where this is wanted, record them anew with \
         `cargo run --release -p waxwing-instructions --features valgrind -- --record REASON`",
        figures::TOLERANCE_PERCENT
    )]
    Moved,
}

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    let done = match &command_line.run_in {
        Some(directory) => make_runs(directory),
        None => count(command_line.record.as_deref()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            drop(writeln!(io::stderr(), "{failure}"));
            ExitCode::FAILURE
        }
    }
}

fn make_runs(directory: &Path) -> Result<(), Failure> {
    let mut rounds = Rounds::default();
    runs::all(&mut rounds, directory);
    Ok(rounds.write_to(directory)?)
}

fn count(record: Option<&str>) -> Result<(), Failure> {
    let counted = callgrind::count()?;
    let figures = Figures::read()?;
    let mut out = io::stdout().lock();
    for line in figures.report(&counted) {
        writeln!(out, "{line}")?;
    }
    match record {
        Some(reason) => Ok(figures.record(counted, reason)?),
        None if figures.is_within_tolerance(&counted) => Ok(()),
        None => Err(Failure::Moved),
    }
}
