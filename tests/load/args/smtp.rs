//! The command line of `waxwing-load smtp`.

use clap::{Args as Arguments, ValueEnum};

use super::Setup;

/// Over SMTP.
#[derive(Debug, Arguments)]
pub struct SmtpArgs {
    /// How clients use their sessions
    #[arg(long, value_enum, default_value_t = Shape::Reused)]
    pub shape: Shape,
    /// Messages of one round [default: 10000, or 2000 where each has a session of its own]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    messages: Option<u32>,
    /// Connections, each with one message under way
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub connections: u32,
    /// Rounds; each figure is their median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub rounds: u32,
    /// Drive this one too, in turn with Waxwing
    #[arg(long, value_enum)]
    pub against: Option<Peer>,
    /// Resume TLS sessions, as few clients do
    #[arg(long)]
    resume: bool,
    /// Wait for each reply, also where the server offers PIPELINING
    #[arg(long)]
    no_pipelining: bool,
    /// Open so many sessions instead, log in, send nothing, and print the memory of one
    #[arg(long, value_name = "N", conflicts_with_all = ["shape", "messages", "rounds"],
        value_parser = clap::value_parser!(u32).range(1..=5_000))]
    pub idle: Option<u32>,
    /// The rest
    #[command(flatten)]
    pub setup: Setup,
}

/// How clients use their sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// STARTTLS and AUTH once, then one message after the other
    Reused,
    /// STARTTLS, AUTH, one message and QUIT, over and over
    Fresh,
}

/// A mail server to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    /// The installed Postfix, as a private instance
    Postfix,
    /// Haraka from npm, one process a core; neither server is sent pipelined commands then
    Haraka,
}

/// What a client does with sessions of TLS that it has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    /// It forgets them.
    Off,
    /// It comes back with a ticket.
    On,
}

/// Whether commands wait for replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipelining {
    /// MAIL, RCPT and DATA go out together where the server offers it (RFC 2920).
    On,
    /// Each reply is waited for.
    Off,
}

impl SmtpArgs {
    /// Messages of one round.
    pub fn messages(&self) -> u32 {
        self.messages.unwrap_or(match self.shape {
            Shape::Reused => 10_000,
            Shape::Fresh => 2_000,
        })
    }

    pub fn resumption(&self) -> Resumption {
        if self.resume { Resumption::On } else { Resumption::Off }
    }

    pub fn pipelining(&self) -> Pipelining {
        // Haraka writes each of the three replies by itself, so that the second waits for the first
        // one's delayed acknowledgement: 40 ms, which would say nothing about its speed.
        match self.against {
            Some(Peer::Haraka) => Pipelining::Off,
            Some(Peer::Postfix) | None if self.no_pipelining => Pipelining::Off,
            Some(Peer::Postfix) | None => Pipelining::On,
        }
    }
}

impl Shape {
    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reused => "reused",
            Self::Fresh => "fresh",
        }
    }
}

impl Peer {
    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Postfix => "postfix",
            Self::Haraka => "haraka",
        }
    }
}
