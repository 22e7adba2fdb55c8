//! Commit: debit, message, body, queue row, decision record and idempotency row in one
//! transaction. The only writer of debits and new messages.

pub mod batch;
pub mod decide;
pub mod receipt;
mod request;
pub(super) mod sample;

use serde_json::Value;

use super::accept::submission::{Content, Submission};
use super::render::Rendered;
use crate::id::DecisionId;
use crate::plugin::decision::Decision;
use crate::store::records::NewMessage;

/// A rendered message as the store takes it.
pub(super) fn message(
    decision_id: DecisionId,
    rendered: Rendered,
    submission: &Submission,
) -> NewMessage {
    NewMessage {
        id: rendered.id,
        channel: submission.channel.word(),
        template: rendered.template,
        sender: rendered.from,
        domain: rendered.domain,
        return_path: rendered.return_path,
        recipient: submission.to.clone(),
        subject: rendered.subject,
        route: rendered.route,
        price: rendered.price,
        tags: submission.tags.clone(),
        metadata: submission.metadata.clone(),
        send_at: submission.send_at,
        resent_from: match &submission.content {
            Content::Again(again) => Some(again.id),
            Content::Filled(_) | Content::Raw(_) => None,
        },
        body: rendered.body,
        blank: blank(&rendered.decisions),
        decision_id,
        decisions: to_json(&rendered.decisions).into(),
    }
}

/// The variables that went out blank, as the decision records them.
pub(super) fn blank(decisions: &[Decision]) -> Vec<String> {
    decisions.iter().flat_map(|decision| &decision.blank).cloned().collect()
}

/// Decisions as the store keeps them.
pub(super) fn to_json(decisions: &[Decision]) -> Value {
    serde_json::to_value(decisions).expect("a decision has string keys only")
}
