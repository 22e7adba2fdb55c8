//! The command line of `waxwing-load pages`.

use clap::{Args as Arguments, ValueEnum};

use super::Setup;

/// Of the dashboard's pages.
#[derive(Debug, Arguments)]
pub struct PagesArgs {
    /// Messages of the account, written straight into its database
    #[arg(long, default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u32).range(100..=20_000_000))]
    pub messages: u32,
    /// Requests of each page
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub requests: u32,
    /// Messages that are sent meanwhile, a second
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rate: u32,
    /// Where the server keeps them
    #[arg(long, value_enum, default_value_t = StoreKind::File)]
    pub store: StoreKind,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}

/// Which database a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StoreKind {
    /// A file of SQLite
    File,
    /// A PostgreSQL of the run's own
    Postgres,
}

impl StoreKind {
    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Postgres => "postgres",
        }
    }
}
