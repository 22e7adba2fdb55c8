//! What would change if a candidate were live: recorded calls are made to both, and published
//! templates are rendered by both.

use serde::Serialize;
use utoipa::ToSchema;

use super::comparison::{Difference, Group, compare, note};
use super::evidence::{Owner, Published};
use super::installed::InstalledPlugin;
use crate::plugin::records::{Call, Input, send_outcome};
use crate::plugin::runtime::bindings::types::CallContext;
use crate::plugin::runtime::kind::Kind;

/// Differences and failures that are listed one by one; all are counted.
const MAX_LISTED: usize = 50;

/// What a component would change.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
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

/// What a candidate makes of the published templates.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = ImpactOnTemplates)]
#[serde(rename_all = "camelCase")]
pub struct Templates {
    /// Templates that were compiled, and rendered with their examples.
    pub checked: u32,
    /// How many the candidate serves worse than the active version.
    pub failed: u32,
    /// The first of them.
    pub failures: Vec<TemplateFailure>,
}

/// A published template that a candidate serves worse than the active version.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateFailure {
    /// The account that published the template.
    pub account: String,
    /// The slug of the template.
    pub template: String,
    /// The published revision.
    pub revision: u64,
    /// What is worse.
    pub reason: String,
}

impl Impact {
    /// Whether the candidate serves something worse than the active version.
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
    pub async fn on_calls(
        live: &InstalledPlugin,
        candidate: &InstalledPlugin,
        calls: &[Call],
    ) -> Self {
        let mut impact = Self::default();
        for call in calls {
            // Sends go first.
            tokio::task::yield_now().await;
            let (before, _) = live.dry_run(call).await;
            let (after, _) = candidate.dry_run(call).await;
            impact.compared += 1;
            impact.would_fail +=
                u32::from(send_outcome::regression(call.kind(), &before, &after).is_some());
            if send_outcome::lets_pass(call.kind(), &before) {
                impact.pass += 1;
                impact.would_pass += u32::from(send_outcome::lets_pass(call.kind(), &after));
            }
            if let Some(difference) = compare(call, &before, &after) {
                impact.would_change += 1;
                note(&mut impact.groups, call, &before, &after);
                if impact.differences.len() < MAX_LISTED {
                    impact.differences.push(difference);
                }
            }
        }
        impact
    }
}

/// Why the candidate serves a published template worse than the active version, if it does.
pub async fn worse_on(
    live: &InstalledPlugin,
    candidate: &InstalledPlugin,
    published: &Published,
    context: CallContext,
) -> Option<String> {
    let (template, data) = (published.template.clone(), published.trial_data.clone());
    let input = Input::Render { template, data };
    let call = Call { context, settings: None, input };
    let (after, _) = candidate.dry_run(&call).await;
    // Most are, and the active version need not be asked then.
    if send_outcome::has_all_parts(&published.template, &after) {
        return None;
    }
    let (before, _) = live.dry_run(&call).await;
    send_outcome::regression(Kind::Renderer, &before, &after)
}

impl Templates {
    /// Notes a failure, within the bound of the list.
    pub fn list(&mut self, owner: &Owner, published: &Published, reason: String) {
        if self.failures.len() < MAX_LISTED {
            self.failures.push(TemplateFailure {
                account: owner.account.clone(),
                template: published.template.slug.clone(),
                revision: published.template.revision,
                reason,
            });
        }
    }
}
