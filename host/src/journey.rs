//! The journey of a message into the queue: accept, policy, render, commit. [`crate::delivery`] takes it from there.
//!
//! Both listeners call [`Journey::submit`]; no listener decides anything that is decided here. **Facts** are a snapshot
//! in memory of keys, accounts, sender domains and templates at one revision of the database. A message is decided on
//! the facts of one revision and by one generation of each plugin. If the facts move before the commit, the whole
//! decision is made again (optimistic concurrency).

pub mod accept;
pub mod commit;
pub mod policy;
pub mod render;

use std::sync::Arc;
use std::time::Instant;

use crate::message::address::EmailAddress;
use crate::plugin::Plugins;
use crate::store::Store;
use crate::store::facts::Snapshot;
use crate::store::records::NewMessage;
use crate::trace::{self, Times};
use accept::abort::{Abort, on_current_facts};
use accept::authenticate::{Caller, Sender, recheck_caller};
use accept::batches::Batches;
use accept::idempotency::InFlight;
use accept::refusal::{Refusal, Refused};
use accept::submission::{Faulty, Submission};
use accept::{Accept, Step, record_step};
use commit::Commit;
use commit::draft::Draft;
use commit::idempotent_reply::kept_reply;

pub use accept::request::Request;
pub use commit::receipt::{Receipt, Reply};

/// The one way from a request to a stored message.
#[derive(Debug)]
pub struct Journey {
    /// What a client has passed before it hands a request over.
    pub accept: Accept,
    plugins: Arc<Plugins>,
    commit: Commit,
    store: Store,
    in_flight: InFlight,
    batches: Batches,
}

impl Journey {
    #[must_use]
    pub fn new(accept: Accept, plugins: Arc<Plugins>, commit: Commit, store: Store) -> Self {
        let (in_flight, batches) = (InFlight::default(), Batches::default());
        Self { accept, plugins, commit, store, in_flight, batches }
    }

    /// Decides on messages and queues them; SMTP delivery follows later. Each is stored, charged and queued, or refused
    /// at no charge; what is accepted is durable when this answers.
    ///
    /// # Errors
    /// The request as a whole is refused: its key, or its idempotency key.
    pub async fn submit(&self, caller: &Caller, request: &Request) -> Result<Reply, Refused> {
        let _in_flight = self.in_flight.begin(caller, request.idempotency.as_ref())?;
        if let Some(reply) = kept_reply(&self.accept, &self.store, caller, request).await? {
            return Ok(reply);
        }
        self.accept.must_not_be_read_only()?;
        let _batch = self.batches.enter(caller, request.items.len()).await?;
        let snapshot = self.accept.facts.snapshot();
        let revision = snapshot.revision();
        match self.decide_and_commit(snapshot, caller, request).await {
            // The commit has found that the facts have not moved.
            Ok(reply) if reply.has_receipt() => return Ok(reply),
            Err(Abort::Stale) => {}
            // A refusal holds only if it was decided on the facts as they are.
            refused => {
                let moved = self.accept.facts.have_moved(revision).await;
                if !moved.map_err(|error| Refusal::store_outage(&error))? {
                    return refused.map_err(Abort::into_refused);
                }
            }
        }
        on_current_facts(&self.accept.facts, |snapshot| {
            self.decide_and_commit(snapshot, caller, request)
        })
        .await
    }

    /// Whether an address, or the empty path, may be the envelope's sender of the caller's messages: a
    /// first look, for a listener that knows the sender before it has the message.
    ///
    /// # Errors
    /// Its domain is not verified, or the caller may not send at all.
    pub async fn check_sender(
        &self,
        caller: &Caller,
        address: Option<&EmailAddress>,
    ) -> Result<(), Refused> {
        on_current_facts(&self.accept.facts, |snapshot| async move {
            self.accept.must_not_be_read_only()?;
            let sender = recheck_caller(&snapshot, caller, self.accept.clock.now()).await?;
            if let Some(address) = address {
                policy::sender_domain::check_address(&snapshot, &sender, address).await?;
            }
            Ok(())
        })
        .await
    }

    /// Decides every message on one snapshot of the facts, and commits what was not refused.
    async fn decide_and_commit(
        &self,
        snapshot: Snapshot,
        caller: &Caller,
        request: &Request,
    ) -> Result<Reply, Abort> {
        let sender = recheck_caller(&snapshot, caller, self.accept.clock.now()).await?;
        let mut draft = Draft::new(&self.commit, &sender, request);
        let mut shared = None;
        for (number, item) in request.items.iter().enumerate() {
            if number > 0 {
                // Or a batch would have this thread to itself until its last message is decided.
                tokio::task::yield_now().await;
            }
            draft.push(self.decide(&snapshot, &sender, request, item, &mut shared).await)?;
        }
        draft.commit(snapshot.revision()).await
    }

    /// Policy and render for one message, by the same generation of each plugin from start to end.
    async fn decide(
        &self,
        snapshot: &Snapshot,
        sender: &Sender,
        request: &Request,
        item: &Result<Submission, Faulty>,
        shared: &mut render::Shared,
    ) -> Result<NewMessage, Abort> {
        let submission = match item {
            Ok(submission) => submission,
            Err(faulty) => return Err(policy::all_faults(snapshot, sender, faulty).await?.into()),
        };
        let context = self.plugins.context(request.id.to_string());
        let plugins = self.plugins.table();

        let start = Instant::now();
        let admitted = policy::admit(snapshot, &plugins, &context, sender, submission).await;
        record_step(Step::Policy, start);
        let policy = Times::since(start);
        let admitted = admitted?;

        let start = Instant::now();
        let (account, now) = (&sender.account.account, self.accept.clock.now());
        let rendered =
            render::render(&plugins, account, context, admitted, submission, shared, now).await;
        record_step(Step::Render, start);
        let render = Times::since(start);
        let message = self.commit.message(rendered?, submission);
        trace::step(message.id, "policy", policy);
        trace::step(message.id, "render", render);
        Ok(message)
    }
}
