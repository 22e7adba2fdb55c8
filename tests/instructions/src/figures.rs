//! The recorded figures, each with the reason of its last change.

use std::path::PathBuf;
use std::{fs, io};

use serde::{Deserialize, Serialize};

/// What a figure may move by, up or down.
pub const TOLERANCE_PERCENT: u64 = 5;
/// Where the figures are recorded anew, one that has moved by less keeps its value and its reason.
const NOISE_PERCENT: u64 = 1;

/// What was counted of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub run: String,
    pub instructions: u64,
    pub allocations: u64,
    /// Bytes that were asked of the allocator.
    pub bytes: u64,
}

/// What is recorded of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    run: String,
    instructions: u64,
    allocations: u64,
    bytes: u64,
    /// Why it is not what it was before.
    reason: String,
}

/// All recorded figures.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    #[serde(default)]
    figure: Vec<Figure>,
}

#[derive(Debug, thiserror::Error)]
pub enum FiguresError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not what this program writes: {source}")]
    Format { path: PathBuf, source: toml::de::Error },
    #[error("the figures cannot be written as TOML: {0}")]
    Write(#[from] toml::ser::Error),
}

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/figures.toml"))
}

impl Figures {
    /// The figures of the repository; none where there is no file yet.
    pub fn read() -> Result<Self, FiguresError> {
        let path = path();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(FiguresError::Io { path, source }),
        };
        toml::from_str(&text).map_err(|source| FiguresError::Format { path, source })
    }

    /// Whether all runs are recorded, no other one is, and none has moved.
    pub fn is_within_tolerance(&self, counted: &[Counted]) -> bool {
        let is_close = |it: &Counted| {
            self.of(it).is_some_and(|figure| figure.is_within(it, TOLERANCE_PERCENT))
        };
        self.figure.len() == counted.len() && counted.iter().all(is_close)
    }

    /// A line for each run, and one for each figure that has no run any more.
    pub fn report(&self, counted: &[Counted]) -> Vec<String> {
        let gone = self.figure.iter().filter(|it| counted.iter().all(|run| run.run != it.run));
        let gone = gone.map(|it| format!("{:16} is recorded, and there is no such run", it.run));
        counted.iter().map(|run| line(run, self.of(run))).chain(gone).collect()
    }

    /// Takes what was counted in the place of the figures. One that has hardly moved stays as it is.
    pub fn record(self, counted: Vec<Counted>, reason: &str) -> Result<(), FiguresError> {
        let figure = |run: Counted| match self.of(&run) {
            Some(figure) if figure.is_within(&run, NOISE_PERCENT) => figure.clone(),
            Some(_) | None => Figure::new(run, reason),
        };
        let figures = Self { figure: counted.into_iter().map(figure).collect() };
        let path = path();
        fs::write(&path, toml::to_string(&figures)?)
            .map_err(|source| FiguresError::Io { path, source })
    }

    fn of(&self, counted: &Counted) -> Option<&Figure> {
        self.figure.iter().find(|it| it.run == counted.run)
    }
}

impl Figure {
    fn new(counted: Counted, reason: &str) -> Self {
        let Counted { run, instructions, allocations, bytes } = counted;
        Self { run, instructions, allocations, bytes, reason: reason.to_owned() }
    }

    fn is_within(&self, counted: &Counted, percent: u64) -> bool {
        let pairs = [
            (self.instructions, counted.instructions),
            (self.allocations, counted.allocations),
            (self.bytes, counted.bytes),
        ];
        pairs.iter().all(|(recorded, counted)| {
            recorded.abs_diff(*counted).saturating_mul(100) <= recorded.saturating_mul(percent)
        })
    }
}

fn line(counted: &Counted, recorded: Option<&Figure>) -> String {
    let Counted { run, instructions, allocations, bytes } = counted;
    let counts = |instructions: u64, allocations: u64, bytes: u64| {
        format!("{instructions:>9} instructions, {allocations:>5} allocations, {bytes:>7} bytes")
    };
    let now = counts(*instructions, *allocations, *bytes);
    match recorded {
        None => format!("{run:16} {now}; not recorded"),
        Some(figure) if figure.is_within(counted, TOLERANCE_PERCENT) => format!("{run:16} {now}"),
        Some(figure) => {
            let before = counts(figure.instructions, figure.allocations, figure.bytes);
            format!("{run:16} {now}; MOVED, recorded: {before} ({})", figure.reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(instructions: u64) -> Counted {
        Counted { run: "accept".to_owned(), instructions, allocations: 100, bytes: 4_000 }
    }

    fn recorded(instructions: u64) -> Figures {
        Figures { figure: vec![Figure::new(counted(instructions), "first")] }
    }

    #[test]
    fn a_figure_holds_within_five_percent_up_and_down() {
        for (instructions, holds) in [(949, false), (950, true), (1_050, true), (1_051, false)] {
            assert_eq!(
                recorded(1_000).is_within_tolerance(&[counted(instructions)]),
                holds,
                "{instructions}"
            );
        }
        let allocations = Counted { allocations: 106, ..counted(1_000) };
        assert!(!recorded(1_000).is_within_tolerance(&[allocations]));
        let bytes = Counted { bytes: 5_000, ..counted(1_000) };
        assert!(!recorded(1_000).is_within_tolerance(&[bytes]));
    }

    #[test]
    fn a_run_without_a_figure_and_a_figure_without_a_run_do_not_hold() {
        let other = Counted { run: "render".to_owned(), ..counted(1_000) };
        assert!(!recorded(1_000).is_within_tolerance(&[]));
        assert!(!Figures::default().is_within_tolerance(&[counted(1_000)]));
        assert!(!recorded(1_000).is_within_tolerance(&[other]));
    }
}
