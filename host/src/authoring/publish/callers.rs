//! What the callers of a published template would have refused by its next version.

use crate::authoring::Authoring;
use crate::authoring::breaking::{BreakingChange, BreakingKind, Demands, changes};
use crate::authoring::error::AuthoringError;
use crate::store::{NewVersion, TemplateOwner, TemplateRow};
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
        changes.extend(refused_plan(&tenant.plan, &published.source, &version.source));
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
}

/// Another plan than the account has. Whether that plan includes the other is for the plan policy to say.
fn refused_plan(
    plan: &str,
    before: &TemplateSource,
    after: &TemplateSource,
) -> Option<BreakingChange> {
    let needed = after.required_plan.as_ref()?;
    if before.required_plan.as_ref() == Some(needed) || needed == plan {
        return None;
    }
    let before = before.required_plan.clone().unwrap_or_else(|| "any plan".to_owned());
    let after = format!("{needed}, and the account has {plan}");
    Some(BreakingChange::of_template("requiredPlan", BreakingKind::Plan, before, after))
}
