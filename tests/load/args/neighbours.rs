//! The command line of `waxwing-load neighbours`.

use clap::{Args as Arguments, ValueEnum};

use super::Setup;

/// Of two accounts, of which one makes noise.
#[derive(Debug, Arguments)]
pub struct NeighboursArgs {
    /// What the noisy account does
    #[arg(long, value_enum)]
    pub noise: Noise,
    /// Its connections
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub noisy: u32,
    /// Sends of the quiet account, alone and then beside the noise
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub sends: u32,
    /// Connections of the quiet account
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub connections: u32,
    /// Messages of the noisy account that its lists look at in vain
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub messages: u32,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}

/// What one account can do to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Noise {
    /// Batches of 500 messages, one after another
    Batches,
    /// Messages with 7 MiB of attachments, one after another
    Large,
    /// Lists of messages with a tag that none has
    Lists,
    /// Bodies of 10 MB whose last byte never comes
    Unfinished,
}

impl Noise {
    /// For the report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Batches => "batches",
            Self::Large => "large",
            Self::Lists => "lists",
            Self::Unfinished => "unfinished",
        }
    }
}
