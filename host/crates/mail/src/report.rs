//! Reports about sent messages: delivery status notifications (RFC 3464), non-standard bounces, and
//! abuse complaints (ARF, RFC 5965).
//!
//! Pure: bytes in, facts out. What is quoted in a report is not believed; which message it is about is
//! for the caller to know.

mod address;
mod arf;
mod diagnostic;
mod dsn;
mod mime;
mod recipient_status;
#[cfg(test)]
mod tests;
mod text;

use crate::address::EmailAddress;
use crate::status::ReplyClass;
use mime::ReportMessage;

pub use arf::{Complaint, ComplaintKind};
pub use recipient_status::{Action, RecipientStatus};

/// What a message reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// What became of a message, for each recipient that the report names; at least one.
    Delivery(Vec<RecipientStatus>),
    /// That somebody complains about a message.
    Complaint(Complaint),
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

/// Whether an address is that of a mail system, as those name themselves that do not use the empty one.
fn is_mail_system(sender: &EmailAddress) -> bool {
    let local = sender.local().to_ascii_lowercase();
    ["mailer-daemon", "postmaster", "mailerdaemon", "mail-daemon", "mdaemon"]
        .iter()
        .any(|it| local.starts_with(it))
}
