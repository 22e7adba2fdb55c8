//! The SMTP client (RFC 5321): one connection to one server, with its transcript.
//!
//! It takes every reply for what a stranger sent. Which server, when again and what a refusal means
//! for the message is decided by others.

mod auth;
mod cause;
mod hello;
mod session;
#[cfg(test)]
mod tests;
mod tls;
mod transaction;
mod wire;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::message::address::EmailAddress;

pub use cause::Cause;
#[cfg(test)]
use cause::Unsupported;
pub use session::Session;
pub use tls::TlsClient;
pub use waxwing_smtp::client::extensions::Extensions;
pub use waxwing_smtp::client::reply::Reply;
pub use waxwing_smtp::client::violation::Violation;

/// Whom to call, and how.
#[derive(Debug, Clone, Copy)]
pub struct Dial<'a> {
    pub address: SocketAddr,
    /// The address to call from; the system's choice where there is none.
    pub local: Option<IpAddr>,
    /// The name that its certificate must have.
    pub host: &'a str,
    pub hello: &'a str,
    pub security: Security,
    /// With what to log in.
    pub login: Option<&'a Login>,
}

/// How a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Security {
    /// Never.
    Plain,
    /// STARTTLS where it is offered, with any certificate (RFC 7435).
    Opportunistic,
    /// STARTTLS, with a valid certificate of that host.
    Verified,
    /// TLS from the first octet, with a valid certificate of that host (RFC 8314).
    Implicit,
}

/// An account at the other server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    pub password: Password,
}

/// A password; its debug form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

/// How long the other side may take (RFC 5321 section 4.5.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To accept the TCP connection.
    pub connect: Duration,
    /// For the greeting.
    pub greeting: Duration,
    /// For the whole reply to any other command, and for a TLS handshake.
    pub command: Duration,
    /// To take 64 KiB of a message.
    pub data_block: Duration,
    /// To take all of a message.
    pub content: Duration,
    /// To say whether it keeps a message that it has.
    pub end_of_data: Duration,
}

/// The envelope of a message for one recipient.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// Where bounces go; nowhere without one.
    pub sender: Option<&'a EmailAddress>,
    pub recipient: &'a EmailAddress,
    /// Whether the message has octets over 127: it needs 8BITMIME (RFC 6152).
    pub eight_bit: bool,
    /// Whether its header has them: it needs SMTPUTF8 (RFC 6531), as some addresses do.
    pub utf8: bool,
}

/// How far a session came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    Connect,
    Greeting,
    /// EHLO or HELO.
    Hello,
    StartTls,
    Handshake,
    /// AUTH.
    Login,
    /// RSET, which a message before this one made necessary.
    Reset,
    Mail,
    Rcpt,
    Data,
    /// Between 354 and the final dot: the message has not arrived.
    Content,
    /// After the final dot: without a reply it may have arrived.
    Dot,
}

/// A session that did not come about.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{stage}: {cause}")]
pub struct Broken {
    /// How far it came.
    pub stage: Stage,
    pub cause: Cause,
    pub transcript: String,
    /// How the connection was encrypted, as in [`Session::tls`].
    pub tls: Option<String>,
}

/// A message that was not taken.
///
/// A kept connection that was gone before its first command came through is known by its stage
/// ([`Stage::Reset`] or [`Stage::Mail`]), by not being usable, and by a cause that is no reply but 421.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{stage}: {cause}")]
pub struct Refused {
    /// How far it came.
    pub stage: Stage,
    pub cause: Cause,
    /// Whether the connection takes another message; what has to be reset is reset with that one.
    pub usable: bool,
}

impl Broken {
    /// A session that was given up before it came about.
    #[must_use]
    pub fn out_of_time() -> Self {
        Self { stage: Stage::Connect, cause: Cause::Timeout, transcript: String::new(), tls: None }
    }
}

impl Password {
    /// A password.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The password itself.
    fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

impl Default for Timeouts {
    /// Shorter than the RFC's where servers are quick or out of order.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            greeting: Duration::from_mins(1),
            command: Duration::from_mins(1),
            data_block: Duration::from_mins(3),
            content: Duration::from_mins(10),
            end_of_data: Duration::from_mins(10),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::Greeting => "the greeting",
            Self::Hello => "EHLO",
            Self::StartTls => "STARTTLS",
            Self::Handshake => "the TLS handshake",
            Self::Login => "AUTH",
            Self::Reset => "RSET",
            Self::Mail => "MAIL",
            Self::Rcpt => "RCPT",
            Self::Data => "DATA",
            Self::Content => "the message",
            Self::Dot => "the end of the message",
        })
    }
}
