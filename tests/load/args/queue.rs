//! The command line of `waxwing-load queue`.

use std::time::Duration;

use clap::{Args as Arguments, ValueEnum};

use super::Setup;

/// Of a very long queue.
#[derive(Debug, Arguments)]
pub struct QueueArgs {
    /// Messages that are due at one time
    #[arg(long, default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u32).range(1_000..=5_000_000))]
    pub messages: u32,
    /// Where the messages wait
    #[arg(long, value_enum, default_value_t = Backlog::Domain)]
    pub shape: Backlog,
    /// Messages of the short queue that it is compared with, before and after
    #[arg(long, default_value_t = 10_000,
        value_parser = clap::value_parser!(u32).range(100..=100_000))]
    pub short: u32,
    /// Seconds for which the long queue is looked at, if it is not empty before
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u32).range(3..=3_600))]
    pub watch: u32,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}

/// Where the messages of a queue wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backlog {
    /// For one domain
    Domain,
    /// For the sandbox inbox
    Sandbox,
    /// For 10,000 domains
    Domains,
    /// All but the messages of the short queue for a domain whose server says nothing, before those
    Held,
}

impl QueueArgs {
    /// For how long a queue is looked at.
    pub fn watch(&self) -> Duration {
        Duration::from_secs(self.watch.into())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::{CommandLine, Protocol};

    #[test]
    fn a_queue_has_its_own_arguments() {
        let line = "waxwing-load queue --messages 2000 --watch 9 --seconds 7";
        let line = CommandLine::try_parse_from(line.split(' ')).expect("a valid line");
        assert_eq!(line.setup().seconds, 7);
        let Some(Protocol::Queue(args)) = line.protocol else { panic!("it is about a queue") };
        assert_eq!((args.messages, args.short, args.watch().as_secs()), (2_000, 10_000, 9));
    }
}
