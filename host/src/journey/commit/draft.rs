//! What was decided of the messages of one request, handed to the one task that commits, and the answers brought
//! back.

use std::sync::Arc;
use std::time::Instant;

use super::Commit;
use super::batch::CommitError;
use super::receipt::Reply;
use crate::id::DecisionId;
use crate::journey::accept::abort::{Abort, RefusedMessage};
use crate::journey::accept::authenticate::Sender;
use crate::journey::accept::refusal::{Outage, Refusal, Refused, UNKNOWN};
use crate::journey::accept::request::Request;
use crate::journey::accept::submission::{Content, Faulty, Submission};
use crate::journey::accept::{Step, record_step};
use crate::store::RefusalRecord;
use crate::store::records::{
    Acceptance, Answer, Job, JobItem, JobOutcome, NewMessage, PluginDecision,
};
use crate::template::slug::Slug;
use crate::trace::{self, Times};

/// The messages of a request as far as they are decided.
#[derive(Debug)]
pub(in crate::journey) struct Draft<'a> {
    commit: &'a Commit,
    sender: &'a Sender,
    request: &'a Request,
    items: Vec<JobItem>,
    /// Recorded with the answer: a request that is decided again leaves no records of its first decision.
    refusals: Vec<RefusalRecord>,
}

impl<'a> Draft<'a> {
    pub(in crate::journey) fn new(
        commit: &'a Commit,
        sender: &'a Sender,
        request: &'a Request,
    ) -> Self {
        let items = Vec::with_capacity(request.items.len());
        Self { commit, sender, request, items, refusals: Vec::new() }
    }

    /// Takes what was decided of the next message. One that is refused refuses all where the client wants all or
    /// none.
    pub(in crate::journey) fn push(
        &mut self,
        decided: Result<NewMessage, Abort>,
    ) -> Result<(), Abort> {
        let refused = match decided {
            Ok(message) => {
                self.items.push(JobItem::Message(Box::new(message)));
                return Ok(());
            }
            Err(Abort::Message(refused)) => self.refuse(refused),
            Err(abort) => return Err(abort),
        };
        if self.request.acceptance == Acceptance::Together {
            self.record_refusals();
            return Err(Abort::Request(refused));
        }
        self.items.push(JobItem::Refused(refused.to_json()));
        Ok(())
    }

    /// A refusal before any plugin was asked has no record.
    fn refuse(&mut self, refused: RefusedMessage) -> Refused {
        let RefusedMessage { refusal, decisions } = refused;
        let decision = (!decisions.is_empty()).then(|| DecisionId::new(self.commit.clock.now()));
        let item = self.request.items.get(self.items.len());
        if let Some(id) = decision {
            self.commit.sample(id, &decisions);
            self.refusals.push(RefusalRecord {
                id,
                account_id: self.sender.key.account_id,
                code: refusal.code(),
                template: item.and_then(template_of),
                plugins: decisions.into_recorded(),
            });
        }
        Refused { refusal, decision }
    }

    fn record_refusals(&mut self) {
        for refusal in self.refusals.drain(..) {
            self.commit.committer.record_refusal(refusal);
        }
    }

    /// Stores, charges and queues what is not refused; what the reply calls accepted is durable.
    pub(in crate::journey) async fn commit(mut self, revision: i64) -> Result<Reply, Abort> {
        self.record_refusals();
        let refused = |item: &JobItem| match item {
            JobItem::Refused(refusal) => Some(Answer::Refused { refusal: refusal.clone() }),
            JobItem::Message(_) => None,
        };
        if let Some(answers) = self.items.iter().map(refused).collect() {
            return Ok(Reply::new(answers, self.request));
        }
        // What was decided of each message, should the balance refuse it in the end.
        let decided = |item: &JobItem| match item {
            JobItem::Message(it) => Some((DecisionId::of(it.id), Arc::clone(&it.decisions))),
            JobItem::Refused(_) => None,
        };
        let decided: Vec<_> = self.items.iter().map(decided).collect();
        let key = &self.sender.key;
        let job = Job {
            revision,
            account_id: key.account_id,
            key_id: key.id,
            mode: key.mode,
            idempotency: self.request.idempotency.clone(),
            acceptance: self.request.acceptance,
            items: self.items,
        };
        let start = Instant::now();
        let outcome = self.commit.committer.commit(job).await;
        record_step(Step::Commit, start);
        let committed = Times::since(start);
        let answers = match outcome {
            Ok(JobOutcome::Answered(answers)) => answers,
            Ok(JobOutcome::Replayed(answers)) => {
                return Ok(Reply::replayed(answers, self.request));
            }
            Ok(JobOutcome::Stale) => return Err(Abort::Stale),
            Ok(JobOutcome::KeyConflict) => {
                return Err(Abort::request(Refusal::IdempotencyConflict));
            }
            Err(error) => return Err(Abort::request(not_committed(error))),
        };
        let stored = answers.iter().filter_map(|answer| match answer {
            Answer::Accepted { message_id, .. } => Some(*message_id),
            Answer::Insufficient { .. } | Answer::Refused { .. } => None,
        });
        trace::accepted(&self.request.arrival, key.account_id, committed, stored);
        let unpaid = follow(self.commit, (self.sender, self.request), &answers, decided);
        let mut reply = Reply::new(answers, self.request);
        for (item, decision) in reply.items.iter_mut().zip(unpaid) {
            if let Err(refused) = item {
                refused.decision = refused.decision.or(decision);
            }
        }
        Ok(reply)
    }
}

/// Follows the balance of what was accepted, and records what the balance refused.
fn follow(
    commit: &Commit,
    (sender, request): (&Sender, &Request),
    answers: &[Answer],
    decided: Vec<Option<(DecisionId, Arc<[PluginDecision]>)>>,
) -> Vec<Option<DecisionId>> {
    let all = answers.iter().zip(decided).zip(&request.items);
    let unpaid = all.map(|((answer, decided), item)| match (answer, decided) {
        (Answer::Accepted { credits_remaining, .. }, _) => {
            sender.account.committed(credits_remaining.0);
            None
        }
        (Answer::Insufficient { .. }, Some((id, plugins))) => {
            commit.committer.record_refusal(RefusalRecord {
                id,
                account_id: sender.key.account_id,
                code: "INSUFFICIENT_BALANCE",
                template: template_of(item),
                plugins,
            });
            Some(id)
        }
        (Answer::Insufficient { .. } | Answer::Refused { .. }, _) => None,
    });
    unpaid.collect()
}

/// The published template that an item would have sent.
fn template_of(item: &Result<Submission, Faulty>) -> Option<Slug> {
    match &item.as_ref().ok()?.content {
        Content::Filled(filled) => filled.trial.is_none().then(|| filled.template.clone()),
        Content::Again(again) => {
            let template = again.template.as_ref().filter(|it| it.revision > 0);
            template.map(|it| it.slug.clone())
        }
        Content::Raw(_) => None,
    }
}

fn not_committed(error: CommitError) -> Refusal {
    match error {
        CommitError::ShuttingDown => {
            Refusal::unavailable(Outage::Stopping, "the server is shutting down")
        }
        CommitError::Store(error) if error.is_unknown() => {
            tracing::error!(%error, "nobody knows whether messages were stored; the client was told so");
            Refusal::unavailable(Outage::Store, UNKNOWN)
        }
        error @ (CommitError::Store(_) | CommitError::NoOutcome) => {
            tracing::error!(detail = %error, "message not stored; the client was told to try again later");
            Refusal::unavailable(Outage::Store, "the message cannot be stored now")
        }
    }
}
