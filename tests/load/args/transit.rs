//! The command line of `waxwing-load transit`.

use clap::Args as Arguments;

use super::{Setup, Template};

/// Of messages on their way through the server.
#[derive(Debug, Arguments)]
pub struct TransitArgs {
    /// Sends a second
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    pub rate: u32,
    /// How many are measured
    #[arg(long, default_value_t = 6_000, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pub sends: u32,
    /// Connections that send
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub connections: u32,
    /// The template
    #[arg(long, value_enum, default_value_t = Template::Invoice)]
    pub template: Template,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}
