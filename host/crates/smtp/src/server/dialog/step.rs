//! What a session and its driver exchange: settings, steps, the submitted message.

pub use crate::server::data::BareNewline;
use crate::server::dialog::Credentials;
use crate::server::reply::Reply;
use waxwing_mail::address::EmailAddress;

/// Host name and limits of a session.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    /// What the server calls itself.
    pub hostname: String,
    /// The largest message, in octets.
    pub message_bytes: usize,
    /// The most recipients of one message.
    pub recipients: usize,
    /// Whether a bare LF in a message is normalised to CRLF or refused (SMTP smuggling).
    pub bare_newline: BareNewline,
}

/// Whether the bytes go through TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Not yet: STARTTLS is offered and AUTH is not.
    Plain,
    Tls,
}

/// What the driver does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Write the output, then read more from the client: no complete command is left.
    Wait,
    /// Write the output, then go on with the same input: the output buffer is full.
    Flush,
    /// Write the output, shake hands, then [`super::Dialog::secured`].
    StartTls,
    /// Check the credentials (an API key), then [`super::Dialog::authenticated`].
    Authenticate(Credentials),
    /// MAIL was well formed; then [`super::Dialog::sender_checked`].
    Sender(Option<EmailAddress>),
    /// RCPT was well formed; then [`super::Dialog::recipient_checked`].
    Recipient(EmailAddress),
    /// The message is whole; then [`super::Dialog::submitted`].
    Submit(Box<Mail>),
    /// Write the output, then close.
    Close,
}

/// A submitted message with its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// What the client called itself: any printable text.
    pub hello: String,
    /// The envelope's sender; none is `MAIL FROM:<>`.
    pub sender: Option<EmailAddress>,
    /// At least one, each once, as they came.
    pub recipients: Vec<EmailAddress>,
    /// Whether the client declared SMTPUTF8 (RFC 6531).
    pub utf8: bool,
    /// The message, perhaps empty: lines of any length that end in CRLF, no other CR or LF, no NUL.
    /// Dot-stuffing of DATA is undone.
    pub data: Vec<u8>,
}

/// What a message was stored as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The identifiers for the reply, one for each recipient.
    pub ids: Vec<String>,
    /// How many of them are not sent, because their recipient is on the suppression list.
    pub suppressed: usize,
}

/// The phase of a session, which decides its time-out and how a shutdown ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not authenticated.
    Login,
    /// Authenticated, between two messages.
    Idle,
    /// MAIL was accepted.
    Transaction,
    /// The message is coming, by DATA or by chunks.
    Data,
}

/// Why the server ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dismissal {
    /// The server is shutting down.
    Stopping,
    /// The client was silent, or slow, for too long.
    Idle,
    /// The client's address has too many sessions, or the server has.
    TooManyConnections,
}

impl From<Dismissal> for Reply {
    fn from(why: Dismissal) -> Self {
        match why {
            Dismissal::Stopping => Self::Stopping,
            Dismissal::Idle => Self::Idle,
            Dismissal::TooManyConnections => Self::TooManyConnections,
        }
    }
}
