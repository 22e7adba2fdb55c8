//! What stops a session or a message.

use std::io;
use std::sync::Arc;

use waxwing_smtp::client::reply::Reply;
use waxwing_smtp::client::violation::Violation;

/// What stops a session or a message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Cause {
    /// The server says no.
    #[error("{0}")]
    Reply(Reply),
    /// The connection was refused or cut.
    #[error("{0}")]
    Io(#[from] IoFailure),
    #[error("the server has closed the connection")]
    Closed,
    /// A message for a session that an earlier one has ended.
    #[error("the session is over")]
    SessionOver,
    /// The server does not answer, or does not listen.
    #[error("no answer in time")]
    Timeout,
    /// What the server says is no SMTP.
    #[error("{0}")]
    Protocol(#[from] Violation),
    /// The TLS handshake failed, or the server offers a version or cipher that this client does not take.
    #[error("{0}")]
    Tls(#[source] rustls::Error),
    #[error("no certificate can name `{host}`")]
    UnnameableHost { host: String },
    /// The certificate of the server is not trusted.
    #[error("{0}")]
    Certificate(#[source] rustls::Error),
    /// The server does not offer what is needed; it has not been asked.
    #[error("{0}")]
    Unsupported(#[from] Unsupported),
}

/// An error of the system; two of one kind and number are the same.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct IoFailure(Arc<io::Error>);

impl From<io::Error> for IoFailure {
    fn from(error: io::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl PartialEq for IoFailure {
    fn eq(&self, other: &Self) -> bool {
        (self.0.kind(), self.0.raw_os_error()) == (other.0.kind(), other.0.raw_os_error())
    }
}

/// What a message or a login needs and a server does not offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The message is over the server's limit (RFC 1870).
    #[error("552 5.3.4 the message has {octets} octets, and the server takes {limit} at most")]
    TooLarge { octets: u64, limit: u64 },
    /// 8BITMIME.
    #[error("554 5.6.3 the message has 8-bit content, and the server does not offer 8BITMIME")]
    EightBit,
    /// SMTPUTF8.
    #[error("550 5.6.7 the message or an address needs SMTPUTF8, and the server does not offer it")]
    Utf8,
    /// A CR without its LF, or an LF without its CR, which servers read in different ways.
    #[error("554 5.6.0 the message has a bare CR or LF")]
    BareLineBreak,
    #[error("the server does not offer STARTTLS")]
    StartTls,
    /// AUTH with PLAIN or LOGIN.
    #[error("the server offers neither AUTH PLAIN nor AUTH LOGIN")]
    Login,
    /// A password would go over the network for everybody to read.
    #[error("the connection is not encrypted, so that there is no login over it")]
    LoginInPlainText,
}
