//! Reports about messages that were sent: delivery reports (RFC 3464), also in the forms of servers
//! that know no standard, and complaints (RFC 5965).
//!
//! Pure: bytes in, facts out. What is quoted in a report is not believed; which message it is about is
//! for the caller to know.

mod arf;
mod dsn;
mod part;
#[cfg(test)]
mod tests;
mod text;

use crate::address::EmailAddress;
use crate::status::{EnhancedCode, Judgement, Said, Stage, judge};
use part::Parts;

pub use arf::{Complaint, ComplaintKind};

/// Letters of words without any code that are taken for a verdict.
const MAX_PROSE_CHARS: usize = 200;
/// Letters of a diagnostic that are kept.
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
    pub original: Option<EmailAddress>,
    /// The recipient that the reporting server had in the end.
    pub last: Option<EmailAddress>,
    pub action: Action,
    /// The status code.
    pub status: Option<EnhancedCode>,
    /// The words of the server that said no, in one line without control characters.
    pub diagnostic: Option<String>,
    /// The server that said no.
    pub remote: Option<String>,
}

/// What happened to a message (RFC 3464 section 2.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It was given up.
    Failed,
    /// It is still being tried.
    Delayed,
    /// It arrived.
    Delivered,
    /// It went to a server that sends no reports.
    Relayed,
    /// It went on to several addresses.
    Expanded,
}

/// Reads a report; none for any other message.
///
/// `sender` is the envelope's: only a message from nobody, or from a mail system itself, is read as one
/// of the forms that no standard knows.
#[must_use]
pub fn parse(raw: &[u8], sender: Option<&EmailAddress>) -> Option<Report> {
    let parts = Parts::of(raw);
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
) -> Option<(&'a RecipientStatus, Judgement)> {
    let failed = |it: &&RecipientStatus| it.action == Action::Failed;
    let own = statuses.iter().find(|it| it.is_of(recipient));
    if let Some(own) = own {
        return Some(own).filter(failed).map(|it| (it, it.judgement()));
    }
    match statuses {
        [only] => Some(only).filter(failed).map(|it| (it, it.judgement())),
        several => {
            let all = several.iter().all(|it| failed(&it));
            // Which of the addresses behind it is dead says nothing of the one in front.
            several.first().filter(|_| all).map(|it| (it, Judgement::Refused))
        }
    }
}

impl RecipientStatus {
    /// A status of which nothing is known but what happened.
    fn of(action: Action) -> Self {
        Self { original: None, last: None, action, status: None, diagnostic: None, remote: None }
    }

    /// What it means for the address if it has failed. Whoever reports a failure has given up, also
    /// over something temporary.
    #[must_use]
    pub fn judgement(&self) -> Judgement {
        let (code, inner, text) = reply(self.diagnostic.as_deref().unwrap_or_default());
        // What the refusing server itself said comes first; `5.0.0` is written by those who have not looked.
        let specific = |it: &EnhancedCode| !it.is_general();
        let own = inner.filter(specific).or_else(|| self.status.filter(specific));
        let enhanced = own.or(inner).or(self.status);
        let code = match (code, enhanced) {
            // Long prose may speak of everything.
            (None, None) => Some(550).filter(|_| text.chars().count() <= MAX_PROSE_CHARS),
            (code, _) => code,
        };
        match judge(Said { code, enhanced, text, stage: Stage::Later }) {
            Judgement::Temporary | Judgement::Suspect => Judgement::Refused,
            judgement @ (Judgement::Hard | Judgement::Refused) => judgement,
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
            (None, Some(status)) => format!("{status} was reported, without words"),
            (None, None) => "a failure was reported, without a reason".to_owned(),
        }
    }

    fn is_of(&self, recipient: &EmailAddress) -> bool {
        let same = |it: &Option<EmailAddress>| {
            it.as_ref().is_some_and(|it| it.folded() == recipient.folded())
        };
        same(&self.original) || same(&self.last)
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
