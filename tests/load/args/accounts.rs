//! The command line of `waxwing-load accounts`.

use clap::Args as Arguments;

use super::{Setup, Template};

/// Of sends that many accounts make with many templates.
#[derive(Debug, Arguments)]
pub struct AccountsArgs {
    /// Accounts
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub accounts: u32,
    /// Templates of each account
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub templates: u32,
    /// Templates, of the first accounts, that the rounds use to which the others are compared
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub few: u32,
    /// Change so many accounts a second in every second round, instead of sending with all templates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub changes: Option<u32>,
    /// What each template is
    #[arg(long, value_enum, default_value_t = Template::Invoice)]
    pub template: Template,
    /// Sends of one round
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub sends: u32,
    /// Connections, each with one request under way
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub connections: u32,
    /// Rounds; each figure is their median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub rounds: u32,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}
