//! The command line of `waxwing-load deliver`.

use std::path::PathBuf;

use clap::{Args as Arguments, ValueEnum};

use super::Setup;

/// Of a queue that is emptied into a sink.
#[derive(Debug, Arguments)]
pub struct DeliverArgs {
    /// Messages of one round, 2 KiB each
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    pub messages: u32,
    /// Rounds; each figure is their median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub rounds: u32,
    /// Let this one do the same, in turn with Waxwing
    #[arg(long, value_enum)]
    pub against: Option<Relay>,
    /// The keys that Waxwing signs with
    #[arg(long, value_enum, default_value_t = Dkim::Both)]
    pub dkim: Dkim,
    /// Write the server's process id there when its load begins, for a profiler
    #[arg(long, value_name = "PATH")]
    pub pid_file: Option<PathBuf>,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}

/// A mail server that relays to a smarthost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Relay {
    /// The installed Postfix, as a private instance
    Postfix,
}

/// Keys of a sender domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dkim {
    /// RSA of 2048 bits and Ed25519, as every domain has them
    Both,
    /// Ed25519 alone: what a delivery costs without the RSA signature
    Ed25519,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{CommandLine, Protocol};

    #[test]
    fn deliveries_have_their_own_arguments() {
        let line = "waxwing-load deliver --against postfix --messages 2000 --seconds 7";
        let line = CommandLine::try_parse_from(line.split(' ')).expect("a valid line");
        assert_eq!(line.setup().seconds, 7);
        let Some(Protocol::Deliver(args)) = line.protocol else { panic!("it is about deliveries") };
        assert_eq!((args.messages, args.rounds, args.against), (2_000, 5, Some(Relay::Postfix)));
    }
}
