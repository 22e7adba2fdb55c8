//! The journey of a message: accept, policy, render, commit. [`crate::delivery`] follows on its
//! own time.
//!
//! Both doors call [`Journey::send`]; no door decides anything that is decided here. A message is
//! decided on the facts of one revision and by one generation of each plugin. If the facts move
//! before the commit, the whole decision is made again.

pub mod accept;
pub mod commit;
pub mod policy;
pub mod render;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::id::{DecisionId, RequestId};
use crate::message::address::EmailAddress;
use crate::plugin::Plugins;
use crate::plugin::decision::Decision;
use crate::store::facts::{FactError, Facts, Snapshot};
use crate::store::records::{Acceptance, Answer, Idempotency, Job, NewMessage, Slot};
use crate::store::seal::Seal;
use crate::store::{RefusalRecord, Store, StoreError};
use accept::authenticate::{Caller, Sender};
use accept::fair_share::{FairShare, Share};
use accept::idempotency::InFlight;
use accept::refusal::{Outage, Refusal, Refused};
use accept::submission::{Channel, Faulty, Submission};
use commit::batch::Committer;
use commit::receipt::Receipt;

/// How long a decision is made again because the facts moved under it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Messages of batches that are decided at one time: four full batches of an account alone.
const BATCHED_MESSAGES: usize = 4_096;
const BATCH_WAIT: Duration = Duration::from_secs(20);

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
    batches: Arc<FairShare>,
}

/// What a client asked for in one request.
#[derive(Debug)]
pub struct Request {
    /// Correlates logs, records and the answer.
    pub id: RequestId,
    /// The client's own key for the request.
    pub idempotency: Option<Idempotency>,
    /// Whether one refusal refuses all.
    pub acceptance: Acceptance,
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
    Refused(Refused),
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
        let (in_flight, batches) = (InFlight::default(), FairShare::new(BATCHED_MESSAGES));
        Self { clock, store, facts, plugins, committer, seal, in_flight, batches }
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
        let _batch = self.enter_batch(caller, request.items.len()).await?;
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let snapshot = self.facts.snapshot();
            let answer = match self.attempt(&snapshot, caller, request).await {
                Ok(reply) if reply.items.iter().any(Result::is_ok) => return Ok(reply),
                Ok(reply) => Ok(reply),
                Err(Stop::Refused(refused)) => Err(refused),
                Err(Stop::Stale) => {
                    self.have_moved(&snapshot).await?;
                    continue;
                }
            };
            // A refusal holds only if it was decided on the facts as they are.
            if self.have_moved(&snapshot).await? {
                continue;
            }
            return answer;
        }
        Err(Refusal::unavailable(
            Outage::Busy,
            "accounts, keys or templates on this server are being changed; try again",
        )
        .into())
    }

    /// Lets a request with many messages in when its account has room for it. One message alone goes past:
    /// it must not wait behind its own account's batches.
    async fn enter_batch(
        &self,
        caller: &Caller,
        messages: usize,
    ) -> Result<Option<Share>, Refused> {
        if messages <= 1 {
            return Ok(None);
        }
        let share = self.batches.take(caller.key.account_id.into(), messages, BATCH_WAIT).await;
        let busy = "too many batches of the account at one time; send fewer in parallel";
        share.map(Some).ok_or_else(|| Refusal::unavailable(Outage::Busy, busy).into())
    }

    /// Whether an address, or the empty path, may be the envelope's sender of the caller's messages: a
    /// first look, for a door that hears of it before it has the message.
    ///
    /// # Errors
    /// Its domain is not verified, or the caller may not send at all.
    pub async fn check_sender(
        &self,
        caller: &Caller,
        address: Option<&EmailAddress>,
    ) -> Result<(), Refused> {
        loop {
            let snapshot = self.facts.current().await.map_err(|error| unreachable_store(&error))?;
            let checked = async {
                let sender = self.sender_in(&snapshot, caller).await?;
                match address {
                    Some(address) => {
                        let checked =
                            policy::sender_domain::check_address(&snapshot, &sender, address);
                        Ok(checked.await?.map(|_| ()))
                    }
                    None => Ok(Ok(())),
                }
            };
            match checked.await {
                Ok(answer) => return answer.map_err(Refused::from),
                Err(Stop::Refused(refused)) => return Err(refused),
                Err(Stop::Stale) => {}
            }
        }
    }

    /// The caller's standing as it is now.
    async fn sender_now(&self, caller: &Caller) -> Result<Sender, Refused> {
        loop {
            let snapshot = self.facts.current().await.map_err(|error| unreachable_store(&error))?;
            match self.sender_in(&snapshot, caller).await {
                Ok(sender) => return Ok(sender),
                Err(Stop::Refused(refused)) => return Err(refused),
                Err(Stop::Stale) => {}
            }
        }
    }

    async fn sender_in(&self, snapshot: &Snapshot, caller: &Caller) -> Result<Sender, Stop> {
        accept::authenticate::standing(snapshot, caller, self.clock.now()).await
    }

    async fn attempt(
        &self,
        snapshot: &Snapshot,
        caller: &Caller,
        request: &Request,
    ) -> Result<Reply, Stop> {
        let sender = self.sender_in(snapshot, caller).await?;
        let mut slots = Vec::with_capacity(request.items.len());
        let mut refusals = Vec::new();
        let mut shared = None;
        for (number, item) in request.items.iter().enumerate() {
            if number > 0 {
                // Or a batch would have this thread to itself until its last message is decided.
                tokio::task::yield_now().await;
            }
            let submission = match item {
                Ok(submission) => submission,
                Err(faulty) => {
                    let refused = refuse(snapshot, &sender, faulty).await?;
                    if request.acceptance == Acceptance::Together {
                        return Err(Stop::Refused(refused));
                    }
                    slots.push(Slot::Refused(refused.to_json()));
                    continue;
                }
            };
            match self.decide(snapshot, &sender, request, submission, &mut shared).await? {
                Ok(message) => slots.push(Slot::Message(Box::new(message))),
                Err(turned) => {
                    let decision =
                        (!turned.decisions.is_empty()).then(|| DecisionId::new(self.clock.now()));
                    let refused = Refused { refusal: turned.refusal, decision };
                    if let Some(id) = decision {
                        self.sample(id, &turned.decisions);
                        refusals.push(RefusalRecord {
                            id,
                            account_id: caller.key.account_id,
                            code: refused.refusal.code(),
                            plugins: commit::to_json(&turned.decisions).into(),
                        });
                    }
                    if request.acceptance == Acceptance::Together {
                        self.record(refusals);
                        return Err(Stop::Refused(refused));
                    }
                    slots.push(Slot::Refused(refused.to_json()));
                }
            }
        }
        self.record(refusals);
        let job = Job {
            revision: snapshot.revision(),
            account_id: caller.key.account_id,
            key_id: caller.key.id,
            mode: caller.key.mode,
            idempotency: request.idempotency.clone(),
            acceptance: request.acceptance,
            slots,
        };
        self.commit(&sender, job, request).await
    }

    fn record(&self, refusals: Vec<RefusalRecord>) {
        for refusal in refusals {
            self.committer.record(refusal);
        }
    }

    /// Policy and render for one message.
    async fn decide(
        &self,
        snapshot: &Snapshot,
        sender: &Sender,
        request: &Request,
        submission: &Submission,
        shared: &mut render::Shared,
    ) -> Result<Result<NewMessage, Turned>, Stop> {
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
        let rendered =
            render::render(&plugins, account, &context, admitted, submission, shared, now).await;
        step("render", start);
        Ok(rendered.map(|rendered| {
            let id = DecisionId::new(now);
            self.sample(id, &rendered.decisions);
            let message = commit::message(id, rendered, submission);
            tell_blanks(&message, submission.channel);
            message
        }))
    }

    /// Keeps what went into plugins and came out, for the calls that are in the sample.
    fn sample(&self, id: DecisionId, decisions: &[Decision]) {
        for sample in commit::sample::seal(&self.seal, id, decisions) {
            self.committer.sample(sample);
        }
    }

    /// Lets this request be the only one that runs with its key.
    fn begin(
        &self,
        caller: &Caller,
        idempotency: &Idempotency,
    ) -> Result<accept::idempotency::Guard, Refused> {
        self.in_flight
            .begin(caller.key.account_id, caller.key.mode, &idempotency.key)
            .ok_or_else(|| Refusal::IdempotencyInFlight.into())
    }

    /// The answer to an equal request of the last 24 hours.
    async fn kept_reply(
        &self,
        caller: &Caller,
        idempotency: &Idempotency,
        request: &Request,
    ) -> Result<Option<Reply>, Refused> {
        let (account, mode) = (caller.key.account_id, caller.key.mode);
        let kept = self.store.kept_answer(account, mode, idempotency, self.clock.now()).await;
        let Some(kept) = kept.map_err(|error| unreachable_store(&error))? else { return Ok(None) };
        // No commit follows that would notice a key which was switched off in the meantime.
        let sender = self.sender_now(caller).await?;
        let Some(answers) = kept else { return Err(Refusal::IdempotencyConflict.into()) };
        let answers = accept::idempotency::covered(&self.store, &sender.key, answers).await;
        let answers = answers.map_err(|error| unreachable_store(&error))?;
        Ok(Some(Reply::new(answers, request, true)))
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

impl Stop {
    fn refused(refusal: Refusal) -> Self {
        Self::Refused(refusal.into())
    }
}

impl From<FactError> for Stop {
    fn from(error: FactError) -> Self {
        match error {
            FactError::Stale => Self::Stale,
            FactError::Store(error) => Self::refused(unreachable_store(&error)),
        }
    }
}

/// All faults at once: those of the fields, and those that the template shows.
async fn refuse(snapshot: &Snapshot, sender: &Sender, faulty: &Faulty) -> Result<Refused, Stop> {
    let mut all = faulty.faults.clone();
    all.extend(policy::further_faults(snapshot, sender, faulty).await?);
    Ok(Refusal::bad_request(all).into())
}

/// A client of the relay has no answer that warnings could stand in, so the log has them.
fn tell_blanks(message: &NewMessage, channel: Channel) {
    if channel == Channel::Smtp && !message.blank.is_empty() {
        let template = message.template.as_ref().map(|(slug, _)| slug.as_str());
        let (id, blank) = (message.id, message.blank.join(", "));
        tracing::warn!(message = %id, template, blank, "template left variables blank");
    }
}

fn unreachable_store(error: &StoreError) -> Refusal {
    tracing::error!(%error, "the store failed");
    Refusal::unavailable(Outage::Store, "the store cannot be reached")
}

fn step(name: &'static str, start: Instant) {
    metrics::histogram!("waxwing_step_seconds", "step" => name).record(start.elapsed());
}
