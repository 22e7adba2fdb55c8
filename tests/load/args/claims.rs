//! The command line of `waxwing-load claims`.

use clap::Args as Arguments;

use super::Setup;

/// Of the statements that find due messages and lease them.
#[derive(Debug, Arguments)]
pub struct ClaimsArgs {
    /// Messages that are due
    #[arg(long, default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u32).range(10_000..=5_000_000))]
    pub messages: u32,
    /// Messages of the short queue that it is compared with, before and after
    #[arg(long, default_value_t = 50_000,
        value_parser = clap::value_parser!(u32).range(10_000..=1_000_000))]
    pub short: u32,
    /// Domains that they are for; a short queue has as many messages of each as a long one
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub domains: u32,
    /// Workers at one time, each with domains of its own; one step for each number
    #[arg(long, value_delimiter = ',', default_value = "1,2,3",
        value_parser = clap::value_parser!(u32).range(1..=8))]
    pub workers: Vec<u32>,
    /// How often leases are taken in one step, over all workers; each time up to 64
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u32).range(24..=10_000))]
    pub claims: u32,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}
