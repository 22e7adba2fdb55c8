//! The SMTP reply to a refusal of the journey: the relay's one mapper. Codes and usual words stand in
//! `crates/smtp`.

#[cfg(test)]
mod manual;
#[cfg(test)]
mod tests;

use waxwing_smtp::server::reply::{Answer, Reply};

use crate::journey::accept::refusal::{Fault, Outage, Refusal};

/// Lines of one reply, at most.
const MAX_REPLY_LINES: usize = 20;

/// How a message is refused that the balance does not cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpaid {
    /// 451: the client's queue keeps it and tries again.
    Temporary,
    /// 550: the client gives it up.
    Permanent,
}

/// The command that a refusal answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// AUTH.
    Login,
    /// MAIL.
    Sender,
    /// RCPT.
    Recipient,
    /// The end of the message.
    End,
}

/// The reply to a refusal; its code word stands first.
#[must_use]
pub fn answer(moment: Moment, refusal: &Refusal, unpaid: Unpaid) -> Answer {
    let reply = match moment {
        Moment::Login => login(refusal),
        Moment::Sender => envelope(refusal, Reply::BadSender, unpaid),
        Moment::Recipient => envelope(refusal, Reply::BadRecipient, unpaid),
        Moment::End => message(refusal, unpaid),
    };
    let mut lines = words(refusal, reply);
    if let Some(first) = lines.first_mut() {
        *first = format!("{} {first}", refusal.code());
    }
    Answer { reply, lines }
}

fn login(refusal: &Refusal) -> Reply {
    match refusal {
        Refusal::Unauthorized => Reply::WrongKey,
        Refusal::RateLimited { .. } | Refusal::TooManyFailedLogins { .. } => Reply::TooManyLogins,
        Refusal::Unavailable { outage: Outage::Stopping, .. } => Reply::Stopping,
        Refusal::Unavailable {
            outage: Outage::Plugin | Outage::Store | Outage::Busy | Outage::Maintenance,
            ..
        }
        | Refusal::Internal { .. } => Reply::LoginOutage,
        Refusal::Forbidden { .. }
        | Refusal::BadRequest { .. }
        | Refusal::InsufficientBalance { .. }
        | Refusal::DomainNotVerified { .. }
        | Refusal::RestrictedTemplate { .. }
        | Refusal::IdempotencyConflict
        | Refusal::IdempotencyInFlight => Reply::LoginNotAllowed,
    }
}

/// There is no content yet that could be wrong: it is the address.
fn envelope(refusal: &Refusal, bad_address: Reply, unpaid: Unpaid) -> Reply {
    let reply = message(refusal, unpaid);
    if reply == Reply::BadContent { bad_address } else { reply }
}

fn message(refusal: &Refusal, unpaid: Unpaid) -> Reply {
    match refusal {
        Refusal::BadRequest { .. } => Reply::BadContent,
        Refusal::Unauthorized => Reply::KeyGone,
        Refusal::InsufficientBalance { .. } => match unpaid {
            Unpaid::Temporary => Reply::Unpaid,
            Unpaid::Permanent => Reply::UnpaidForGood,
        },
        Refusal::DomainNotVerified { .. } => Reply::DomainNotVerified,
        Refusal::RestrictedTemplate { .. } => Reply::RestrictedTemplate,
        Refusal::Forbidden { retry_after_s: None, .. } => Reply::Forbidden,
        Refusal::Forbidden { retry_after_s: Some(_), .. } => Reply::ForbiddenForNow,
        Refusal::RateLimited { .. } => Reply::RateLimited,
        Refusal::TooManyFailedLogins { .. } => Reply::TooManyLogins,
        Refusal::IdempotencyConflict => Reply::IdempotencyConflict,
        Refusal::IdempotencyInFlight => Reply::InFlight,
        Refusal::Internal { .. } => Reply::Internal,
        Refusal::Unavailable { outage, .. } => match outage {
            Outage::Plugin => Reply::PluginOutage,
            Outage::Store => Reply::StoreOutage,
            Outage::Busy => Reply::Busy,
            Outage::Stopping => Reply::Stopping,
            Outage::Maintenance => Reply::ReadOnly,
        },
    }
}

/// The words after the code word, at least one line.
fn words(refusal: &Refusal, reply: Reply) -> Vec<String> {
    let line = match refusal {
        Refusal::BadRequest { faults } => return fault_lines(faults),
        // The key is no header field here.
        Refusal::Unauthorized => {
            reply.text().split_once(' ').map_or("", |(_, words)| words).to_owned()
        }
        Refusal::InsufficientBalance { required, balance } => {
            format!("need {}, have {}", required.0, balance.0)
        }
        Refusal::DomainNotVerified { domain, progress, missing } if missing.is_empty() => {
            format!("{domain} {progress}%")
        }
        Refusal::DomainNotVerified { domain, progress, missing } => {
            format!("{domain} {progress}% (missing {})", missing.join(", "))
        }
        // HTTP says the time in `Retry-After`.
        Refusal::Forbidden { message, retry_after_s: Some(seconds) } => {
            format!("{message}; try again in {seconds} s")
        }
        Refusal::Forbidden { retry_after_s: None, .. }
        | Refusal::TooManyFailedLogins { .. }
        | Refusal::RateLimited { .. }
        | Refusal::IdempotencyConflict
        | Refusal::IdempotencyInFlight
        | Refusal::RestrictedTemplate { .. }
        | Refusal::Internal { .. }
        | Refusal::Unavailable { .. } => refusal.message(),
    };
    vec![line]
}

fn fault_lines(faults: &[Fault]) -> Vec<String> {
    let text = |fault: &Fault| match fault.field.as_str() {
        "" => fault.message.clone(),
        field => format!("{field}: {}", fault.message),
    };
    let shown = if faults.len() > MAX_REPLY_LINES { MAX_REPLY_LINES - 1 } else { faults.len() };
    let mut lines: Vec<String> = faults.iter().take(shown).map(text).collect();
    if faults.len() > shown {
        lines.push(format!("and {} more faults", faults.len() - shown));
    }
    if lines.is_empty() {
        lines.push("the message is not valid".to_owned());
    }
    lines
}
