//! The rounds of a run, each between two marks.

use std::hint::black_box;
use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use stats_alloc::Region;

use super::ALLOCATOR;

/// Rounds that fill what is kept between calls, and are not counted.
const WARM_UP: usize = 3;
/// Rounds that are counted. The figure is their median: a tick of the engine's clock, or a table that grows, falls
/// into some of them.
pub const COUNTED: usize = 21;
pub const ROUNDS: usize = WARM_UP + COUNTED;

const FILE: &str = "rounds.json";

/// All runs, in the order in which they were made.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Rounds(Vec<Run>);

/// What the rounds of one run have allocated.
#[derive(Debug, Serialize, Deserialize)]
pub struct Run {
    pub name: String,
    rounds: Vec<Allocated>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Allocated {
    pub allocations: usize,
    pub bytes: usize,
}

impl Rounds {
    /// Makes a run. What `prepare` makes for a round is not counted, and neither is its end.
    pub fn run<I, O>(
        &mut self,
        name: &str,
        mut prepare: impl FnMut() -> I,
        mut work: impl FnMut(I) -> O,
    ) {
        let mut rounds = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let input = black_box(prepare());
            let region = Region::new(ALLOCATOR);
            mark();
            let output = black_box(work(input));
            mark();
            let change = region.change();
            drop(output);
            rounds.push(Allocated {
                allocations: change.allocations + change.reallocations,
                bytes: change.bytes_allocated,
            });
        }
        self.0.push(Run { name: name.to_owned(), rounds });
    }

    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        fs::write(directory.join(FILE), serde_json::to_vec(self)?)
    }

    pub fn read_from(directory: &Path) -> io::Result<Vec<Run>> {
        let Self(runs) = serde_json::from_slice(&fs::read(directory.join(FILE))?)?;
        Ok(runs)
    }
}

impl Run {
    pub fn allocated(&self) -> Option<Allocated> {
        median(self.rounds.iter().skip(WARM_UP).copied())
    }
}

/// The middle one of the counted rounds.
pub fn median<T: Ord + Copy>(counted: impl Iterator<Item = T>) -> Option<T> {
    let mut counted: Vec<T> = counted.collect();
    counted.sort_unstable();
    counted.get(counted.len() / 2).copied()
}

/// The median of what was counted between the marks of one run.
pub fn median_of_run(rounds: &[u64]) -> Option<u64> {
    median(rounds.iter().skip(WARM_UP).copied())
}

/// Callgrind writes down here what it has counted since the last mark, of all threads.
#[inline(never)]
fn mark() {
    black_box(());
}
