//! The command line of `waxwing-load churn`.

use std::time::Duration;

use clap::Args as Arguments;

use super::{Setup, Template};

/// Of messages that come and go.
#[derive(Debug, Arguments)]
pub struct ChurnArgs {
    /// For how long; set `--seconds` to more
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=59))]
    pub minutes: u32,
    /// Messages a second; more than the server delivers make a queue
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rate: u32,
    /// Seconds from one look at the table to the next
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub every: u32,
    /// Connections, each with one request under way
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub connections: u32,
    /// What is sent
    #[arg(long, value_enum, default_value_t = Template::Line)]
    pub template: Template,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}

impl ChurnArgs {
    /// How often the table is looked at.
    pub fn looks(&self) -> u32 {
        (60 * self.minutes / self.every).max(1)
    }

    /// From one look at the table to the next.
    pub fn every(&self) -> Duration {
        Duration::from_secs(self.every.into())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::{CommandLine, Protocol};

    #[test]
    fn the_table_is_looked_at_until_the_minutes_are_over() {
        let line = "waxwing-load churn --minutes 3 --every 30";
        let line = CommandLine::try_parse_from(line.split(' ')).expect("a valid line");
        let Some(Protocol::Churn(args)) = line.protocol else { panic!("it is about churn") };
        assert_eq!((args.looks(), args.every().as_secs()), (6, 30));
    }
}
