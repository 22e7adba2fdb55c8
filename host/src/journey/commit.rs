//! Commit: debit, message, body, queue row, decision record and idempotency row in one transaction. Nothing else writes
//! debits and new messages. This file only builds the row; `batch` writes it.

pub mod batch;
pub mod decide;
pub(super) mod draft;
pub mod receipt;
pub(super) mod idempotent_reply;
mod sample;

use std::sync::Arc;

use super::accept::decisions::Decisions;
use super::accept::submission::{Content, Submission};
use super::render::Rendered;
use crate::clock::Clock;
use crate::id::DecisionId;
use crate::message::channel::Channel;
use crate::store::records::NewMessage;
use crate::store::seal::Seal;
use batch::Committer;

/// The way of decided messages into the store.
#[derive(Debug)]
pub struct Commit {
    pub clock: Clock,
    /// The way into the one task that commits.
    pub committer: Committer,
    /// Seals recorded calls of plugins.
    pub seal: Arc<Seal>,
}

impl Commit {
    /// A rendered message as the store takes it.
    pub(super) fn message(&self, rendered: Rendered, submission: &Submission) -> NewMessage {
        self.sample(DecisionId::of(rendered.id), &rendered.decisions);
        let recorded = rendered.decisions.recorded();
        let message = NewMessage {
            id: rendered.id,
            channel: submission.channel,
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
            blank: recorded.iter().flat_map(|it| &it.blank).cloned().collect(),
            unread: rendered.unread,
            locale: recorded.iter().find_map(|it| it.locale.clone()),
            decisions: rendered.decisions.into_recorded(),
        };
        log_blanks(&message, submission.channel);
        message
    }

    /// Keeps what went into plugins and came out, for the calls that are in the sample.
    fn sample(&self, id: DecisionId, decisions: &Decisions) {
        for sample in sample::seal(&self.seal, id, decisions) {
            self.committer.record_sample(sample);
        }
    }
}

/// A client of the relay has no answer that warnings could stand in, so the log has them.
fn log_blanks(message: &NewMessage, channel: Channel) {
    if channel == Channel::Smtp && !message.blank.is_empty() {
        let template = message.template.as_ref().map(|it| it.slug.as_str());
        let (id, blank) = (message.id, message.blank.join(", "));
        tracing::warn!(message_id = %id, template, blank, "a message was accepted over SMTP although its template left variables blank");
    }
}
