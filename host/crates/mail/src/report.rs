//! Reports about sent messages: delivery status notifications (RFC 3464), non-standard bounces, and
//! abuse complaints (ARF, RFC 5965).
//!
//! Pure: bytes in, facts out. What is quoted in a report is not believed; which message it is about is
//! for the caller to know.

mod arf;
mod dsn;
mod mime;
#[cfg(test)]
mod tests;
mod text;

use crate::address::EmailAddress;
use crate::status::{EnhancedCode, ReplyClass, ServerReply, Stage, classify};
use mime::ReportMessage;

pub use arf::{Complaint, ComplaintKind};

/// Longest text without a code that is classified, in characters.
const MAX_PROSE_CHARS: usize = 200;
/// Longest diagnostic that is kept, in characters.
const MAX_DIAGNOSTIC_CHARS: usize = 1_000;

/// What a message reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// What became of a message, for each recipient that the report names; at least one.
    Delivery(Vec<RecipientStatus>),
    /// That somebody complains about a message.
    Complaint(Complaint),
}

/// What became of a message for one recipient (RFC 3464 section 2.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientStatus {
    /// The recipient that the sender gave.
    pub original_recipient: Option<EmailAddress>,
    /// The recipient to whom the reporting server tried to deliver, after aliases.
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

/// Reads a report; none for any other message.
///
/// `sender` is the envelope sender: non-standard bounces are read only from the null sender or a mail
/// system.
#[must_use]
pub fn parse(raw: &[u8], sender: Option<&EmailAddress>) -> Option<Report> {
    let parts = ReportMessage::of(raw);
    if let Some(complaint) = arf::read(&parts) {
        return Some(Report::Complaint(complaint));
    }
    let mut statuses = dsn::read(&parts);
    if statuses.is_empty() && sender.is_none_or(is_mail_system) {
        statuses = text::read(&parts);
    }
    (!statuses.is_empty()).then_some(Report::Delivery(statuses))
}

/// What delivery reports mean for a message to `recipient`: the status by which it has failed; none
/// where it has not.
///
/// A report may name other addresses, behind an alias. If it names several and none of them is the
/// recipient, the message has failed only when it has failed for all.
#[must_use]
pub fn failure<'a>(
    statuses: &'a [RecipientStatus],
    recipient: &EmailAddress,
) -> Option<(&'a RecipientStatus, ReplyClass)> {
    let failed = |it: &&RecipientStatus| it.action == Action::Failed;
    let own = statuses.iter().find(|it| it.is_of(recipient));
    if let Some(own) = own {
        return Some(own).filter(failed).map(|it| (it, it.reply_class()));
    }
    match statuses {
        [only] => Some(only).filter(failed).map(|it| (it, it.reply_class())),
        several => {
            let all = several.iter().all(|it| failed(&it));
            // Which of the addresses behind it is dead says nothing of the one in front.
            several.first().filter(|_| all).map(|it| (it, ReplyClass::Rejected))
        }
    }
}

impl RecipientStatus {
    /// A status of which nothing is known but what happened.
    fn of(action: Action) -> Self {
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
        let (code, inner, text) = reply(self.diagnostic.as_deref().unwrap_or_default());
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
        reply(self.diagnostic.as_deref().unwrap_or_default()).0
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

    fn is_of(&self, recipient: &EmailAddress) -> bool {
        let same = |it: &Option<EmailAddress>| {
            it.as_ref().is_some_and(|it| it.folded() == recipient.folded())
        };
        same(&self.original_recipient) || same(&self.final_recipient)
    }
}

/// The code, the enhanced code and the words of the reply in a diagnostic, which may stand behind other
/// words.
fn reply(diagnostic: &str) -> (Option<u16>, Option<EnhancedCode>, &str) {
    let diagnostic = text::quoted_reply(diagnostic).unwrap_or(diagnostic);
    let digits = diagnostic.split_at_checked(3).filter(|(code, rest)| {
        code.bytes().all(|it| it.is_ascii_digit())
            && rest.chars().next().is_none_or(|it| it == ' ' || it == '-')
    });
    let (code, text) = match digits {
        Some((code, rest)) => (code.parse().ok(), rest.trim_start_matches(['-', ' ', '\'', ':'])),
        None => (None, diagnostic),
    };
    (code, EnhancedCode::find(text), text)
}

/// A diagnostic in one line without control characters; none if there is nothing left.
fn tidy(text: &str) -> Option<String> {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = printable.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(MAX_DIAGNOSTIC_CHARS).collect();
    (!line.is_empty()).then_some(line)
}

/// An address as reports write them: with a type, in angle brackets, with a remark.
fn address(text: &str) -> Option<EmailAddress> {
    let (kind, rest) = text.split_once(';').unwrap_or(("", text));
    let bare = if kind.contains('@') { text } else { rest };
    let inside = bare.split_once('<').map_or(bare, |(_, it)| it.split('>').next().unwrap_or(it));
    let first = inside.split_whitespace().next()?;
    first.trim_matches(['<', '>', '"', '\'', ',']).parse().ok()
}

/// Whether an address is that of a mail system, as those name themselves that do not use the empty one.
fn is_mail_system(sender: &EmailAddress) -> bool {
    let local = sender.local().to_ascii_lowercase();
    ["mailer-daemon", "postmaster", "mailerdaemon", "mail-daemon", "mdaemon"]
        .iter()
        .any(|it| local.starts_with(it))
}
