//! The listener for reports: where mail servers bring back what they could not deliver, and mailbox
//! providers say that somebody complains.
//!
//! It takes mail only for return paths that this server has made, for the addresses of feedback loops
//! and for postmaster, and hands nothing on: there is no way through it to anybody else.

pub mod dialog;
mod intake;
mod reporters;
pub mod session;

use crate::id::MessageId;
use crate::mail::verp::Verp;
use crate::message::address::EmailAddress;

pub use intake::{Intake, IntakeError, SuppressionSettings};
pub use reporters::{InvalidReporter, KeyUnseen, Reporter, Reporters};

/// The addresses for which the listener takes mail.
#[derive(Debug)]
pub struct Addresses {
    /// Return paths.
    pub verp: Verp,
    /// At which mailbox providers report complaints.
    pub feedback: Vec<EmailAddress>,
    /// The name of this server.
    pub hostname: String,
    /// Where return paths lead; sender domains have an alias of it under the same first label.
    pub return_path_host: String,
}

/// For whom the listener takes mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    ReturnPath(MessageId),
    /// The address of a feedback loop.
    Feedback,
    /// Whoever is responsible (RFC 5321 section 4.5.1).
    Postmaster,
}

/// A message as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The envelope's sender; none is `MAIL FROM:<>`.
    pub sender: Option<EmailAddress>,
    /// At least one.
    pub recipients: Vec<Recipient>,
    /// The message: lines that end in CRLF, no other CR or LF.
    pub data: Vec<u8>,
}

impl Addresses {
    /// For whom mail to an address is; none where nobody expects any. The domain does not matter: every
    /// sender domain has an alias of this server, and a return path proves itself.
    #[must_use]
    pub fn recipient(&self, address: &EmailAddress) -> Option<Recipient> {
        if let Some(message) = self.verp.read(address.local()) {
            return Some(Recipient::ReturnPath(message));
        }
        let folded = address.folded();
        if self.feedback.iter().any(|it| it.folded() == folded) {
            return Some(Recipient::Feedback);
        }
        let is_postmaster = address.local().eq_ignore_ascii_case("postmaster");
        (is_postmaster && self.is_ours(address.host())).then_some(Recipient::Postmaster)
    }

    /// Whether a host is this server, or may be an alias of it: it is not to look like an open relay.
    fn is_ours(&self, host: &str) -> bool {
        let label = self.return_path_host.split('.').next().unwrap_or_default();
        let is_alias = host.split_once('.').is_some_and(|(first, _)| first == label);
        is_alias || host == self.hostname || host == self.return_path_host
    }
}
