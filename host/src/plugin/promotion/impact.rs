//! What would change if a candidate were live: recorded calls are made to both, and published
//! templates are rendered by both.

use serde::Serialize;
use serde_json::Value;

use super::evidence::{Evidence, EvidenceError, Owner, Published};
use super::installed::Proven;
use super::shadow::{Difference, compare};
use crate::plugin::Plugins;
use crate::plugin::config::binding::Scope;
use crate::plugin::config::slot::SlotName;
use crate::plugin::records::{Call, Input, gist, send_outcome};
use crate::plugin::runtime::bindings::types::CallContext;
use crate::plugin::runtime::bindings::world::Kind;

/// Differences and failures that are listed one by one; all are counted.
const LISTED: usize = 50;
/// Calls that are named for each group of equal differences.
const NAMED: usize = 3;

/// What would change.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Impact {
    /// Recorded calls that were made to both.
    pub compared: u32,
    /// How many the candidate answers otherwise.
    pub would_change: u32,
    /// How many the candidate serves worse: with no answer, a failure, or without a part.
    pub would_fail: u32,
    /// How many the live policy lets pass.
    pub pass: u32,
    /// Of those, how many the candidate lets pass too.
    pub would_pass: u32,
    /// Equal differences, the most frequent first.
    pub groups: Vec<Group>,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// What the candidate makes of published templates; for renderers.
    pub templates: Templates,
}

/// Differences that are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// What differs, such as `allow for 1 -> deny (restricted-template)`.
    pub what: String,
    /// How many calls differ so.
    pub calls: u32,
    /// The first of them.
    pub call_ids: Vec<String>,
}

/// What a candidate makes of the published templates.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Templates {
    /// Templates that were compiled, and rendered with their examples.
    pub checked: u32,
    /// How many the candidate serves worse than what is live.
    pub failed: u32,
    /// The first of them.
    pub failures: Vec<TemplateFailure>,
}

/// A published template that a candidate serves worse than what is live.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateFailure {
    /// Whose it is.
    pub account: String,
    /// Its slug.
    pub template: String,
    /// The published revision.
    pub revision: u64,
    /// What is worse.
    pub reason: String,
}

impl Impact {
    /// Whether the candidate serves something worse than what is live.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.would_fail > 0 || self.templates.failed > 0
    }

    /// Whether the candidate refuses every call that passes now.
    #[must_use]
    pub fn refuses_all(&self) -> bool {
        self.pass > 0 && self.would_pass == 0
    }

    /// Makes recorded calls to both.
    pub async fn on_calls(live: &Proven, candidate: &Proven, calls: &[Call]) -> Self {
        let mut impact = Self::default();
        for call in calls {
            // Sends go first.
            tokio::task::yield_now().await;
            let (before, _) = live.answer(call).await;
            let (after, _) = candidate.answer(call).await;
            impact.compared += 1;
            impact.would_fail +=
                u32::from(send_outcome::worse(call.kind(), &before, &after).is_some());
            if send_outcome::passes(call.kind(), &before) {
                impact.pass += 1;
                impact.would_pass += u32::from(send_outcome::passes(call.kind(), &after));
            }
            if let Some(difference) = compare(call, &before, &after) {
                impact.would_change += 1;
                note(&mut impact.groups, call, &before, &after);
                if impact.differences.len() < LISTED {
                    impact.differences.push(difference);
                }
            }
        }
        impact
    }
}

/// Counts a difference among those that are equal to it.
pub(in crate::plugin) fn note(groups: &mut Vec<Group>, call: &Call, before: &Value, after: &Value) {
    let what = gist(call.kind(), before, after);
    let call_id = call.context.call_id.clone();
    if let Some(group) = groups.iter_mut().find(|it| it.what == what) {
        group.calls += 1;
        if group.call_ids.len() < NAMED {
            group.call_ids.push(call_id);
        }
    } else if groups.len() < LISTED {
        groups.push(Group { what, calls: 1, call_ids: vec![call_id] });
    }
    groups.sort_by_key(|it| std::cmp::Reverse(it.calls));
}

impl Plugins {
    /// What a candidate would change, were it live in its slot.
    ///
    /// # Errors
    /// The evidence cannot be had.
    pub async fn impact(
        &self,
        candidate: &Proven,
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
        if kind == Kind::Renderer {
            impact.templates = self.on_templates(candidate, evidence).await?;
        }
        Ok(impact)
    }

    /// The candidate's own slot, then those that answer the calls of its binding, narrowest first.
    fn answering(&self, candidate: &Proven) -> Vec<SlotName> {
        let binding = &candidate.config().binding;
        let mut slots = vec![candidate.slot().clone()];
        for slot in self.table().covering(candidate.kind(), &binding.scope()) {
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        slots
    }

    /// Compiles every template that the candidate would render and renders its example, by the
    /// candidate and by what is live.
    async fn on_templates(
        &self,
        candidate: &Proven,
        evidence: &dyn Evidence,
    ) -> Result<Templates, EvidenceError> {
        let binding = &candidate.config().binding;
        let mut templates = Templates::default();
        for owner in evidence.accounts(binding.clone()).await? {
            let scope = owner.scope(binding);
            let Some(live) = self.replaced_by(candidate, &scope) else { continue };
            for published in evidence.templates(owner.clone()).await? {
                tokio::task::yield_now().await;
                templates.checked += 1;
                let reason = worse_on(&live, candidate, &published, self.context(String::new()));
                if let Some(reason) = reason.await {
                    templates.failed += 1;
                    templates.list(&owner, &published, reason);
                }
            }
        }
        Ok(templates)
    }

    /// What answers a call that the candidate would answer; none where a narrower one goes on
    /// answering it.
    fn replaced_by(&self, candidate: &Proven, scope: &Scope<'_>) -> Option<Proven> {
        let live = self.table().serving(candidate.kind(), scope);
        let binding = &candidate.config().binding;
        let is_narrower = live.config().binding.narrowness() > binding.narrowness();
        let goes_on = is_narrower && live.slot() != candidate.slot();
        (binding.covers(scope) && !goes_on).then_some(live)
    }
}

async fn worse_on(
    live: &Proven,
    candidate: &Proven,
    published: &Published,
    context: CallContext,
) -> Option<String> {
    let (template, data) = (published.template.clone(), published.trial_data.clone());
    let input = Input::Render { template, data };
    let call = Call { context, settings: None, input };
    let (after, _) = candidate.answer(&call).await;
    // Most are, and what is live need not be asked then.
    if send_outcome::is_whole(&published.template, &after) {
        return None;
    }
    let (before, _) = live.answer(&call).await;
    send_outcome::worse(Kind::Renderer, &before, &after)
}

impl Templates {
    fn list(&mut self, owner: &Owner, published: &Published, reason: String) {
        if self.failures.len() < LISTED {
            self.failures.push(TemplateFailure {
                account: owner.account.clone(),
                template: published.template.slug.clone(),
                revision: published.template.revision,
                reason,
            });
        }
    }
}
