//! Policy: may this account send this template, from this domain, and at what price?

pub mod plan;
pub mod sender_domain;

use std::sync::Arc;

use super::accept::authenticate::Sender;
use super::accept::refusal::{Fault, Refusal};
use super::accept::submission::{Faulty, Submission};
use super::{Stop, Turned};
use crate::account::key::Mode;
use crate::credit::Credits;
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
pub struct Admitted {
    /// The published template.
    pub template: Arc<TemplateVersion>,
    /// The sender.
    pub from: EmailAddress,
    /// What it costs.
    pub price: Credits,
    /// Where it may go.
    pub route: RouteChoice,
    /// What each plugin decided so far.
    pub decisions: Vec<Decision>,
}

/// Admits a submission or turns it away, in the contract's order: template, plan, sender domain.
pub(super) async fn admit(
    snapshot: &Snapshot,
    plugins: &Table,
    context: &CallContext,
    sender: &Sender,
    submission: &Submission,
) -> Result<Result<Admitted, Turned>, Stop> {
    let turned = |refusal| Ok(Err(Turned { refusal, decisions: Vec::new() }));
    let account = sender.account.account.id;
    let Some(template) = snapshot.template(account, &submission.template).await? else {
        return turned(unknown_template(submission.template.as_str()));
    };
    let slug = template.slug.as_str();
    if !sender.key.templates.is_empty() && !sender.key.templates.iter().any(|it| it == slug) {
        let message = format!("the key may not send the template {slug}");
        return turned(Refusal::Forbidden { message, retry_after_s: None });
    }
    let from = sender_domain::of(sender, submission, &template);
    let domain = from.and_then(EmailAddress::domain);
    let scope = Scope {
        plan: &sender.account.account.plan.name,
        account: &account.to_string(),
        domain: domain.as_ref().map(|domain| domain.as_str()),
    };
    let priced = plan::check(plugins, &scope, context, sender, submission, &template).await;
    let (price, decision) = match priced {
        Ok(priced) => priced,
        Err(turned) => return Ok(Err(turned)),
    };
    let mut decisions = vec![decision];
    let domain = sender_domain::check(snapshot, sender, submission, &template).await?;
    match domain {
        Ok(verified) => {
            decisions.push(verified.decision);
            let test = sender.key.mode == Mode::Test;
            Ok(Ok(Admitted {
                template,
                from: verified.from,
                price: if test { Credits(0) } else { price },
                route: if test { RouteChoice::Sandbox } else { verified.route },
                decisions,
            }))
        }
        Err(refusal) => Ok(Err(Turned { refusal, decisions })),
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
    Ok(template.missing(data).map(Fault::missing_variable).collect())
}

fn unknown_template(slug: &str) -> Refusal {
    let message = format!("the account has no published template `{slug}`");
    Refusal::fault("template", "unknown", message)
}
