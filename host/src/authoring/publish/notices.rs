//! What a template can be published with, and its author should know: sends of it are refused, or a text of it is never
//! sent.

use crate::authoring::Authoring;
use crate::authoring::check::Tenant;
use crate::authoring::error::AuthoringError;
use crate::authoring::finding::Finding;
use crate::authoring::suggest::nearest;
use crate::management::plans;
use crate::store::{TemplateOwner, TemplateRow};
use crate::template::kind::TemplateKind;
use crate::template::source::TemplateSource;

/// What templates call every plan that is paid for.
const ANY_PAID_PLAN: &str = "paid";

impl Authoring {
    /// Warnings of what stands beside the parts of a source.
    pub(super) async fn notices(
        &self,
        row: &TemplateRow,
        tenant: &Tenant,
        source: &TemplateSource,
    ) -> Result<Vec<Finding>, AuthoringError> {
        let mut found: Vec<Finding> = own_locale_twice(row, source).into_iter().collect();
        found.extend(self.unverified_sender(row, tenant, source).await?);
        found.extend(self.unknown_plan(row, source).await?);
        Ok(found)
    }

    /// Sends that name no sender of their own are refused.
    async fn unverified_sender(
        &self,
        row: &TemplateRow,
        tenant: &Tenant,
        source: &TemplateSource,
    ) -> Result<Option<Finding>, AuthoringError> {
        let TemplateOwner::Account(account) = row.owner else { return Ok(None) };
        let Some(sender) = source.sender.as_ref().or(tenant.sender.as_ref()) else {
            return Ok(None);
        };
        if row.kind != TemplateKind::Template || self.may_send(row.owner, Some(sender)).await? {
            return Ok(None);
        }
        let Some(domain) = sender.domain() else { return Ok(None) };
        let step = match self.store.domain_named(account, domain).await? {
            Some(_) => "check",
            None => "add",
        };
        let message = format!(
            "the domain of the sender {sender} is not verified, so a send that names no other one is refused; `waxwing \
             domain {step} --account {account} {domain}` says what to publish in DNS"
        );
        Ok(Some(Finding::warning("sender", "unverified_sender", message)))
    }

    /// The built-in policy lets only accounts on a plan that it does not list use the template. Where no account is on
    /// that plan, every send is refused.
    async fn unknown_plan(
        &self,
        row: &TemplateRow,
        source: &TemplateSource,
    ) -> Result<Option<Finding>, AuthoringError> {
        let (TemplateOwner::Account(_), Some(plan)) = (row.owner, &source.required_plan) else {
            return Ok(None);
        };
        let mut known = plans::known(&plans::names_of_server(&self.plugins));
        known.push(ANY_PAID_PLAN.to_owned());
        if known.contains(plan) || self.store.is_plan_used(plan).await? {
            return Ok(None);
        }
        let message = format!(
            "no account has the plan `{plan}`, and the plan policy does not name it; there are {}",
            known.join(", ")
        );
        let meant = nearest(plan, known.iter().map(String::as_str));
        Ok(Some(Finding::warning("requiredPlan", "unknown_plan", message).suggesting(meant)))
    }
}

/// What a locale says counts before what the template says, also where it is the template's own.
fn own_locale_twice(row: &TemplateRow, source: &TemplateSource) -> Option<Finding> {
    let (own, kind) = (source.default_locale(), row.kind.as_str());
    source.locales.get(own)?;
    let message = format!(
        "`{own}` is the {kind}'s own locale and stands in `locales` too: what it says there is sent, and the same of the {kind} \
         itself never is; take it out of one of them, or give `locale` another value"
    );
    let finding = Finding::warning("locales", "own_locale", message);
    Some(Finding { locale: Some(own.to_string()), ..finding })
}
