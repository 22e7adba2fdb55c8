//! One request's job: handed to the one task that commits, and its answers brought back.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::batch::CommitError;
use crate::id::DecisionId;
use crate::journey::accept::authenticate::Sender;
use crate::journey::accept::refusal::{Outage, Refusal};
use crate::journey::{Journey, Reply, Request, Stop, step};
use crate::store::RefusalRecord;
use crate::store::records::{Answer, Job, JobOutcome, Slot};

impl Journey {
    /// Commits what was decided of a request.
    pub(in crate::journey) async fn commit(
        &self,
        sender: &Sender,
        job: Job,
        request: &Request,
    ) -> Result<Reply, Stop> {
        let all_refused: Option<Vec<Answer>> = job
            .slots
            .iter()
            .map(|slot| match slot {
                Slot::Refused(refusal) => Some(Answer::Refused { refusal: refusal.clone() }),
                Slot::Message(_) => None,
            })
            .collect();
        if let Some(refused) = all_refused {
            return Ok(Reply::new(refused, request, false));
        }
        // What was decided of each message, should the balance refuse it in the end.
        let decided: Vec<Option<(DecisionId, Arc<Value>)>> = job
            .slots
            .iter()
            .map(|slot| match slot {
                Slot::Message(it) => Some((it.decision_id, Arc::clone(&it.decisions))),
                Slot::Refused(_) => None,
            })
            .collect();
        let account_id = job.account_id;
        let start = Instant::now();
        let outcome = self.committer.commit(job).await;
        step("commit", start);
        let (answers, replayed) = match outcome {
            Ok(JobOutcome::Answered(answers)) => (answers, false),
            Ok(JobOutcome::Replayed(answers)) => (answers, true),
            Ok(JobOutcome::Stale) => return Err(Stop::Stale),
            Ok(JobOutcome::KeyConflict) => return Err(Stop::refused(Refusal::IdempotencyConflict)),
            Err(CommitError::ShuttingDown) => {
                let message = "the server is shutting down";
                return Err(Stop::refused(Refusal::unavailable(Outage::Stopping, message)));
            }
            Err(CommitError::Store(detail)) => {
                tracing::error!(detail, "a send could not be stored");
                let message = "the message cannot be stored now";
                return Err(Stop::refused(Refusal::unavailable(Outage::Store, message)));
            }
        };
        let mut unpaid = vec![None; answers.len()];
        if !replayed {
            for ((answer, decided), unpaid) in answers.iter().zip(decided).zip(&mut unpaid) {
                match (answer, decided) {
                    (Answer::Accepted { credits_remaining, .. }, _) => {
                        sender.account.committed(credits_remaining.0);
                    }
                    (Answer::Insufficient { .. }, Some((id, plugins))) => {
                        let code = "INSUFFICIENT_BALANCE";
                        self.committer.record(RefusalRecord { id, account_id, code, plugins });
                        *unpaid = Some(id);
                    }
                    (Answer::Insufficient { .. } | Answer::Refused { .. }, _) => {}
                }
            }
        }
        let mut reply = Reply::new(answers, request, replayed);
        for (item, decision) in reply.items.iter_mut().zip(unpaid) {
            if let Err(refused) = item {
                refused.decision = refused.decision.or(decision);
            }
        }
        Ok(reply)
    }
}
