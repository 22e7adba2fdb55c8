//! The sender: which address, and whether its domain is verified. The verdict was made in the
//! background by the domain policy; here it is only read.

use super::super::Stop;
use super::super::accept::authenticate::Sender;
use super::super::accept::refusal::Refusal;
use super::super::accept::submission::Submission;
use crate::domain::state::DomainKind;
use crate::message::address::EmailAddress;
use crate::plugin::decision::Decision;
use crate::store::StoreError;
use crate::store::facts::Snapshot;
use crate::store::records::RouteChoice;
use crate::template::version::TemplateVersion;

/// A sender whose domain is verified.
#[derive(Debug)]
pub struct Verified {
    /// The address.
    pub from: EmailAddress,
    /// Where its mail may go.
    pub route: RouteChoice,
    /// The judgement that verified the domain.
    pub decision: Decision,
}

/// The sender: the request's, else the template's, else the account's.
pub(in crate::journey) fn of<'a>(
    sender: &'a Sender,
    submission: &'a Submission,
    template: &'a TemplateVersion,
) -> Option<&'a EmailAddress> {
    let of_the_account = sender.account.account.sender.as_ref();
    submission.from.as_ref().or(template.source.sender.as_ref()).or(of_the_account)
}

/// Finds the sender and its domain.
pub(in crate::journey) async fn check(
    snapshot: &Snapshot,
    sender: &Sender,
    submission: &Submission,
    template: &TemplateVersion,
) -> Result<Result<Verified, Refusal>, Stop> {
    let account = &sender.account.account;
    let Some(from) = of(sender, submission, template) else {
        let message = "is required: neither the template nor the account has a default sender";
        return Ok(Err(Refusal::fault("from", "missing", message)));
    };
    let Some(name) = from.domain() else {
        let message = "must be at a domain, not at an address literal";
        return Ok(Err(Refusal::fault("from", "invalid", message)));
    };
    let allowed = &sender.key.domains;
    if !allowed.is_empty() && !allowed.iter().any(|domain| domain == name.as_str()) {
        let message = format!("the key may not send from {name}");
        return Ok(Err(Refusal::Forbidden { message, retry_after_s: None }));
    }
    let Some(row) = snapshot.domain(account.id, name).await? else {
        let missing = vec![format!("the domain itself: add {name} to the account")];
        let domain = name.to_string();
        return Ok(Err(Refusal::DomainNotVerified { domain, progress: 0, missing }));
    };
    let standing = &row.domain.standing;
    if !standing.is_verified() {
        return Ok(Err(Refusal::DomainNotVerified {
            domain: name.to_string(),
            progress: standing.progress.min(99),
            missing: standing.missing.clone(),
        }));
    }
    let decision = serde_json::from_value(row.decision.clone()).map_err(|_| {
        let value = row.decision.to_string();
        let error = StoreError::Inconsistent { table: "domains", column: "decision", value };
        Stop::Refused(super::super::unreachable_store(&error))
    })?;
    let route = match row.domain.kind {
        DomainKind::Sandbox => RouteChoice::Sandbox,
        DomainKind::Dns => RouteChoice::Configured,
    };
    Ok(Ok(Verified { from: from.clone(), route, decision }))
}
