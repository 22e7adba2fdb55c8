//! The command line.

mod accounts;
mod churn;
mod claims;
mod deliver;
mod domains;
mod floor;
mod growth;
mod neighbours;
mod nodes;
mod pages;
mod queue;
mod smtp;
mod transit;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as Arguments, Parser, Subcommand, ValueEnum};

pub use accounts::AccountsArgs;
pub use churn::ChurnArgs;
pub use claims::ClaimsArgs;
pub use deliver::{DeliverArgs, Dkim, Relay};
pub use domains::DomainsArgs;
pub use floor::FloorArgs;
pub use growth::GrowthArgs;
pub use neighbours::{NeighboursArgs, Noise};
pub use nodes::NodesArgs;
pub use pages::{PagesArgs, StoreKind};
pub use queue::{Backlog, QueueArgs};
pub use smtp::{Peer, Pipelining, Resumption, Shape, SmtpArgs};
pub use transit::TransitArgs;

/// Drive a release server on this machine and print what a send costs, as one line of JSON
#[derive(Debug, Parser)]
#[command(name = "waxwing-load", args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    /// Another protocol than HTTP
    #[command(subcommand)]
    pub protocol: Option<Protocol>,
    /// HTTP
    #[command(flatten)]
    pub http: Args,
}

/// What is driven where it is not HTTP.
#[derive(Debug, Subcommand)]
pub enum Protocol {
    /// Drive the SMTP relay, deliveries held back, alone or in turn with another mail server
    Smtp(SmtpArgs),
    /// Check sender domains in DNS, in turn with the same look-ups by a plain resolver
    Domains(DomainsArgs),
    /// Empty a full queue into a sink, alone or in turn with another mail server
    Deliver(DeliverArgs),
    /// Empty a very long queue into a sink, in turn with short ones
    Queue(QueueArgs),
    /// Send for one account while another one makes noise
    Neighbours(NeighboursArgs),
    /// Send for many accounts with many templates, in turn with few of them, or while accounts change
    Accounts(AccountsArgs),
    /// Load the dashboard's pages for an account with a million messages, while it sends
    Pages(PagesArgs),
    /// Time messages from the 201 to the 250 of the next server, at a fixed rate
    Transit(TransitArgs),
    /// Send beside many messages that were sent before, in turn with a server that has none
    Growth(GrowthArgs),
    /// Send to one, two and three servers on one PostgreSQL, in turn with SQLite and with pgbench
    Nodes(NodesArgs),
    /// Lease messages of a very long queue on PostgreSQL, in turn with short ones; by pgbench
    Claims(ClaimsArgs),
    /// Watch the tables of the queue on PostgreSQL while messages come and go
    Churn(ChurnArgs),
    /// Serve as the floor; `--against floor` starts this
    #[command(hide = true)]
    Floor(FloorArgs),
}

/// Arguments of every protocol.
#[derive(Debug, Clone, Arguments)]
pub struct Setup {
    /// The server to measure [default: target/release/waxwing, built if it is missing]
    #[arg(long, value_name = "PATH")]
    pub server_bin: Option<PathBuf>,
    /// The server's log filter
    #[arg(long, default_value = "info")]
    pub log: String,
    /// Where the servers keep their data; it has to be a disk that syncs [default: the temporary
    /// directory]
    #[arg(long, value_name = "PATH")]
    pub work_dir: Option<PathBuf>,
    /// When to stop at the latest, in seconds
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub seconds: u32,
}

/// Over HTTP.
#[derive(Debug, Arguments)]
pub struct Args {
    /// Sends of one round
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub sends: u32,
    /// Connections, each with one request under way
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub connections: u32,
    /// Sends a second, over all connections [default: as many as are answered]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rate: Option<u32>,
    /// What is sent
    #[arg(long, value_enum, default_value_t = Template::Invoice)]
    pub template: Template,
    /// Rounds; each figure is their median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub rounds: u32,
    /// Deliver everything to the sandbox inbox and wait for it (the default without a peer)
    #[arg(long, conflicts_with_all = ["hold", "against"])]
    deliver: bool,
    /// Schedule everything for later, so that only the accept path runs
    #[arg(long)]
    hold: bool,
    /// Drive this one too, in turn with Waxwing; implies --hold, as a peer only accepts
    #[arg(long, value_enum)]
    pub against: Option<AcceptPeer>,
    /// Swap plugins in every second round, with so many milliseconds between two swaps
    #[arg(long, value_name = "MS", conflicts_with = "against",
        value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub swap: Option<u64>,
    /// Processes of Node [default: one a core]
    #[arg(long)]
    pub workers: Option<u32>,
    /// Write the server's process id there when its load begins, for a profiler
    #[arg(long, value_name = "PATH")]
    pub pid_file: Option<PathBuf>,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}

/// A template of `load/templates`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// 8 KiB of HTML with five line items, a subject and a text part
    #[value(name = "8k")]
    Invoice,
    /// One line of text
    Line,
}

/// A server that accepts sends over HTTP, to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AcceptPeer {
    /// The least on this stack: axum, the `liquid` crate and three rows a send in SQLite
    Floor,
    /// Fastify, a Liquid renderer and a job queue on Redis with appendfsync always
    Node,
}

/// What becomes of the accepted messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They go to the sandbox inbox.
    Deliver,
    /// They wait.
    Hold,
}

impl Args {
    /// What becomes of the accepted messages.
    pub fn mode(&self) -> Mode {
        if self.hold || self.against.is_some() { Mode::Hold } else { Mode::Deliver }
    }
}

impl CommandLine {
    pub fn setup(&self) -> &Setup {
        match &self.protocol {
            Some(Protocol::Smtp(args)) => &args.setup,
            Some(Protocol::Domains(args)) => &args.setup,
            Some(Protocol::Deliver(args)) => &args.setup,
            Some(Protocol::Queue(args)) => &args.setup,
            Some(Protocol::Neighbours(args)) => &args.setup,
            Some(Protocol::Accounts(args)) => &args.setup,
            Some(Protocol::Pages(args)) => &args.setup,
            Some(Protocol::Transit(args)) => &args.setup,
            Some(Protocol::Growth(args)) => &args.setup,
            Some(Protocol::Nodes(args)) => &args.setup,
            Some(Protocol::Claims(args)) => &args.setup,
            Some(Protocol::Churn(args)) => &args.setup,
            Some(Protocol::Floor(_)) | None => &self.http.setup,
        }
    }
}

impl AcceptPeer {
    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Node => "node",
        }
    }
}

impl Setup {
    /// When to stop at the latest.
    pub fn time(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }

    /// A directory that goes away with its owner.
    pub fn work_dir(&self) -> std::io::Result<tempfile::TempDir> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("waxwing-load-");
        match &self.work_dir {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        }
    }
}

impl Template {
    /// Every template.
    pub const ALL: [Self; 2] = [Self::Invoice, Self::Line];

    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invoice => "8k",
            Self::Line => "line",
        }
    }

    /// Its folder in `load/templates`; its slug is `load-` and this.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Invoice => "invoice",
            Self::Line => "line",
        }
    }

    /// The data of one send, as JSON.
    pub fn data(self) -> &'static str {
        match self {
            Self::Invoice => include_str!("templates/invoice/data.json"),
            Self::Line => include_str!("templates/line/data.json"),
        }
    }
}

impl Mode {
    /// For the report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Hold => "hold",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    fn parse(line: &str) -> Result<CommandLine, clap::Error> {
        CommandLine::try_parse_from(line.split_whitespace())
    }

    fn smtp(line: &str) -> SmtpArgs {
        match parse(line).expect("a valid line").protocol {
            Some(Protocol::Smtp(args)) => args,
            Some(
                Protocol::Domains(_)
                | Protocol::Nodes(_)
                | Protocol::Claims(_)
                | Protocol::Churn(_)
                | Protocol::Deliver(_)
                | Protocol::Queue(_)
                | Protocol::Neighbours(_)
                | Protocol::Accounts(_)
                | Protocol::Floor(_)
                | Protocol::Growth(_)
                | Protocol::Pages(_)
                | Protocol::Transit(_),
            )
            | None => panic!("{line} is not about SMTP"),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn without_a_protocol_it_is_http() {
        let line = parse("waxwing-load --sends 5 --seconds 7").expect("a valid line");
        assert!(line.protocol.is_none());
        assert_eq!((line.http.sends, line.setup().seconds), (5, 7));
    }

    #[test]
    fn a_peer_of_the_accept_path_holds_deliveries_back() {
        let http = |line: &str| parse(line).expect("a valid line").http;
        for (word, peer) in [("floor", AcceptPeer::Floor), ("node", AcceptPeer::Node)] {
            let args = http(&format!("waxwing-load --against {word}"));
            assert_eq!((args.against, args.mode()), (Some(peer), Mode::Hold));
            assert_eq!(peer.as_str(), word);
        }
        assert_eq!(http("waxwing-load").mode(), Mode::Deliver);
        for other in ["--deliver", "--swap 700"] {
            let line = format!("waxwing-load --against floor {other}");
            let kind = parse(&line).map_err(|error| error.kind()).err();
            assert_eq!(kind, Some(ErrorKind::ArgumentConflict), "{line}");
        }
    }

    #[test]
    fn smtp_has_its_own_arguments() {
        let args = smtp("waxwing-load smtp --against haraka --shape fresh --seconds 7");
        assert_eq!((args.against, args.messages()), (Some(Peer::Haraka), 2_000));
        assert_eq!((args.resumption(), args.pipelining()), (Resumption::Off, Pipelining::Off));
        let args = smtp("waxwing-load smtp");
        assert_eq!((args.messages(), args.pipelining()), (10_000, Pipelining::On));
        let kind = parse("waxwing-load --sends 5 smtp").map_err(|error| error.kind()).err();
        assert_eq!(kind, Some(ErrorKind::ArgumentConflict));
    }

    #[test]
    fn idle_sessions_send_nothing() {
        assert_eq!(smtp("waxwing-load smtp --idle 9").idle, Some(9));
        for shape in ["--shape fresh", "--messages 5", "--rounds 2"] {
            let line = format!("waxwing-load smtp --idle 9 {shape}");
            let kind = parse(&line).map_err(|error| error.kind()).err();
            assert_eq!(kind, Some(ErrorKind::ArgumentConflict), "{line}");
        }
    }
}
