//! Policy: may this account send this template, from this domain, and at what price?

pub mod plan;
pub mod sender_domain;
mod substance;

use std::sync::Arc;

pub use substance::Substance;

use super::accept::abort::Abort;
use super::accept::authenticate::Sender;
use super::accept::decisions::Decisions;
use super::accept::refusal::{Fault, Refusal};
use super::accept::submission::{Content, Faulty, Submission};
use super::accept::variables::Variables;
use crate::account::key::Mode;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::DomainId;
use crate::message::address::EmailAddress;
use crate::plugin::CallContext;
use crate::plugin::binding::Scope;
use crate::plugin::table::Table;
use crate::store::facts::Snapshot;
use crate::store::records::RouteChoice;
use crate::template::contract::DataCheck;

/// A submission that may be sent. Only `admit` makes one.
#[derive(Debug)]
pub struct Admitted<'a> {
    /// What it is made of.
    pub substance: Substance<'a>,
    pub from: EmailAddress,
    /// The sender's domain.
    pub domain: DomainId,
    /// What it costs.
    pub price: Credits,
    /// Where it may go.
    pub route: RouteChoice,
    /// What each plugin decided so far.
    pub decisions: Decisions,
}

/// Admits a submission or refuses it, in the contract's order: template, plan, sender domain.
pub(super) async fn admit<'a>(
    snapshot: &Snapshot,
    plugins: &Table,
    context: &CallContext,
    sender: &Sender,
    submission: &'a Submission,
) -> Result<Admitted<'a>, Abort> {
    let substance = substance(snapshot, sender, submission).await?;
    let account = &sender.account.account;
    let domain = sender_domain::of(sender, &substance).and_then(EmailAddress::domain);
    let scope = Scope {
        plan: &account.plan.name,
        account: &account.id.to_string(),
        domain: domain.as_ref().map(|domain| domain.as_str()),
    };
    let (price, mut decisions) =
        plan::check(plugins, &scope, context, sender, submission, &substance).await?;
    let verified = match sender_domain::check(snapshot, sender, &substance).await {
        Ok(verified) => verified,
        Err(abort) => return Err(abort.with_earlier_decisions(decisions)),
    };
    decisions.push_earlier(verified.decision);
    let is_test = sender.key.mode == Mode::Test || substance.is_sandboxed_trial();
    Ok(Admitted {
        substance,
        from: verified.from,
        domain: verified.domain,
        price: if is_test { Credits(0) } else { price },
        route: if is_test { RouteChoice::Sandbox } else { verified.route },
        decisions,
    })
}

/// Finds the template; a message that is whole, or was sent before, needs none. The key may be for some
/// templates only.
async fn substance<'a>(
    snapshot: &Snapshot,
    sender: &Sender,
    submission: &'a Submission,
) -> Result<Substance<'a>, Abort> {
    let account = sender.account.account.id;
    let allowed = &sender.key.templates;
    let is_allowed = |slug: &str| allowed.is_empty() || allowed.iter().any(|it| it == slug);
    match &submission.content {
        Content::Raw(_) if !allowed.is_empty() => {
            Err(forbidden("the key may only send templates".to_owned()))
        }
        Content::Raw(raw) => Ok(Substance::Raw(raw)),
        Content::Again(again) => {
            let slug = again.template.as_ref().map(|it| it.slug.as_str());
            if !slug.map_or(allowed.is_empty(), is_allowed) {
                return Err(forbidden("the key may not send this message".to_owned()));
            }
            let template = match slug.and_then(|it| it.parse().ok()) {
                Some(slug) => snapshot.template(account, &slug).await?,
                None => None,
            };
            Ok(Substance::Again(again, template))
        }
        Content::Filled(filled) => {
            let slug = filled.template.as_str();
            let template = match &filled.trial {
                Some(trial) => Some(Arc::clone(&trial.version)),
                None => snapshot.template(account, &filled.template).await?,
            };
            let template = template.ok_or_else(|| Refusal::bad_request(vec![unknown(slug)]))?;
            if let Some(at) = template.archived_at {
                return Err(Refusal::bad_request(vec![archived(slug, at)]).into());
            }
            if !is_allowed(slug) {
                return Err(forbidden(format!("the key may not send the template {slug}")));
            }
            Ok(Substance::Template(template, filled))
        }
    }
}

/// All faults of a submission at once: those of its fields, and those that the template shows.
pub(super) async fn all_faults(
    snapshot: &Snapshot,
    sender: &Sender,
    faulty: &Faulty,
) -> Result<Refusal, Abort> {
    let mut all = faulty.faults.clone();
    all.extend(faults_by_template(snapshot, sender, faulty).await?);
    Ok(Refusal::bad_request(all))
}

async fn faults_by_template(
    snapshot: &Snapshot,
    sender: &Sender,
    faulty: &Faulty,
) -> Result<Vec<Fault>, Abort> {
    let Some(slug) = &faulty.template else { return Ok(Vec::new()) };
    let Some(template) = snapshot.template(sender.account.account.id, slug).await? else {
        return Ok(vec![unknown(slug.as_str())]);
    };
    if let Some(at) = template.archived_at {
        return Ok(vec![archived(slug.as_str(), at)]);
    }
    let Some(data) = &faulty.data else { return Ok(Vec::new()) };
    let brand = &sender.account.account.brand;
    let values = data.parsed();
    let DataCheck { faults, unread: _ } = template.contract.check(data.members());
    let variables = Variables::new(data, brand);
    let missing = variables.missing(&template, &values).map(Fault::missing_variable);
    let mut all: Vec<Fault> = faults.iter().map(Fault::undeclared_value).collect();
    all.extend(missing);
    Ok(all)
}

fn unknown(slug: &str) -> Fault {
    Fault::new("template", "unknown", format!("the account has no published template `{slug}`"))
}

fn archived(slug: &str, at: Timestamp) -> Fault {
    let message = format!(
        "the template `{slug}` was archived at {}; send another one, or have its author publish it again",
        at.rfc3339()
    );
    Fault::new("template", "archived", message)
}

fn forbidden(message: String) -> Abort {
    Refusal::Forbidden { message, retry_after_s: None }.into()
}
