//! What would change if a candidate were live: recorded calls are made to both, and published
//! templates are rendered, or their MJML compiled, by both.

use serde::{Deserialize, Serialize};
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
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
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
    /// What the candidate makes of published templates; for renderers and MJML compilers.
    pub templates: Templates,
}

/// What a candidate makes of the published templates.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = ImpactOnTemplates)]
#[serde(rename_all = "camelCase")]
pub struct Templates {
    /// Templates that were compiled, and by a renderer rendered with their examples; each locale counts.
    pub checked: u32,
    /// How many the candidate serves worse than the active version.
    pub failed: u32,
    /// The first of them.
    pub failures: Vec<TemplateChange>,
    /// How many an MJML compiler makes other HTML or other warnings of: they change with their next version.
    pub changed: u32,
    /// The first of them.
    pub changes: Vec<TemplateChange>,
}

/// A published template that a candidate serves worse than the active version, or otherwise.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateChange {
    /// The account that published the template; empty for a layout of the server.
    pub account: String,
    /// The slug of the template.
    pub template: String,
    /// The published revision.
    pub revision: u64,
    /// What is worse, or where the answers differ.
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

/// What a candidate makes of a published template, beside the active version.
#[derive(Debug)]
pub enum Served {
    Alike,
    Worse(String),
    Otherwise(String),
}

/// Gives a published template to the candidate, and to the active version where that says more.
pub async fn served(
    live: &InstalledPlugin,
    candidate: &InstalledPlugin,
    published: &Published,
    context: CallContext,
) -> Served {
    let call = Call { context, settings: None, input: published.input.clone() };
    let (after, _) = candidate.dry_run(&call).await;
    if let Input::Render { template, .. } = &published.input
        && send_outcome::has_all_parts(template, &after)
    {
        // Most are, and the active version need not be asked then.
        return Served::Alike;
    }
    let (before, _) = live.dry_run(&call).await;
    if let Some(reason) = send_outcome::regression(call.kind(), &before, &after) {
        return Served::Worse(reason);
    }
    match compare(&call, &before, &after) {
        // A renderer is compared on what is in its recorded calls.
        Some(difference) if call.kind() == Kind::Mjml => {
            Served::Otherwise(difference.lines.join("; "))
        }
        Some(_) | None => Served::Alike,
    }
}

impl Templates {
    /// Counts what was made of a template, and lists it within the bound.
    pub fn note(&mut self, owner: &Owner, published: &Published, served: Served) {
        self.checked += 1;
        let (count, listed, reason) = match served {
            Served::Alike => return,
            Served::Worse(reason) => (&mut self.failed, &mut self.failures, reason),
            Served::Otherwise(reason) => (&mut self.changed, &mut self.changes, reason),
        };
        *count += 1;
        if listed.len() < MAX_LISTED {
            listed.push(TemplateChange {
                account: owner.account.clone(),
                template: published.slug.clone(),
                revision: published.revision,
                reason,
            });
        }
    }
}
