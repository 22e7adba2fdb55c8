//! The command line of `waxwing-load claims`.

use clap::Args as Arguments;

use super::Setup;

/// Of the statements that find due messages and lease them.
#[derive(Debug, Arguments)]
pub struct ClaimsArgs {
    /// Messages of the long queue, all of them due
    #[arg(long, default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u32).range(10_000..=5_000_000))]
    pub messages: u32,
    /// Messages of the short queue, which is measured before and after the long one
    #[arg(long, default_value_t = 50_000,
        value_parser = clap::value_parser!(u32).range(10_000..=1_000_000))]
    pub short: u32,
    /// Domains of the recipients in the long queue; the short queue has as many messages for each domain
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub domains: u32,
    /// How many workers lease at one time, each from domains of its own; each number is measured apart
    #[arg(long, value_delimiter = ',', default_value = "1,2,3",
        value_parser = clap::value_parser!(u32).range(1..=8))]
    pub workers: Vec<u32>,
    /// Transactions that lease, of all workers together; each leases up to 64 messages
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u32).range(24..=10_000))]
    pub claims: u32,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}
