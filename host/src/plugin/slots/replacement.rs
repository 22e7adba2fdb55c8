//! What a candidate would replace, and what would change then.

use super::plugins::Plugins;
use crate::plugin::config::binding::{Binding, Scope};
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::evidence::{Evidence, EvidenceError, Owner, OwnersPage};
use crate::plugin::promotion::impact::{Impact, Templates, served};
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::runtime::kind::Kind;

impl Plugins {
    /// Compares a candidate with the active plugin: recorded calls go to both, a renderer also renders the published
    /// templates, and an MJML compiler compiles their MJML.
    pub async fn impact(
        &self,
        candidate: &InstalledPlugin,
        evidence: &dyn Evidence,
    ) -> Result<Impact, EvidenceError> {
        let (kind, binding) = (candidate.kind(), &candidate.config().binding);
        let live = self.serving(kind, binding);
        let mut calls = Vec::new();
        // A slot without recorded calls of its own is compared on those of the slot that it narrows.
        for slot in self.answering(candidate) {
            calls = evidence.calls(kind, slot).await?;
            calls.retain(|call| call.may_be_for(binding));
            if !calls.is_empty() {
                break;
            }
        }
        let mut impact = Impact::on_calls(&live, candidate, &calls).await;
        if matches!(kind, Kind::Renderer | Kind::Mjml) {
            impact.templates = self.on_templates(candidate, evidence).await?;
        }
        Ok(impact)
    }

    /// The candidate's own slot, then those that answer the calls of its binding, narrowest first.
    fn answering(&self, candidate: &InstalledPlugin) -> Vec<SlotName> {
        let binding = &candidate.config().binding;
        let mut slots = vec![candidate.slot().clone()];
        for slot in self.table().covering(candidate.kind(), &binding.scope()) {
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        slots
    }

    /// Gives every published template that the candidate would get to the candidate and to the active version.
    async fn on_templates(
        &self,
        candidate: &InstalledPlugin,
        evidence: &dyn Evidence,
    ) -> Result<Templates, EvidenceError> {
        let binding = &candidate.config().binding;
        let mut templates = Templates::default();
        let mut after = None;
        loop {
            let OwnersPage { owners, next } = evidence.accounts(binding.clone(), after).await?;
            for owner in &owners {
                self.on_templates_of(owner, candidate, evidence, &mut templates).await?;
            }
            if next.is_none() {
                break;
            }
            after = next;
        }
        if *binding == Binding::Server {
            self.on_templates_of(&Owner::server(), candidate, evidence, &mut templates).await?;
        }
        Ok(templates)
    }

    async fn on_templates_of(
        &self,
        owner: &Owner,
        candidate: &InstalledPlugin,
        evidence: &dyn Evidence,
        templates: &mut Templates,
    ) -> Result<(), EvidenceError> {
        let scope = owner.scope(&candidate.config().binding);
        let Some(live) = self.replaced_by(candidate, &scope) else { return Ok(()) };
        for published in evidence.templates(candidate.kind(), owner.clone()).await? {
            tokio::task::yield_now().await;
            let context = self.context(String::new());
            let served = served(&live, candidate, &published, context).await;
            templates.note(owner, &published, served);
        }
        Ok(())
    }

    /// What answers a call that the candidate would answer; none where a narrower one goes on
    /// answering it.
    fn replaced_by(
        &self,
        candidate: &InstalledPlugin,
        scope: &Scope<'_>,
    ) -> Option<InstalledPlugin> {
        let live = self.table().serving(candidate.kind(), scope);
        let binding = &candidate.config().binding;
        let is_narrower = live.config().binding.narrowness() > binding.narrowness();
        let goes_on = is_narrower && live.slot() != candidate.slot();
        (binding.covers(scope) && !goes_on).then_some(live)
    }
}
