//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

/// Drive a release server on this machine and print what a send costs, as one line of JSON
#[derive(Debug, Parser)]
#[command(name = "waxwing-load")]
pub struct Args {
    /// Sends of one round
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub sends: u32,
    /// Connections, each with one request under way
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub connections: u32,
    /// What is sent
    #[arg(long, value_enum, default_value_t = Template::Invoice)]
    pub template: Template,
    /// Rounds; each figure is their median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub rounds: u32,
    /// Deliver everything to the sandbox inbox and wait for it (the default without a baseline)
    #[arg(long, conflicts_with_all = ["hold", "baseline"])]
    deliver: bool,
    /// Schedule everything for later, so that only the accept path runs
    #[arg(long)]
    hold: bool,
    /// Drive this one too, in turn with Waxwing; implies --hold, as the baseline only accepts
    #[arg(long, value_enum)]
    pub baseline: Option<Baseline>,
    /// Swap plugins in every second round, with so many milliseconds between two swaps
    #[arg(long, value_name = "MS", conflicts_with = "baseline",
        value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub swap: Option<u64>,
    /// Processes of the baseline [default: one a core]
    #[arg(long)]
    pub workers: Option<u32>,
    /// The server to measure [default: target/release/waxwing, built if it is missing]
    #[arg(long, value_name = "PATH")]
    pub server_bin: Option<PathBuf>,
    /// The server's log filter
    #[arg(long, default_value = "info")]
    pub log: String,
    /// Where the servers keep their data; it has to be a disk that syncs [default: the temporary
    /// directory]
    #[arg(long, value_name = "PATH")]
    pub work_dir: Option<PathBuf>,
    /// When to stop at the latest, in seconds
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub seconds: u32,
}

/// A template of `load/templates`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// 8 KiB of HTML with five line items, a subject and a text part
    #[value(name = "8k")]
    Invoice,
    /// One line of text
    Line,
}

/// What Waxwing is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Baseline {
    /// Node: Fastify, a Liquid renderer and a job queue on Redis with appendfsync always
    Node,
}

/// What becomes of the accepted messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They go to the sandbox inbox.
    Deliver,
    /// They wait.
    Hold,
}

impl Args {
    /// What becomes of the accepted messages.
    pub fn mode(&self) -> Mode {
        if self.hold || self.baseline.is_some() { Mode::Hold } else { Mode::Deliver }
    }

    /// When to stop at the latest.
    pub fn time(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }

    /// A directory that goes away with its owner.
    pub fn work_dir(&self) -> std::io::Result<tempfile::TempDir> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("waxwing-load-");
        match &self.work_dir {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        }
    }
}

impl Template {
    /// Every template.
    pub const ALL: [Self; 2] = [Self::Invoice, Self::Line];

    /// As on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Invoice => "8k",
            Self::Line => "line",
        }
    }

    /// Its folder in `load/templates`; its slug is `load-` and this.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Invoice => "invoice",
            Self::Line => "line",
        }
    }

    /// The data of one send, as JSON.
    pub fn data(self) -> &'static str {
        match self {
            Self::Invoice => include_str!("templates/invoice/data.json"),
            Self::Line => include_str!("templates/line/data.json"),
        }
    }
}

impl Mode {
    /// For the report.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Hold => "hold",
        }
    }
}
