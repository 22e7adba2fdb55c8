//! Bounces outside RFC 3464: Exim's and qmail's (QSBMF) formats, and free text.
//!
//! When in doubt the message is not a bounce: an automatic reply must not fail a message.

use super::address::address;
use super::diagnostic::{quoted_reply, reply, tidy};
use super::mime::ReportMessage;
use super::recipient_status::{Action, RecipientStatus};
use crate::status::EnhancedCode;

/// Characters of the text that are searched, at most.
const MAX_TEXT_CHARS: usize = 32 << 10;
/// Recipients of one report that are read, at most.
const MAX_RECIPIENTS: usize = 50;

/// The recipients and reasons in the text of a bounce; empty if the message is not a bounce.
pub(super) fn read(parts: &ReportMessage<'_>) -> Vec<RecipientStatus> {
    if is_automatic_reply(parts) {
        return Vec::new();
    }
    let text: String = parts.text().chars().take(MAX_TEXT_CHARS).collect();
    let text = before_returned_message(&text);
    let action = if is_delayed(&parts.subject(), text) { Action::Delayed } else { Action::Failed };
    let named = exim(parts, text, action);
    if !named.is_empty() {
        return named;
    }
    let paragraphs = qmail(text, action);
    if !paragraphs.is_empty() {
        return paragraphs;
    }
    free_text(parts, text, action).into_iter().collect()
}

/// A vacation notice, a challenge-response or a list message, not a bounce (RFC 3834 and its predecessors).
fn is_automatic_reply(parts: &ReportMessage<'_>) -> bool {
    const SUBJECTS: [&str; 12] = [
        "abwesen",
        "auto reply",
        "auto-reply",
        "autoreply",
        "auto response",
        "automatic reply",
        "automatische antwort",
        "autom. antwort",
        "on vacation",
        "out of office",
        "out of the office",
        "réponse automatique",
    ];
    let header = &parts.header;
    let has = |name: &str| header.value(name).is_some();
    let precedence = header.value("precedence").unwrap_or_default().to_ascii_lowercase();
    let subject = parts.subject().to_lowercase();
    ["x-autoreply", "x-autorespond", "x-autoresponder", "list-id"].iter().any(|it| has(it))
        || ["auto_reply", "auto-reply"].contains(&precedence.trim())
        || SUBJECTS.iter().any(|it| subject.contains(it))
}

fn is_delayed(subject: &str, text: &str) -> bool {
    const SUBJECT: [&str; 9] = [
        "(delay)",
        "could not send mail for past",
        "could not send message for past",
        "delayed",
        "delivery is delayed",
        "still being retried",
        "notification: warning",
        "warning:",
        "warnung:",
    ];
    const TEXT: [&str; 10] = [
        "a warning message only",
        "do not need to resend",
        "does not need to be resent",
        "has been delayed",
        "has not yet been delivered",
        "is still in the queue",
        "no action is required on your part",
        "will be retried",
        "will continue to be",
        "will keep trying",
    ];
    let (subject, text) = (subject.to_lowercase(), one_line(text).to_lowercase());
    SUBJECT.iter().any(|it| subject.contains(it)) || TEXT.iter().any(|it| text.contains(it))
}

/// The text before the returned message.
fn before_returned_message(text: &str) -> &str {
    const MARKS: [&str; 11] = [
        "--- below",
        "below is a copy of the original message",
        "--- enclosed",
        "------ this is a copy",
        "-----original message",
        "----- original message",
        "--- original message",
        "----- unsent message",
        "--- undelivered message",
        "return-path:",
        "received: from ",
    ];
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start().to_lowercase();
        if MARKS.iter().any(|it| start.starts_with(it)) {
            break;
        }
        end += line.len();
    }
    text.get(..end).unwrap_or(text)
}

/// Exim names the recipients in a field, and says why below each.
fn exim(parts: &ReportMessage<'_>, text: &str, action: Action) -> Vec<RecipientStatus> {
    let named = parts.header.all("x-failed-recipients").flat_map(|it| it.split(','));
    let named = named.filter_map(address).take(MAX_RECIPIENTS);
    named
        .map(|recipient| {
            let wanted = recipient.folded();
            let mut lines = text.lines().skip_while(|line| {
                let line = line.trim().to_lowercase();
                line.split_whitespace().next() != Some(wanted.as_str())
            });
            lines.next();
            let reason: Vec<&str> = lines
                .take_while(|line| line.starts_with([' ', '\t']) && address_alone(line).is_none())
                .collect();
            let diagnostic = tidy(&reason.join(" "));
            let said = diagnostic.as_deref().and_then(quoted_reply).and_then(tidy).or(diagnostic);
            status(action, Some(recipient), said)
        })
        .collect()
}

/// The address on a line that holds nothing else.
fn address_alone(line: &str) -> Option<String> {
    let word = line.trim();
    (word.contains('@') && !word.contains(char::is_whitespace)).then(|| word.to_owned())
}

/// qmail's form: after a paragraph of greeting, one for each recipient: `<address>:`, and why.
fn qmail(text: &str, action: Action) -> Vec<RecipientStatus> {
    let mut statuses = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let named = line.trim_end().strip_prefix('<').and_then(|it| it.strip_suffix(">:"));
        let Some(recipient) = named.and_then(address) else { continue };
        let mut reason = Vec::new();
        while let Some(line) = lines.next_if(|it| !it.trim().is_empty()) {
            reason.push(line.trim());
        }
        let reason = tidy(&reason.join(" "));
        let said = reason.as_deref().and_then(quoted_reply).and_then(tidy).or(reason);
        statuses.push(status(action, Some(recipient), said));
        if statuses.len() >= MAX_RECIPIENTS {
            break;
        }
    }
    statuses
}

/// Any other bounce text; only if From is a mail system.
fn free_text(parts: &ReportMessage<'_>, text: &str, action: Action) -> Option<RecipientStatus> {
    const FAILED: [&str; 26] = [
        "an error has occurred while attempting to deliver",
        "cannot be delivered",
        "could not be delivered",
        "could not deliver",
        "delivery failed",
        "delivery failure",
        "delivery has failed",
        "delivery status notification (failure)",
        "delivery was aborted",
        "did not reach",
        "error sending your mail",
        "failed permanently",
        "failed to deliver",
        "failure notice",
        "had delivery errors",
        "mail failed",
        "mail failure",
        "non delivery",
        "non-delivery",
        "nondeliverable",
        "returned mail",
        "unable to deliver",
        "undeliver",
        "unzustellbar",
        "was not delivered",
        "wasn't able to deliver",
    ];
    if !is_from_mail_system(parts) {
        return None;
    }
    let line = one_line(text);
    if action == Action::Delayed {
        return Some(status(action, None, None));
    }
    let said = quoted_reply(&line).or_else(|| from_enhanced_code(&line)).and_then(tidy);
    let both = format!("{} {line}", parts.subject()).to_lowercase();
    if said.is_none() && !FAILED.iter().any(|it| both.contains(it)) {
        return None;
    }
    Some(status(action, None, said.or_else(|| tidy(&line))))
}

/// Whether From is a name that mail systems give themselves.
fn is_from_mail_system(parts: &ReportMessage<'_>) -> bool {
    const NAMES: [&str; 6] = [
        "mail deliver",
        "mailer daemon",
        "mailer-daemon",
        "mail.delivery",
        "postmaster",
        "post_master",
    ];
    let from = parts.header.value("from").unwrap_or_default().to_lowercase();
    from.trim() == "<>" || NAMES.iter().any(|it| from.contains(it))
}

fn status(
    action: Action,
    final_recipient: Option<crate::address::EmailAddress>,
    diagnostic: Option<String>,
) -> RecipientStatus {
    let (_, status, _) = reply(diagnostic.as_deref().unwrap_or_default());
    RecipientStatus { final_recipient, status, diagnostic, ..RecipientStatus::of(action) }
}

/// From the first `#` on, if the text has an enhanced code but no reply: `#5.1.1`.
fn from_enhanced_code(text: &str) -> Option<&str> {
    EnhancedCode::find(text)?;
    text.get(text.find('#')?..)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
