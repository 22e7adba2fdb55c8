//! The command line of `waxwing-load nodes`.

use clap::Args as Arguments;

use super::{Setup, Template};

/// Of several servers on one PostgreSQL.
#[derive(Debug, Arguments)]
pub struct NodesArgs {
    /// How many servers send at one time; each number is measured apart
    #[arg(long, value_delimiter = ',', default_value = "1,2,3",
        value_parser = clap::value_parser!(u32).range(1..=8))]
    pub nodes: Vec<u32>,
    /// Accounts, each with one template: one is a hot account
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub accounts: u32,
    /// Sends in one transaction of pgbench [default: as many as a commit of the servers had just before]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub group: Option<u32>,
    /// What each template is
    #[arg(long, value_enum, default_value_t = Template::Invoice)]
    pub template: Template,
    /// Sends of one round, over all of the servers
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    pub sends: u32,
    /// Connections to each server, each with one request under way: more servers have more clients, so that groups stay as large
    #[arg(long, default_value_t = 96, value_parser = clap::value_parser!(u32).range(8..=1_000))]
    pub connections: u32,
    /// Rounds; each figure is their median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub rounds: u32,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}
