//! Two passes of the runs under valgrind. The first one leaves the plugins' machine code behind, made for the
//! processor that valgrind shows; the second one counts.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io};

use super::figures::Counted;
use super::rounds::{ROUNDS, Rounds, Run, median_of_run};

/// What callgrind writes.
const DUMP: &str = "callgrind.out";

#[derive(Debug, thiserror::Error)]
pub enum CountError {
    #[error("valgrind cannot be started; it is the package `valgrind` of the system: {0}")]
    Valgrind(io::Error),
    #[error("the runs failed under valgrind --tool={tool}")]
    Run { tool: &'static str },
    #[error("a file of the runs cannot be used: {0}")]
    Io(#[from] io::Error),
    #[error("callgrind wrote {found} counts instead of {wanted}")]
    Marks { found: usize, wanted: usize },
}

/// Makes all runs and counts them.
pub fn count() -> Result<Vec<Counted>, CountError> {
    let directory = tempfile::tempdir()?;
    run(directory.path(), "none", &[])?;
    let runs = Rounds::read_from(directory.path())?;
    let dump = directory.path().join(DUMP);
    let dump_to = format!("--callgrind-out-file={}", dump.display());
    // Counts of functions alone: lines and jumps would only make the file longer.
    let arguments =
        ["--dump-before=*rounds::mark", "--combine-dumps=yes", "--dump-line=no", &dump_to];
    run(directory.path(), "callgrind", &arguments)?;
    counted(&runs, &totals(&fs::read_to_string(dump)?))
}

fn run(directory: &Path, tool: &'static str, arguments: &[&str]) -> Result<(), CountError> {
    let status = Command::new("valgrind")
        .arg(format!("--tool={tool}"))
        .arg("--quiet")
        .args(arguments)
        .arg(env::current_exe()?)
        .arg("--run-in")
        .arg(directory)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .status()
        .map_err(CountError::Valgrind)?;
    if status.success() { Ok(()) } else { Err(CountError::Run { tool }) }
}

/// What was counted up to each mark since the one before, of all threads.
fn totals(dump: &str) -> Vec<u64> {
    let totals = dump.lines().filter_map(|line| line.strip_prefix("totals: "));
    totals.filter_map(|total| total.trim().parse().ok()).collect()
}

/// Each round has two marks: the second one closes what is counted.
fn counted(runs: &[Run], totals: &[u64]) -> Result<Vec<Counted>, CountError> {
    let rounds: Vec<u64> = totals.iter().skip(1).step_by(2).copied().collect();
    let wanted = runs.len() * ROUNDS;
    if rounds.len() != wanted {
        return Err(CountError::Marks { found: rounds.len(), wanted });
    }
    let counted = runs.iter().zip(rounds.chunks(ROUNDS)).filter_map(|(run, rounds)| {
        let allocated = run.allocated()?;
        Some(Counted {
            run: run.name.clone(),
            instructions: median_of_run(rounds)?,
            allocations: u64::try_from(allocated.allocations).ok()?,
            bytes: u64::try_from(allocated.bytes).ok()?,
        })
    });
    Ok(counted.collect())
}
