//! The sender: which address, and whether its domain is verified. The verdict was made in the
//! background by the domain policy; here it is only read.

use super::super::accept::abort::Abort;
use super::super::accept::authenticate::Sender;
use super::super::accept::refusal::Refusal;
use super::substance::Substance;
use crate::domain::state::DomainKind;
use crate::id::DomainId;
use crate::mail::raw::RawMessage;
use crate::message::address::EmailAddress;
use crate::store::DomainFacts;
use crate::store::facts::Snapshot;
use crate::store::records::{PluginDecision, ReturnPath, RouteChoice};

/// A sender whose domain is verified.
#[derive(Debug)]
pub struct Verified {
    pub from: EmailAddress,
    pub domain: DomainId,
    /// Where its mail may go.
    pub route: RouteChoice,
    /// The judgement that verified the domain.
    pub decision: PluginDecision,
}

/// The author: the message's own, or the request's, else the template's, else the account's.
pub(in crate::journey) fn of<'a>(
    sender: &'a Sender,
    substance: &'a Substance<'_>,
) -> Option<&'a EmailAddress> {
    match substance {
        Substance::Template(template, filled) => {
            let of_the_account = sender.account.account.sender.as_ref();
            filled.from.as_ref().or(template.source.sender.as_ref()).or(of_the_account)
        }
        Substance::Raw(raw) => Some(raw.message.author()),
        Substance::Again(again, _) => Some(again.message.author()),
    }
}

/// Finds the sender and its domain. Of a message that is whole, every author and the envelope's
/// sender are at a verified domain.
pub(in crate::journey) async fn check(
    snapshot: &Snapshot,
    sender: &Sender,
    substance: &Substance<'_>,
) -> Result<Verified, Abort> {
    let Some(from) = of(sender, substance) else {
        let message = "is required: neither the template nor the account has a default sender";
        return Err(Refusal::fault("from", "missing", message).into());
    };
    let mut verified = check_address(snapshot, sender, from).await?;
    for other in further_senders(substance).filter(|it| it.domain() != from.domain()) {
        let other = check_address(snapshot, sender, other).await?;
        if other.route == RouteChoice::Sandbox {
            verified.route = other.route;
        }
    }
    Ok(verified)
}

/// Every author of a message that is whole, and the envelope's sender.
fn further_senders<'a>(substance: &'a Substance<'_>) -> impl Iterator<Item = &'a EmailAddress> {
    let (message, return_path) = match substance {
        Substance::Template(..) => (None, None),
        Substance::Raw(raw) => (Some(&raw.message), raw.return_path.as_ref()),
        Substance::Again(again, _) => {
            let return_path = match &again.return_path {
                ReturnPath::Author => None,
                ReturnPath::Other(path) => path.as_ref(),
            };
            (Some(&again.message), return_path)
        }
    };
    message.into_iter().flat_map(RawMessage::authors).chain(return_path)
}

/// Whether an address of the account may stand as a sender.
pub(in crate::journey) async fn check_address(
    snapshot: &Snapshot,
    sender: &Sender,
    from: &EmailAddress,
) -> Result<Verified, Abort> {
    let account = &sender.account.account;
    let Some(name) = from.domain() else {
        let message = "must be at a domain, not at an address literal";
        return Err(Refusal::fault("from", "invalid", message).into());
    };
    let allowed = &sender.key.domains;
    if !allowed.is_empty() && !allowed.iter().any(|domain| domain == name.as_str()) {
        let message = format!("the key may not send from {name}");
        return Err(Refusal::Forbidden { message, retry_after_s: None }.into());
    }
    let Some(facts) = snapshot.domain(account.id, name).await? else {
        let missing = vec![format!("the domain itself: add {name} to the account")];
        let domain = name.to_string();
        return Err(Refusal::DomainNotVerified { domain, progress: 0, missing }.into());
    };
    let DomainFacts { domain, judgement } = &*facts;
    let standing = &domain.standing;
    if !standing.may_send() {
        return Err(Abort::from(Refusal::DomainNotVerified {
            domain: name.to_string(),
            progress: standing.progress.min(99),
            missing: standing.missing.clone(),
        }));
    }
    let route = match domain.kind {
        DomainKind::Sandbox => RouteChoice::Sandbox,
        DomainKind::Dns => RouteChoice::Configured,
    };
    Ok(Verified { from: from.clone(), domain: domain.id, route, decision: judgement.clone() })
}
