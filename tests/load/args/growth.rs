//! The command line of `waxwing-load growth`.

use clap::Args as Arguments;

use super::{Setup, Template};

/// Of servers that have sent much.
#[derive(Debug, Arguments)]
pub struct GrowthArgs {
    /// Messages that were sent before, written straight into the database; one step for each number
    #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000",
        value_parser = clap::value_parser!(u32).range(1_000..=2_000_000))]
    pub messages: Vec<u32>,
    /// Sends of a round
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sends: u32,
    /// Rounds of each server
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Connections that send
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub connections: u32,
    /// The template
    #[arg(long, value_enum, default_value_t = Template::Invoice)]
    pub template: Template,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}
