//! The command line of `waxwing-load domains`.

use clap::Args as Arguments;

use super::Setup;

/// Of sender domains.
#[derive(Debug, Arguments)]
pub struct DomainsArgs {
    /// Domains that are due at one time; fewer would be done before the bounded run is over
    #[arg(long, default_value_t = 100_000,
        value_parser = clap::value_parser!(u32).range(1_000..=500_000))]
    pub domains: u32,
    /// Rounds after the one in which all domains become verified; each figure is their median
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub rounds: u32,
    /// Look-ups at one time, of the server and by hand
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub concurrent: u32,
    /// Checks at one time, also in the bounded run [default: as many as look-ups; 32 there]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub checks: Option<u32>,
    /// Queries a second that the server may make in the rounds
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub per_second: u32,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::{CommandLine, Protocol};

    #[test]
    fn domains_have_their_own_arguments() {
        let line = "waxwing-load domains --domains 2000 --checks 32 --seconds 7";
        let line = CommandLine::try_parse_from(line.split(' ')).expect("a valid line");
        assert_eq!(line.setup().seconds, 7);
        let Some(Protocol::Domains(args)) = line.protocol else { panic!("it is about domains") };
        assert_eq!((args.domains, args.checks, args.concurrent), (2_000, Some(32), 64));
        let few = ["waxwing-load", "domains", "--domains", "999"];
        assert!(CommandLine::try_parse_from(few).is_err());
    }
}
