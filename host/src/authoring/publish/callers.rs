//! What the callers of a published template would have refused by its next version.

use serde_json::{Map, Value};

use crate::authoring::Authoring;
use crate::authoring::breaking::{BreakingChange, BreakingKind, Demands, changes};
use crate::authoring::check::{Checkable, Checker, NotRendered, Tenant};
use crate::authoring::error::AuthoringError;
use crate::journey::policy::plan::plan_account;
use crate::message::address::EmailAddress;
use crate::plugin::binding::Scope;
use crate::plugin::{CallContext, plan};
use crate::store::{AccountRow, NewVersion, TemplateOwner, TemplateRow, VersionRow};
use crate::template::compiled::{Compiled, rendered_source};
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;
use crate::template::trial::{complete_data, trial_data};
use crate::template::version::{Blocks, Variable};

/// A version that is held against another one of its template.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compared<'a> {
    pub source: &'a TemplateSource,
    pub compiled: Option<&'a Compiled>,
    pub blocks: &'a Blocks,
    pub variables: &'a [Variable],
}

impl<'a> From<&'a VersionRow> for Compared<'a> {
    fn from(it: &'a VersionRow) -> Self {
        let VersionRow { source, compiled, blocks, variables, .. } = it;
        Self { source, compiled: compiled.as_ref(), blocks, variables }
    }
}

impl<'a> From<&'a NewVersion> for Compared<'a> {
    fn from(it: &'a NewVersion) -> Self {
        let NewVersion { source, compiled, blocks, variables, .. } = it;
        Self { source, compiled: compiled.as_ref(), blocks, variables }
    }
}

impl<'a> Compared<'a> {
    fn demands(self, tenant: &Tenant) -> Demands<'a> {
        Demands { variables: self.variables, strict: self.source.strict || tenant.strict }
    }

    fn rendered_source(self) -> TemplateSource {
        rendered_source(self.source.clone(), self.compiled)
    }
}

impl Authoring {
    /// What a version asks of senders that the published one does not, and how many messages these send.
    pub(super) async fn breaking(
        &self,
        row: &TemplateRow,
        version: Compared<'_>,
    ) -> Result<(Vec<BreakingChange>, u64), AuthoringError> {
        let Some(published) = &row.published else { return Ok((Vec::new(), 0)) };
        let sent = self.sent(row.owner, row.kind).await?;
        let sent = sent.get(row.slug.as_str()).copied().unwrap_or(0);
        if row.kind != TemplateKind::Template {
            return Ok((Vec::new(), sent));
        }
        let tenant = self.tenant(row.owner).await?;
        let mut changes =
            self.changes(&tenant, &row.slug, Compared::from(published), version).await?;
        let (before, after) = (&published.source, version.source);
        changes.extend(self.refused_sender(row.owner, &tenant, before, after).await?);
        changes.extend(self.refused_plan(row, before, after).await?);
        Ok((changes, sent))
    }

    /// What a version asks of the data of a send that the one before does not.
    pub(super) async fn changes(
        &self,
        tenant: &Tenant,
        slug: &Slug,
        before: Compared<'_>,
        after: Compared<'_>,
    ) -> Result<Vec<BreakingChange>, AuthoringError> {
        let mut changes = changes(before.demands(tenant), after.demands(tenant), &tenant.brand);
        for refused in self.refused_data(tenant, slug, before, after).await? {
            if !changes.iter().any(|it| it.path == refused.path) {
                changes.push(refused);
            }
        }
        Ok(changes)
    }

    /// What paths alone do not say: the version is rendered with data that the one before accepts.
    async fn refused_data(
        &self,
        tenant: &Tenant,
        slug: &Slug,
        before: Compared<'_>,
        after: Compared<'_>,
    ) -> Result<Vec<BreakingChange>, AuthoringError> {
        let tried = accepted_data(before, after);
        if tried.is_empty() {
            return Ok(Vec::new());
        }
        let checker = Checker::new(&self.plugins);
        let (was, is) = (before.rendered_source(), after.rendered_source());
        let was = Checkable { slug, source: &was, blocks: before.blocks };
        let is = Checkable { slug, source: &is, blocks: after.blocks };
        let mut changes: Vec<BreakingChange> = Vec::new();
        for (name, data) in tried {
            let rendered = checker.render(tenant, is, is.source.default_locale(), &data).await?;
            // What is missing is told by its path.
            let Err(NotRendered::Findings(found)) = rendered else { continue };
            let rendered = checker.render(tenant, was, was.source.default_locale(), &data).await;
            // A version that the renderer traps on accepts nothing; the next one may be its repair.
            if !matches!(rendered, Ok(Ok(_))) {
                continue;
            }
            for finding in found {
                let path = finding.path.filter(|it| !it.is_empty());
                let path = path.unwrap_or_else(|| "data".to_owned());
                if !changes.iter().any(|it| it.path == path) {
                    let before = format!("accepted with {name}");
                    let after = format!("refused: {}", finding.message);
                    changes.push(BreakingChange::new(&path, BreakingKind::Type, before, after));
                }
            }
        }
        Ok(changes)
    }

    /// A sender that may not send, or none, where the one before may.
    async fn refused_sender(
        &self,
        owner: TemplateOwner,
        tenant: &Tenant,
        before: &TemplateSource,
        after: &TemplateSource,
    ) -> Result<Option<BreakingChange>, AuthoringError> {
        let TemplateOwner::Account(_) = owner else { return Ok(None) };
        let [was, is] = [before, after].map(|it| it.sender.as_ref().or(tenant.sender.as_ref()));
        if was == is || !self.may_send(owner, was).await? || self.may_send(owner, is).await? {
            return Ok(None);
        }
        let of_account = || "the account's".to_owned();
        let before = before.sender.as_ref().map_or_else(of_account, ToString::to_string);
        let after = match is {
            Some(sender) => format!("{sender}, whose domain is not verified"),
            None => "none: neither the template nor the account has one".to_owned(),
        };
        Ok(Some(BreakingChange::new("sender", BreakingKind::Sender, before, after)))
    }

    pub(super) async fn may_send(
        &self,
        owner: TemplateOwner,
        sender: Option<&EmailAddress>,
    ) -> Result<bool, AuthoringError> {
        let (TemplateOwner::Account(account), Some(domain)) =
            (owner, sender.and_then(EmailAddress::domain))
        else {
            return Ok(false);
        };
        let known = self.store.domain_named(account, domain).await?;
        Ok(known.is_some_and(|it| it.domain.standing.phase.may_send()))
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
        Ok(Some(BreakingChange::new("requiredPlan", BreakingKind::Plan, before, after)))
    }
}

/// The examples of a version, each with what it is called; without examples what can be made up of its variables. The
/// next version has been rendered with its own examples, so these are left out.
fn accepted_data(before: Compared<'_>, after: Compared<'_>) -> Vec<(String, Map<String, Value>)> {
    let known = |data: &Map<String, Value>| after.source.examples.values().any(|it| it == data);
    if before.source.examples.is_empty() {
        let made_up =
            [trial_data(before.source, before.variables), complete_data(before.variables)];
        return made_up.map(|data| ("made-up data".to_owned(), data)).into();
    }
    let examples = before.source.examples.iter().filter(|(_, data)| !known(data));
    examples.map(|(name, data)| (format!("the example {name}"), data.clone())).collect()
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
