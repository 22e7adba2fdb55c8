//! Policy: may this account send this template, from this domain, and at what price?

pub mod plan;
pub mod sender_domain;

use std::sync::Arc;

use super::accept::authenticate::Sender;
use super::accept::refusal::{Fault, Refusal};
use super::accept::submission::{Again, Content, Faulty, Filled, Raw, Submission};
use super::accept::variables::Variables;
use super::{Stop, Turned};
use crate::account::key::Mode;
use crate::credit::Credits;
use crate::id::DomainId;
use crate::message::address::EmailAddress;
use crate::plugin::CallContext;
use crate::plugin::binding::Scope;
use crate::plugin::decision::Decision;
use crate::plugin::table::Table;
use crate::store::facts::Snapshot;
use crate::store::records::RouteChoice;
use crate::template::version::TemplateVersion;

/// A submission that may be sent. Only `admit` makes one.
#[derive(Debug)]
pub struct Admitted<'a> {
    /// What it is made of.
    pub substance: Substance<'a>,
    /// The sender.
    pub from: EmailAddress,
    /// The sender's domain.
    pub domain: DomainId,
    /// What it costs.
    pub price: Credits,
    /// Where it may go.
    pub route: RouteChoice,
    /// What each plugin decided so far.
    pub decisions: Vec<Decision>,
}

/// What an admitted message is made of.
#[derive(Debug, Clone)]
pub enum Substance<'a> {
    /// A published template and what fills it.
    Template(Arc<TemplateVersion>, &'a Filled),
    /// A message that is whole.
    Raw(&'a Arc<Raw>),
    /// A message that was sent before, and its template as it is published now, if it still is.
    Again(&'a Arc<Again>, Option<Arc<TemplateVersion>>),
}

/// Admits a submission or turns it away, in the contract's order: template, plan, sender domain.
pub(super) async fn admit<'a>(
    snapshot: &Snapshot,
    plugins: &Table,
    context: &CallContext,
    sender: &Sender,
    submission: &'a Submission,
) -> Result<Result<Admitted<'a>, Turned>, Stop> {
    let account = sender.account.account.id;
    let substance = match substance(snapshot, sender, submission).await? {
        Ok(substance) => substance,
        Err(refusal) => return Ok(Err(Turned { refusal, decisions: Vec::new() })),
    };
    let from = sender_domain::of(sender, &substance);
    let domain = from.and_then(EmailAddress::domain);
    let scope = Scope {
        plan: &sender.account.account.plan.name,
        account: &account.to_string(),
        domain: domain.as_ref().map(|domain| domain.as_str()),
    };
    let priced = plan::check(plugins, &scope, context, sender, submission, &substance).await;
    let (price, mut decisions) = match priced {
        Ok(priced) => priced,
        Err(turned) => return Ok(Err(turned)),
    };
    match sender_domain::check(snapshot, sender, &substance).await? {
        Ok(verified) => {
            decisions.push(verified.decision);
            let test = sender.key.mode == Mode::Test;
            Ok(Ok(Admitted {
                substance,
                from: verified.from,
                domain: verified.domain,
                price: if test { Credits(0) } else { price },
                route: if test { RouteChoice::Sandbox } else { verified.route },
                decisions,
            }))
        }
        Err(refusal) => Ok(Err(Turned { refusal, decisions })),
    }
}

/// Finds the template; a message that is whole, or was sent before, needs none. The key may be for some
/// templates only.
async fn substance<'a>(
    snapshot: &Snapshot,
    sender: &Sender,
    submission: &'a Submission,
) -> Result<Result<Substance<'a>, Refusal>, Stop> {
    let allowed = &sender.key.templates;
    let forbidden = |message| Ok(Err(Refusal::Forbidden { message, retry_after_s: None }));
    match &submission.content {
        Content::Raw(_) if !allowed.is_empty() => {
            forbidden("the key may only send templates".to_owned())
        }
        Content::Raw(raw) => Ok(Ok(Substance::Raw(raw))),
        Content::Again(again) => {
            let slug = again.template.as_ref().map(|(slug, _)| slug.as_str());
            if !allowed.is_empty() && !slug.is_some_and(|it| allowed.iter().any(|name| name == it))
            {
                return forbidden("the key may not send this message".to_owned());
            }
            let template = match slug.and_then(|it| it.parse().ok()) {
                Some(slug) => snapshot.template(sender.account.account.id, &slug).await?,
                None => None,
            };
            Ok(Ok(Substance::Again(again, template)))
        }
        Content::Filled(filled) => {
            let slug = filled.template.as_str();
            let account = sender.account.account.id;
            let Some(template) = snapshot.template(account, &filled.template).await? else {
                return Ok(Err(unknown_template(slug)));
            };
            if !allowed.is_empty() && !allowed.iter().any(|it| it == slug) {
                return forbidden(format!("the key may not send the template {slug}"));
            }
            Ok(Ok(Substance::Template(template, filled)))
        }
    }
}

/// More faults of a submission whose fields are faulty: an unknown template, missing variables.
pub(super) async fn further_faults(
    snapshot: &Snapshot,
    sender: &Sender,
    faulty: &Faulty,
) -> Result<Vec<Fault>, Stop> {
    let Some(slug) = &faulty.template else { return Ok(Vec::new()) };
    let Some(template) = snapshot.template(sender.account.account.id, slug).await? else {
        let Refusal::BadRequest { faults } = unknown_template(slug.as_str()) else {
            return Ok(Vec::new());
        };
        return Ok(faults);
    };
    let Some(data) = &faulty.data else { return Ok(Vec::new()) };
    let brand = &sender.account.account.brand;
    let wrong = template.wrong_types(data);
    let missing = Variables::new(data, brand).missing(&template).map(Fault::missing_variable);
    Ok(wrong.iter().map(Fault::wrong_type).chain(missing).collect())
}

fn unknown_template(slug: &str) -> Refusal {
    let message = format!("the account has no published template `{slug}`");
    Refusal::fault("template", "unknown", message)
}
