//! What the callers of a published template would have refused by its next version.

use crate::authoring::Authoring;
use crate::authoring::breaking::{BreakingChange, BreakingKind, Demands, changes};
use crate::authoring::error::AuthoringError;
use crate::journey::policy::plan::plan_account;
use crate::plugin::binding::Scope;
use crate::plugin::{CallContext, plan};
use crate::store::{AccountRow, NewVersion, TemplateOwner, TemplateRow};
use crate::template::source::TemplateSource;

impl Authoring {
    /// What a version asks of senders that the published one does not, and how many messages these send.
    pub(super) async fn breaking(
        &self,
        row: &TemplateRow,
        version: &NewVersion,
    ) -> Result<(Vec<BreakingChange>, u64), AuthoringError> {
        let Some(published) = &row.published else { return Ok((Vec::new(), 0)) };
        let tenant = self.tenant(row.owner).await?;
        let strict = |source: &TemplateSource| source.strict || tenant.strict;
        let mut changes = changes(
            Demands { variables: &published.variables, strict: strict(&published.source) },
            Demands { variables: &version.variables, strict: strict(&version.source) },
            &tenant.brand,
        );
        changes.extend(self.refused_sender(row.owner, &published.source, &version.source).await?);
        changes.extend(self.refused_plan(row, &published.source, &version.source).await?);
        let sent = self.sent(row.owner, row.kind).await?;
        Ok((changes, sent.get(row.slug.as_str()).copied().unwrap_or(0)))
    }

    /// A new sender whose domain may not send.
    async fn refused_sender(
        &self,
        owner: TemplateOwner,
        before: &TemplateSource,
        after: &TemplateSource,
    ) -> Result<Option<BreakingChange>, AuthoringError> {
        let (TemplateOwner::Account(account), Some(sender)) = (owner, &after.sender) else {
            return Ok(None);
        };
        if before.sender.as_ref() == Some(sender) {
            return Ok(None);
        }
        let known = match sender.domain() {
            Some(domain) => self.store.domain_named(account, domain).await?,
            None => None,
        };
        if known.is_some_and(|it| it.domain.standing.phase.may_send()) {
            return Ok(None);
        }
        let before = before.sender.as_ref().map_or("the account's".to_owned(), ToString::to_string);
        let after = format!("{sender}, whose domain is not verified");
        Ok(Some(BreakingChange::of_template("sender", BreakingKind::Sender, before, after)))
    }

    /// Another required plan, where the plan policy refuses the account the template with it and not without.
    async fn refused_plan(
        &self,
        row: &TemplateRow,
        before: &TemplateSource,
        after: &TemplateSource,
    ) -> Result<Option<BreakingChange>, AuthoringError> {
        let (TemplateOwner::Account(id), Some(needed)) = (row.owner, &after.required_plan) else {
            return Ok(None);
        };
        if before.required_plan.as_ref() == Some(needed) {
            return Ok(None);
        }
        let AccountRow { account, balance, sent_today, sent_month } =
            self.store.account(id, self.clock.now()).await?;
        let who = plan_account(&account, balance.0, (sent_today, sent_month));
        let call = format!("publish {}", row.slug);
        let context = CallContext { dry_run: true, ..self.plugins.context(call) };
        let account = id.to_string();
        let scope = Scope { plan: &who.plan, account: &account, domain: None };
        let uses = [before, after].map(|source| use_of(row, source));
        let said = self.plugins.table().would_allow(&scope, &context, &who, &uses).await?;
        let [plan::Verdict::Allow(_), plan::Verdict::Deny(denial)] = &said[..] else {
            return Ok(None);
        };
        let before = before.required_plan.clone().unwrap_or_else(|| "any plan".to_owned());
        let after = format!("{needed}, and the account has {}: {}", who.plan, denial.message);
        Ok(Some(BreakingChange::of_template("requiredPlan", BreakingKind::Plan, before, after)))
    }
}

/// A send of one message by the template, as the plan policy sees it.
fn use_of(row: &TemplateRow, source: &TemplateSource) -> plan::UseRequest {
    plan::UseRequest {
        channel: plan::Channel::Api,
        template_slug: Some(row.slug.to_string()),
        template_required_plan: source.required_plan.clone(),
        template_tags: source.tags.clone(),
        recipient_domain: "example.com".to_owned(),
        recipients: 1,
        size_bytes: 0,
    }
}
