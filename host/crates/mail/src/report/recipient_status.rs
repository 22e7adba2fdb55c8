//! What a delivery report says of one recipient (RFC 3464 section 2.3), and what it means for the address.

use super::diagnostic;
use crate::address::EmailAddress;
use crate::status::{EnhancedCode, ReplyClass, ServerReply, Stage, classify};

/// Longest text without a code that is classified, in characters.
const MAX_PROSE_CHARS: usize = 200;

/// What became of a message for one recipient (RFC 3464 section 2.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientStatus {
    /// The address that the sender gave (Original-Recipient, RFC 3464 section 2.3.1).
    pub original_recipient: Option<EmailAddress>,
    /// The address that the reporting server tried to deliver to, after aliases (Final-Recipient).
    pub final_recipient: Option<EmailAddress>,
    pub action: Action,
    pub status: Option<EnhancedCode>,
    /// The refusing server's reply, on one line without control characters.
    pub diagnostic: Option<String>,
    /// The server that refused.
    pub remote_mta: Option<String>,
}

/// What happened to a message (RFC 3464 section 2.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It was given up.
    Failed,
    /// It is still being tried.
    Delayed,
    Delivered,
    /// It went to a server that sends no reports.
    Relayed,
    /// It went on to several addresses.
    Expanded,
}

impl RecipientStatus {
    /// A status of which nothing is known but what happened.
    pub(super) fn of(action: Action) -> Self {
        Self {
            original_recipient: None,
            final_recipient: None,
            action,
            status: None,
            diagnostic: None,
            remote_mta: None,
        }
    }

    /// What it means for the address if it has failed. Whoever reports a failure has given up, also
    /// over something temporary.
    #[must_use]
    pub fn reply_class(&self) -> ReplyClass {
        let (code, inner, text) = diagnostic::reply(self.diagnostic.as_deref().unwrap_or_default());
        // The refusing server's own code comes first; `5.0.0` says nothing.
        let specific = |it: &EnhancedCode| !it.is_general();
        let own = inner.filter(specific).or_else(|| self.status.filter(specific));
        let enhanced = own.or(inner).or(self.status);
        let code = match (code, enhanced) {
            // Long prose may speak of everything.
            (None, None) => Some(550).filter(|_| text.chars().count() <= MAX_PROSE_CHARS),
            (code, _) => code,
        };
        match classify(ServerReply { code, enhanced, text, stage: Stage::Later }) {
            ReplyClass::Transient | ReplyClass::SuspectAddress => ReplyClass::Rejected,
            class @ (ReplyClass::DeadAddress | ReplyClass::Rejected) => class,
        }
    }

    /// The code of the reply in its diagnostic.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        diagnostic::reply(self.diagnostic.as_deref().unwrap_or_default()).0
    }

    /// Why, in one line.
    #[must_use]
    pub fn reason(&self) -> String {
        match (&self.diagnostic, self.status) {
            (Some(diagnostic), _) => diagnostic.clone(),
            (None, Some(status)) => format!("reported as {status}, without an explanation"),
            (None, None) => "a failure was reported without a reason".to_owned(),
        }
    }

    pub(super) fn is_of(&self, recipient: &EmailAddress) -> bool {
        let same = |it: &Option<EmailAddress>| {
            it.as_ref().is_some_and(|it| it.folded() == recipient.folded())
        };
        same(&self.original_recipient) || same(&self.final_recipient)
    }
}
