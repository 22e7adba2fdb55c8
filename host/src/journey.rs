//! The journey of a message: accept, policy, render, commit; then, on its own time, deliver.
//!
//! Both doors call [`Journey::send`]; no door decides anything that is decided here. A message is
//! decided on the facts of one revision and by one generation of each plugin. If the facts move
//! before the commit, the whole decision is made again.

pub mod accept;
pub mod commit;
pub mod deliver;
pub mod policy;
pub mod render;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::clock::Clock;
use crate::id::{DecisionId, RequestId};
use crate::plugin::Plugins;
use crate::plugin::decision::Decision;
use crate::store::facts::{FactError, Facts, Snapshot};
use crate::store::records::{Answer, Idempotency, Job, JobOutcome, Slot};
use crate::store::seal::Seal;
use crate::store::sqlite::RefusalRecord;
use crate::store::{Store, StoreError};
use accept::authenticate::{Caller, Sender};
use accept::idempotency::InFlight;
use accept::refusal::{Refusal, Refused};
use accept::submission::{Faulty, Submission};
use commit::batch::{CommitError, Committer};
use commit::receipt::Receipt;

/// How long a decision is made again because the facts moved under it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The one way from a request to a stored message.
#[derive(Debug)]
pub struct Journey {
    clock: Clock,
    store: Store,
    facts: Arc<Facts>,
    plugins: Arc<Plugins>,
    committer: Committer,
    seal: Arc<Seal>,
    in_flight: InFlight,
}

/// What a client asked for in one request.
#[derive(Debug)]
pub struct Request {
    /// Correlates logs, records and the answer.
    pub id: RequestId,
    /// The client's own key for the request.
    pub idempotency: Option<Idempotency>,
    /// The messages, in order; a faulty one only keeps its place.
    pub items: Vec<Result<Submission, Faulty>>,
}

/// The answer to a request.
#[derive(Debug)]
pub struct Reply {
    /// One for each message, in order.
    pub items: Vec<Result<Receipt, Refused>>,
    /// Whether this is the answer of an earlier, equal request.
    pub replayed: bool,
}

/// Why an attempt did not come to an answer.
enum Stop {
    /// The facts moved; decide again.
    Stale,
    /// The whole request is refused.
    Refused(Refusal),
}

/// A message that was refused, with what the plugins had decided until then.
struct Turned {
    refusal: Refusal,
    decisions: Vec<Decision>,
}

impl Journey {
    /// Wires the journey; `committer` is the way into the one task that commits.
    #[must_use]
    pub fn new(
        clock: Clock,
        store: Store,
        facts: Arc<Facts>,
        plugins: Arc<Plugins>,
        committer: Committer,
        seal: Arc<Seal>,
    ) -> Self {
        Self { clock, store, facts, plugins, committer, seal, in_flight: InFlight::default() }
    }

    /// Sends messages. Each is stored, charged and queued, or refused at no charge; what is
    /// accepted is durable when this answers.
    ///
    /// # Errors
    /// The request as a whole is refused: its key, or its idempotency key.
    pub async fn send(&self, caller: &Caller, request: &Request) -> Result<Reply, Refused> {
        let _only_one = match &request.idempotency {
            Some(idempotency) => Some(self.begin(caller, idempotency)?),
            None => None,
        };
        if let Some(idempotency) = &request.idempotency
            && let Some(reply) = self.kept_reply(caller, idempotency, request).await?
        {
            return Ok(reply);
        }
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let snapshot = self.facts.snapshot();
            let answer = match self.attempt(&snapshot, caller, request).await {
                Ok(reply) if reply.items.iter().any(Result::is_ok) => return Ok(reply),
                Ok(reply) => Ok(reply),
                Err(Stop::Refused(refusal)) => Err(refusal),
                Err(Stop::Stale) => {
                    self.have_moved(&snapshot).await?;
                    continue;
                }
            };
            // A refusal holds only if it was decided on the facts as they are.
            if self.have_moved(&snapshot).await? {
                continue;
            }
            return match answer {
                Ok(reply) => Ok(reply),
                Err(refusal) => Err(refusal.into()),
            };
        }
        Err(Refusal::unavailable("the account's settings are changing; try again").into())
    }

    async fn attempt(
        &self,
        snapshot: &Snapshot,
        caller: &Caller,
        request: &Request,
    ) -> Result<Reply, Stop> {
        let sender = accept::authenticate::standing(snapshot, caller, self.clock.now()).await?;
        let mut slots = Vec::with_capacity(request.items.len());
        let mut refusals = Vec::new();
        for item in &request.items {
            let submission = match item {
                Ok(submission) => submission,
                Err(faulty) => {
                    let refused = refuse(snapshot, &sender, faulty).await?;
                    slots.push(Slot::Refused(refused.to_json()));
                    continue;
                }
            };
            match self.decide(snapshot, &sender, request, submission).await? {
                Ok(message) => slots.push(Slot::Message(Box::new(message))),
                Err(turned) => {
                    let decision =
                        (!turned.decisions.is_empty()).then(|| DecisionId::new(self.clock.now()));
                    let refused = Refused { refusal: turned.refusal, decision };
                    slots.push(Slot::Refused(refused.to_json()));
                    if let Some(id) = decision {
                        self.sample(id, &turned.decisions);
                        refusals.push(RefusalRecord {
                            id,
                            account_id: caller.key.account_id,
                            code: refused.refusal.code(),
                            plugins: commit::to_json(&turned.decisions).into(),
                        });
                    }
                }
            }
        }
        for refusal in refusals {
            self.committer.record(refusal);
        }
        let job = Job {
            revision: snapshot.revision(),
            account_id: caller.key.account_id,
            key_id: caller.key.id,
            idempotency: request.idempotency.clone(),
            slots,
        };
        self.commit(&sender, job, request).await
    }

    /// Policy and render for one message.
    async fn decide(
        &self,
        snapshot: &Snapshot,
        sender: &Sender,
        request: &Request,
        submission: &Submission,
    ) -> Result<Result<crate::store::records::NewMessage, Turned>, Stop> {
        let context = self.plugins.context(request.id.to_string());
        // One message is decided by the same generations from start to end.
        let plugins = self.plugins.table();
        let start = Instant::now();
        let admitted = policy::admit(snapshot, &plugins, &context, sender, submission).await?;
        step("policy", start);
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(turned) => return Ok(Err(turned)),
        };
        let start = Instant::now();
        let (account, now) = (&sender.account.account, self.clock.now());
        let rendered = render::render(&plugins, account, &context, admitted, submission, now).await;
        step("render", start);
        Ok(rendered.map(|rendered| {
            let id = DecisionId::new(now);
            self.sample(id, &rendered.decisions);
            commit::message(id, rendered, submission)
        }))
    }

    /// Keeps what went into plugins and came out, for the calls that are in the sample.
    fn sample(&self, id: DecisionId, decisions: &[Decision]) {
        for sample in commit::sample::seal(&self.seal, id, decisions) {
            self.committer.sample(sample);
        }
    }

    async fn commit(&self, sender: &Sender, job: Job, request: &Request) -> Result<Reply, Stop> {
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
            Ok(JobOutcome::KeyConflict) => return Err(Stop::Refused(Refusal::IdempotencyConflict)),
            Err(CommitError::ShuttingDown) => {
                return Err(Stop::Refused(Refusal::unavailable("the server is shutting down")));
            }
            Err(CommitError::Store(detail)) => {
                tracing::error!(detail, "a send could not be stored");
                return Err(Stop::Refused(Refusal::unavailable(
                    "the message cannot be stored now",
                )));
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

    /// Lets this request be the only one that runs with its key.
    fn begin(
        &self,
        caller: &Caller,
        idempotency: &Idempotency,
    ) -> Result<accept::idempotency::Guard, Refused> {
        self.in_flight
            .begin(caller.key.account_id, &idempotency.key)
            .ok_or_else(|| Refusal::IdempotencyInFlight.into())
    }

    /// The answer to an equal request of the last 24 hours.
    async fn kept_reply(
        &self,
        caller: &Caller,
        idempotency: &Idempotency,
        request: &Request,
    ) -> Result<Option<Reply>, Refused> {
        let account = caller.key.account_id;
        let kept = self.store.kept_answer(account, idempotency, self.clock.now()).await;
        match kept.map_err(|error| unreachable_store(&error))? {
            None => Ok(None),
            Some(None) => Err(Refusal::IdempotencyConflict.into()),
            Some(Some(answers)) => Ok(Some(Reply::new(answers, request, true))),
        }
    }

    async fn have_moved(&self, snapshot: &Snapshot) -> Result<bool, Refused> {
        self.facts
            .have_moved(snapshot.revision())
            .await
            .map_err(|error| unreachable_store(&error).into())
    }
}

impl Reply {
    fn new(answers: Vec<Answer>, request: &Request, replayed: bool) -> Self {
        let read = |(answer, item): (Answer, &Result<Submission, Faulty>)| {
            let warnings = item.as_ref().map(|it| it.warnings.clone()).unwrap_or_default();
            commit::receipt::read(answer, warnings)
        };
        Self { items: answers.into_iter().zip(&request.items).map(read).collect(), replayed }
    }
}

impl From<FactError> for Stop {
    fn from(error: FactError) -> Self {
        match error {
            FactError::Stale => Self::Stale,
            FactError::Store(error) => Self::Refused(unreachable_store(&error)),
        }
    }
}

/// All faults at once: those of the fields, and those that the template shows.
async fn refuse(snapshot: &Snapshot, sender: &Sender, faulty: &Faulty) -> Result<Refused, Stop> {
    let mut all = faulty.faults.clone();
    all.extend(policy::further_faults(snapshot, sender, faulty).await?);
    Ok(Refusal::bad_request(all).into())
}

fn unreachable_store(error: &StoreError) -> Refusal {
    tracing::error!(%error, "the store failed");
    Refusal::unavailable("the store cannot be reached")
}

fn step(name: &'static str, start: Instant) {
    metrics::histogram!("waxwing_step_seconds", "step" => name).record(start.elapsed());
}
