//! Deletes the accounts whose deletion was ordered. Nothing of such an account is sent, shown or changed any more. What is
//! left of the account is deleted here, in batches between which others write, and the account itself last.
//!
//! What is to be done stands in the database alone: after a crash, or on another node, the deletion goes on with what is
//! left. `store/deletion` says how each kind of rows is found.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::id::{AccountId, DecisionId, Identifier, MessageId};
use crate::store::{SandboxMail, Store, StoreError, WebhookOwner};

/// How soon an order is seen, and messages that somebody holds are looked for again.
const INTERVAL: Duration = Duration::from_secs(2);
/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(30);
/// Rows of one batch; the write lock is free between two batches.
const BATCH_ROWS: u32 = 100;
/// Rows of all accounts that one statement looks through.
const LOOKED_AT: u32 = 1_000;
/// The longest pause after a batch.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Why mail could not be deleted from the sandbox inbox, which this layer does not know.
pub type InboxFailure = Box<dyn Error + Send + Sync>;

/// Why a deletion could not go on now.
#[derive(Debug, thiserror::Error)]
enum DeletionError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Inbox(InboxFailure),
}

/// Rows of an account that are found by an index, or by a bounded look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Access,
    People,
    Lanes,
    Ledger,
    Last,
}

/// How far a deletion has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Gone,
    /// Messages of the account are being sent at this moment, something was added meanwhile, or the work has to stop.
    GoesOn,
}

/// The last rows that a deletion has looked at, among those of all accounts: nothing of the account is added before them.
#[derive(Debug, Clone, Copy)]
struct Place {
    refusal: DecisionId,
    event: i64,
}

/// What deletes accounts. `drop_mail` deletes mail from the sandbox inbox.
struct Deletion<'a, F> {
    store: &'a Store,
    clock: &'a Clock,
    drop_mail: &'a F,
    stop: &'a CancellationToken,
}

/// Deletes accounts until `stop`.
pub async fn run<F, Fut>(store: Store, clock: Clock, drop_mail: F, stop: CancellationToken)
where
    F: Fn(Vec<SandboxMail>) -> Fut,
    Fut: Future<Output = Result<(), InboxFailure>>,
{
    let deletion = Deletion { store: &store, clock: &clock, drop_mail: &drop_mail, stop: &stop };
    let mut places = BTreeMap::new();
    while !stop.is_cancelled() {
        let pause = match deletion.round(&mut places).await {
            Ok(0) => INTERVAL,
            Ok(_) => RETRY,
            Err(error) => {
                tracing::error!(%error, "the list of accounts to delete could not be read from the store; the server reads the list again in 30 s");
                RETRY
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

impl<F, Fut> Deletion<'_, F>
where
    F: Fn(Vec<SandboxMail>) -> Fut,
    Fut: Future<Output = Result<(), InboxFailure>>,
{
    /// Goes on with every deletion that was ordered. One that fails holds up no other. Answers how many have failed.
    async fn round(&self, places: &mut BTreeMap<AccountId, Place>) -> Result<usize, StoreError> {
        let mut failed = 0;
        for account in self.store.accounts_being_deleted().await? {
            if self.stop.is_cancelled() {
                break;
            }
            let place = places.entry(account).or_insert_with(|| {
                tracing::info!(%account, "deleting an account: its keys, people, messages and all other records are removed in batches");
                Place::START
            });
            match self.delete(account, place).await {
                Ok(Progress::Gone) => {
                    places.remove(&account);
                    tracing::info!(%account, "the account is deleted");
                }
                Ok(Progress::GoesOn) => {}
                Err(error) => {
                    tracing::error!(%account, %error, "the deletion of an account failed; the server goes on with it in 30 s");
                    failed += 1;
                }
            }
        }
        Ok(failed)
    }

    /// Deletes in the order in which nothing comes back: first webhooks and waiting messages, then keys and people, and last
    /// what all of these have left behind.
    async fn delete(
        &self,
        account: AccountId,
        place: &mut Place,
    ) -> Result<Progress, DeletionError> {
        self.remove_webhooks(account).await?;
        if self.cancel_waiting(account).await? > 0 {
            return Ok(Progress::GoesOn);
        }
        self.drop_all(account, Kind::Access).await?;
        self.drop_all(account, Kind::People).await?;
        self.drop_messages(account).await?;
        self.drop_refusals(account, place).await?;
        self.drop_all(account, Kind::Lanes).await?;
        self.store.drop_counts_of(account).await?;
        self.drop_events(account, place).await?;
        self.drop_all(account, Kind::Ledger).await?;
        self.drop_all(account, Kind::Last).await?;
        // After a stop something may be left.
        if !self.stop.is_cancelled()
            && self.store.finish_deletion(account, self.clock.now()).await?
        {
            return Ok(Progress::Gone);
        }
        Ok(Progress::GoesOn)
    }

    /// Batch after batch, until one finds nothing.
    async fn drop_all(&self, account: AccountId, kind: Kind) -> Result<(), StoreError> {
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            let gone = match kind {
                Kind::Access => self.store.drop_access_of(account, BATCH_ROWS).await?,
                Kind::People => self.store.drop_people_of(account, BATCH_ROWS).await?,
                Kind::Lanes => self.store.drop_lanes_of(account, BATCH_ROWS).await?,
                Kind::Ledger => self.store.drop_ledger_of(account, BATCH_ROWS).await?,
                Kind::Last => self.store.drop_last_of(account, BATCH_ROWS).await?,
            };
            if gone == 0 {
                break;
            }
            self.pause(began.elapsed()).await;
        }
        Ok(())
    }

    async fn remove_webhooks(&self, account: AccountId) -> Result<(), StoreError> {
        let reason = "its account is being deleted";
        while !self.stop.is_cancelled() {
            let owner = WebhookOwner::Account(account);
            let webhooks = self.store.webhooks(owner, None, BATCH_ROWS).await?;
            if webhooks.is_empty() {
                break;
            }
            for webhook in webhooks {
                let began = Instant::now();
                self.store.remove_webhook(webhook.id, reason, BATCH_ROWS, self.clock.now()).await?;
                self.pause(began.elapsed()).await;
            }
        }
        Ok(())
    }

    /// Cancels the messages that wait. Answers how many are being sent: those end, or wait again, by themselves.
    async fn cancel_waiting(&self, account: AccountId) -> Result<u64, StoreError> {
        let (mut after, mut under_way) = (MessageId::MIN, 0);
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            let now = self.clock.now();
            let found = self.store.cancel_waiting_of(account, after, LOOKED_AT, now).await?;
            under_way += found.under_way;
            let Some(next) = found.next else { break };
            after = next;
            if found.canceled > 0 {
                self.pause(began.elapsed()).await;
            }
        }
        Ok(under_way)
    }

    /// Deletes messages after their copies in the sandbox inbox, because a copy is found by its message.
    async fn drop_messages(&self, account: AccountId) -> Result<(), DeletionError> {
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            let messages = self.store.next_messages_of(account, BATCH_ROWS).await?;
            if messages.is_empty() {
                break;
            }
            let mails = self.store.sandbox_mails_of(&messages).await?;
            if !mails.is_empty() {
                (self.drop_mail)(mails).await.map_err(DeletionError::Inbox)?;
            }
            self.store.drop_messages_of(account, &messages).await?;
            self.pause(began.elapsed()).await;
        }
        Ok(())
    }

    async fn drop_refusals(&self, account: AccountId, place: &mut Place) -> Result<(), StoreError> {
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            let walked = self.store.drop_refusals_of(account, place.refusal, LOOKED_AT).await?;
            let Some(next) = walked.next else { break };
            place.refusal = next;
            if walked.dropped > 0 {
                self.pause(began.elapsed()).await;
            }
        }
        Ok(())
    }

    async fn drop_events(&self, account: AccountId, place: &mut Place) -> Result<(), StoreError> {
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            let walked = self.store.drop_events_of(account, place.event, LOOKED_AT).await?;
            let Some(next) = walked.next else { break };
            place.event = next;
            if walked.dropped > 0 {
                self.pause(began.elapsed()).await;
            }
        }
        Ok(())
    }

    /// Sleeps as long as a batch took, so that others get the one connection that writes.
    async fn pause(&self, taken: Duration) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = tokio::time::sleep(taken.min(MAX_PAUSE)) => {}
        }
    }
}

impl Place {
    const START: Self = Self { refusal: DecisionId::MIN, event: 0 };
}

/// Goes on once with every deletion that was ordered, without a sandbox inbox.
///
/// # Panics
/// One of them fails.
#[cfg(test)]
pub async fn once(store: &Store) {
    let (clock, stop) = (Clock::system(), CancellationToken::new());
    let drop_mail = |_: Vec<SandboxMail>| std::future::ready(Ok::<(), InboxFailure>(()));
    let deletion = Deletion { store, clock: &clock, drop_mail: &drop_mail, stop: &stop };
    let failed = deletion.round(&mut BTreeMap::new()).await.expect("readable");
    assert_eq!(failed, 0, "no deletion fails");
}
