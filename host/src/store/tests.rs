//! What every store must hold: on a file, and by `server` on PostgreSQL as well.

mod retry;
mod back_off;
mod counts;
mod credits;
mod deletion;
mod dialect;
mod gauges;
mod idempotency;
mod ledger;
mod lists;
mod message_pages;
mod nodes;
pub mod open;
pub mod plans;
mod queue_view;
mod cancel;
mod reports;
mod roll;
mod server;
mod retention;
mod states;
mod suppressions;
mod templates;
mod transactions;
mod writers;

use std::collections::HashSet;
use std::time::Duration;

use super::database::{column, sql};
use super::{MessageFilter, NodeRecord, NodeTime, Place, Store, test_data};
use crate::account::idempotency::Idempotency;
use crate::account::key::Mode;
use crate::account::{Account, AccountState};
use crate::clock::Timestamp;
use crate::credit::{Credits, EntryKind};
use crate::delivery::queue::at_lease;
use crate::delivery::queue::retry_schedule::interrupted;
use crate::id::{AccountId, MessageId, NodeId};
use crate::journey::commit::decide::{Rules, decide};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{
    AfterAttempt, Answer, AttemptEnding, AttemptRecord, Body, BodyOf, Due, Job, JobItem,
    JobOutcome, Lease, LeaseFacts, Lessee, NewMessage, NewSuppression, ReturnPath, Settlement,
    Suppresses, SuppressionKind,
};
use crate::template::source::TemplateSource;
use crate::template::version::TemplateRevision;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

impl Store {
    /// Commits by the rules of a server that tells nobody of low credits.
    pub(crate) async fn commit(
        &self,
        jobs: &[Job],
        now: Timestamp,
    ) -> Result<Vec<JobOutcome>, StoreError> {
        let decide = |jobs, facts| decide(Rules::default(), jobs, facts, now);
        self.commit_decided(jobs, now, decide).await
    }

    /// Leases by the rules of the worker.
    pub(crate) async fn lease(
        &self,
        owner: &str,
        wanted: &[MessageId],
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Lease>, StoreError> {
        let decide = |leases, facts: &LeaseFacts| at_lease::decide(leases, facts, now);
        let by = Lessee { owner, shares: None };
        self.lease_decided(by, wanted, now, until, decide).await
    }

    /// Recovers leases by the rules of the worker, as at the start of a server that is alone.
    pub(crate) async fn recover(&self, now: Timestamp) -> usize {
        let node = NodeRecord {
            id: NodeId::new(now),
            name: "test".to_owned(),
            directory: "test".to_owned(),
            version: "1",
        };
        let registered = self.register_node(&node, NodeTime::Alone, now, interrupted).await;
        registered.expect("registered").recovered
    }
}

struct Fixture {
    store: Store,
    account: AccountId,
    directory: tempfile::TempDir,
}

impl Fixture {
    async fn with_credits(credits: i64) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let account = test_data::open_account(&store, credits, NOW).await;
        Self { store, account, directory }
    }

    async fn job(&self, messages: usize, price: i64) -> Job {
        let revision = self.store.revision().await.expect("readable");
        let messages = (0..messages).map(|_| message(price)).collect();
        test_data::job(revision, self.account, messages, NOW)
    }

    async fn commit(&self, jobs: &[Job]) -> Vec<JobOutcome> {
        self.store.commit(jobs, NOW).await.expect("commits")
    }

    async fn balance(&self) -> i64 {
        let row = self.store.account(self.account, NOW).await.expect("there");
        let ledger = self.store.ledger(self.account, 1_000).await.expect("readable");
        let sum: i64 = ledger.iter().map(|entry| entry.amount.0).sum();
        assert_eq!(row.balance.0, sum, "the balance is the ledger's sum");
        sum
    }

    async fn stored(&self) -> usize {
        let all = MessageFilter::default();
        self.store.messages(self.account, &all, None, 1_000).await.expect("readable").messages.len()
    }
}

fn message(price: i64) -> NewMessage {
    let slug = "welcome".parse().expect("a slug");
    let template = Some(TemplateRevision { slug, revision: 1 });
    NewMessage { price: Credits(price), template, ..test_data::new_message(NOW) }
}

fn idempotent(mut job: Job, body: u8) -> Job {
    job.idempotency = Some(Idempotency { key: "k".to_owned(), body_hash: [body; 32] });
    job
}

fn accepted(outcome: &JobOutcome) -> usize {
    match outcome {
        JobOutcome::Answered(answers) => {
            answers.iter().filter(|it| matches!(it, Answer::Accepted { .. })).count()
        }
        JobOutcome::Replayed(_) | JobOutcome::KeyConflict | JobOutcome::Stale => 0,
    }
}

#[tokio::test]
async fn jobs_of_one_transaction_see_each_others_debits() {
    let fixture = Fixture::with_credits(5).await;
    let jobs = [fixture.job(2, 2).await, fixture.job(1, 2).await, fixture.job(1, 1).await];
    let outcomes = fixture.commit(&jobs).await;
    assert_eq!(outcomes.iter().map(accepted).collect::<Vec<_>>(), [2, 0, 1]);
    let refused = Answer::Insufficient { required: Credits(2), balance: Credits(1) };
    assert_eq!(outcomes[1], JobOutcome::Answered(vec![refused]));
    assert_eq!((fixture.balance().await, fixture.stored().await), (0, 3));
}

#[tokio::test]
async fn a_decision_on_older_facts_is_not_committed() {
    let fixture = Fixture::with_credits(5).await;
    let job = fixture.job(1, 1).await;
    let mut account = fixture.store.account(fixture.account, NOW).await.expect("there").account;
    account.state = AccountState::Suspended;
    fixture.store.update_account(&account).await.expect("updated");
    assert_eq!(fixture.commit(&[job]).await, [JobOutcome::Stale]);
    assert_eq!((fixture.balance().await, fixture.stored().await), (5, 0));
}

#[tokio::test]
async fn a_change_of_another_account_leaves_a_decision_as_it_is() {
    let fixture = Fixture::with_credits(5).await;
    let job = fixture.job(1, 1).await;
    test_data::open_account(&fixture.store, 7, NOW).await;
    let outcome = fixture.commit(&[job]).await;
    assert!(matches!(&outcome[..], [JobOutcome::Answered(_)]), "{outcome:?}");
    assert_eq!((fixture.balance().await, fixture.stored().await), (4, 1));
}

#[tokio::test]
async fn one_idempotency_key_makes_one_message_even_in_one_transaction() {
    let fixture = Fixture::with_credits(5).await;
    let first = idempotent(fixture.job(1, 1).await, 1);
    let twin = idempotent(fixture.job(1, 1).await, 1);
    let other = idempotent(fixture.job(1, 1).await, 2);
    let outcomes = fixture.commit(&[first, twin.clone(), other]).await;
    let JobOutcome::Answered(answers) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(outcomes[1], JobOutcome::Replayed(answers.clone()));
    assert_eq!(outcomes[2], JobOutcome::KeyConflict);
    assert_eq!(
        fixture.commit(std::slice::from_ref(&twin)).await,
        [JobOutcome::Replayed(answers.clone())]
    );
    assert_eq!((fixture.balance().await, fixture.stored().await), (4, 1));
    let next_day = NOW.after(Duration::from_hours(24));
    let later = fixture.store.commit(&[twin], next_day).await.expect("commits");
    assert!(matches!(later[0], JobOutcome::Answered(_)), "after 24 hours the key is free again");
}

#[tokio::test]
async fn a_refusal_is_not_kept_under_its_idempotency_key() {
    let fixture = Fixture::with_credits(0).await;
    let job = idempotent(fixture.job(1, 1).await, 1);
    assert_eq!(accepted(&fixture.commit(&[job]).await[0]), 0);
    let (kind, one) = (EntryKind::Grant, Credits(1));
    fixture.store.add_credits(fixture.account, kind, one, "test", NOW).await.expect("granted");
    let again = idempotent(fixture.job(1, 1).await, 1);
    assert_eq!(accepted(&fixture.commit(&[again]).await[0]), 1);
}

#[tokio::test]
async fn a_suppressed_recipient_costs_nothing_and_is_never_due() {
    let fixture = Fixture::with_credits(1).await;
    let (store, account) = (&fixture.store, fixture.account);
    let new = NewSuppression {
        account_id: account,
        address: "ada@example.com".to_owned(),
        kind: SuppressionKind::Manual,
        reason: "test".to_owned(),
        message_id: None,
        expires_at: Some(NOW.after(Duration::from_hours(1))),
    };
    store.suppress(&new, NOW).await.expect("suppressed");
    let outcomes = fixture.commit(&[fixture.job(1, 1).await]).await;
    let JobOutcome::Answered(answers) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert!(matches!(answers[0], Answer::Accepted { state: MessageState::Suppressed, .. }));
    assert_eq!(fixture.balance().await, 1);
    assert_eq!(store.first_due().await.expect("readable"), None);
    let job = fixture.job(1, 1).await;
    let outcomes = store.commit(&[job], NOW.after(Duration::from_hours(1))).await.expect("commits");
    let JobOutcome::Answered(answers) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert!(matches!(answers[0], Answer::Accepted { state: MessageState::Queued, .. }), "expired");
}

#[tokio::test]
async fn the_ledger_cannot_be_rewritten_and_no_balance_goes_below_zero() {
    let fixture = Fixture::with_credits(5).await;
    for statement in ["UPDATE ledger SET amount = 100", "DELETE FROM ledger"] {
        let done = sql(statement).run(&fixture.store.db.writer).await;
        assert!(done.is_err_and(|error| error.to_string().contains("append-only")));
    }
    let (kind, more) = (EntryKind::Adjustment, Credits(-6));
    let below = fixture.store.add_credits(fixture.account, kind, more, "test", NOW).await;
    assert!(matches!(below, Err(StoreError::NegativeBalance)));
    assert_eq!(fixture.balance().await, 5);
}

/// Leases all that is due for a minute.
async fn lease(store: &Store, owner: &str, now: Timestamp) -> Vec<Lease> {
    let by = Lessee { owner, shares: None };
    store.recover_ended_leases(by, &HashSet::new(), now, interrupted).await.expect("released");
    let due = store.all_due(now).await;
    let ids: Vec<MessageId> = due.iter().map(|it| it.message_id).collect();
    let until = now.after(Duration::from_mins(1));
    store.lease(owner, &ids, now, until).await.expect("leases")
}

const FAILED: AfterAttempt = AfterAttempt::Failed(Suppresses::Nobody);

fn deferred_until(next_attempt: Timestamp) -> AfterAttempt {
    AfterAttempt::Deferred { next_attempt, waits_for: None }
}

fn settled(lease: &Lease, verdict: AfterAttempt) -> Settlement {
    Settlement {
        message_id: lease.message_id,
        account_id: lease.account_id,
        verdict,
        reason: "250 OK".to_owned(),
        attempt: AttemptRecord {
            number: lease.attempt,
            started_at: NOW,
            ended_at: NOW,
            route: "direct".to_owned(),
            host: None,
            tls: None,
            ending: AttemptEnding::Reply { code: 250, enhanced: None },
            reply: "250 OK".to_owned(),
            conversation: "S: 250 OK".to_owned(),
        },
    }
}

#[tokio::test]
async fn a_lease_is_settled_by_its_owner_only_and_comes_back_when_it_ends() {
    let fixture = Fixture::with_credits(5).await;
    fixture.commit(&[fixture.job(1, 1).await]).await;
    let store = &fixture.store;
    let end = NOW.after(Duration::from_mins(1));
    let leases = lease(store, "one", NOW).await;
    let body = store.body(leases[0].message_id).await.expect("readable");
    assert_eq!(body.as_deref(), Some(&b"Subject: Hi\r\n\r\nHi\r\n"[..]));
    assert!(lease(store, "two", NOW).await.is_empty());
    let settlement = settled(&leases[0], AfterAttempt::Delivered);
    store.settle("two", std::slice::from_ref(&settlement), NOW).await.expect("settles");
    let state =
        async || store.message(settlement.message_id).await.expect("there").row.state.to_string();
    assert_eq!(state().await, "sending");
    let again = lease(store, "two", end).await;
    assert_eq!((again[0].attempt, again[0].first_at), (2, NOW), "given up by the first attempt");
    store.settle("two", std::slice::from_ref(&settlement), end).await.expect("settles");
    assert_eq!(state().await, "sending", "that was the end of the first attempt");
    let last = settled(&again[0], AfterAttempt::Delivered);
    store.settle("two", &[last], end).await.expect("settles");
    assert_eq!(state().await, "delivered");
    assert_eq!(store.first_due().await.expect("readable"), None);
    let events = store.message(settlement.message_id).await.expect("there").events;
    let types: Vec<&str> = events.iter().map(|event| event.r#type.as_str()).collect();
    let deferred = "message.deferred";
    let wanted =
        ["message.queued", "message.sending", deferred, "message.sending", "message.delivered"];
    assert_eq!(types, wanted, "nobody knows how the first attempt ended, which is written");
}

#[tokio::test]
async fn what_was_suppressed_or_suspended_meanwhile_is_not_sent() {
    let fixture = Fixture::with_credits(5).await;
    fixture.commit(&[fixture.job(1, 1).await]).await;
    let (store, account) = (&fixture.store, fixture.account);
    let row = store.account(account, NOW).await.expect("there").account;
    let suspended = Account { state: AccountState::Suspended, ..row.clone() };
    store.update_account(&suspended).await.expect("suspended");
    assert!(lease(store, "one", NOW).await.is_empty());
    let due = store.first_due().await.expect("readable");
    assert_eq!(due, Some(NOW.after(Duration::from_hours(1))), "it waits");
    store.update_account(&row).await.expect("active");
    store.requeue_of_account(account).await.expect("requeued");
    assert_eq!(store.first_due().await.expect("readable"), Some(NOW), "it goes on at once");
    let new = NewSuppression {
        account_id: account,
        address: "ada@example.com".to_owned(),
        kind: SuppressionKind::Complaint,
        reason: "test".to_owned(),
        message_id: None,
        expires_at: None,
    };
    store.suppress(&new, NOW).await.expect("suppressed");
    assert!(lease(store, "one", NOW).await.is_empty());
    assert_eq!(store.first_due().await.expect("readable"), None, "it rests");
    assert_eq!(fixture.balance().await, 5, "its price is given back");
}

#[tokio::test]
async fn a_clock_that_was_ahead_leaves_nothing_waiting_for_its_time() {
    let fixture = Fixture::with_credits(5).await;
    fixture.commit(&[fixture.job(1, 1).await]).await;
    let store = &fixture.store;
    let ahead = NOW.after(Duration::from_hours(24));
    let leases = lease(store, "one", ahead).await;
    let next = ahead.after(Duration::from_mins(5));
    let deferred = settled(&leases[0], deferred_until(next));
    store.settle("one", &[deferred], ahead).await.expect("settles");
    assert!(!store.is_ahead_of(ahead).await.expect("readable"), "the time is right");
    assert!(store.is_ahead_of(NOW).await.expect("readable"));
    assert_eq!(store.mend_due_times(ahead).await.expect("mended"), 0);
    assert_eq!(store.mend_due_times(NOW).await.expect("mended"), 1);
    let due = store.first_due().await.expect("readable");
    assert_eq!(due, Some(NOW.after(Duration::from_mins(5))));
}

#[tokio::test]
async fn a_body_that_was_compressed_with_its_templates_dictionary_is_read_again() {
    let fixture = Fixture::with_credits(5).await;
    let (store, raw) =
        (&fixture.store, b"Subject: Hi Ada\r\n\r\nGood day, thank you for your order.\r\n");
    let source = TemplateSource::default();
    let slug = "receipt".parse().expect("a slug");
    let dictionary = b"Subject: Hi \r\n\r\nGood day, thank you for your order.\r\n";
    let version = test_data::publish(store, fixture.account, &slug, source, dictionary, NOW).await;
    let alone = Body::pack(raw);
    let with = Body::pack_with(raw, version.dictionary.as_ref());
    assert!(with.bytes().len() * 2 < alone.bytes().len(), "{with:?}");
    assert_eq!((with.octets(), with.unpack(None)), (alone.octets(), None));
    let mut job = fixture.job(1, 1).await;
    let JobItem::Message(message) = &mut job.items[0] else { panic!("a message") };
    message.body = BodyOf::Own(with);
    let id = message.id;
    assert_eq!(accepted(&fixture.commit(&[job]).await[0]), 1);
    assert_eq!(store.body(id).await.expect("readable").as_deref(), Some(&raw[..]));
    let again = store.stored_message(id).await.expect("readable").expect("there");
    assert_eq!(again.content.as_deref(), Some(&raw[..]), "as a resend reads it");
}

#[tokio::test]
async fn after_a_full_disk_the_store_writes_again_without_a_restart() {
    let fixture = Fixture::with_credits(5).await;
    let full = "PRAGMA max_page_count = 1";
    sql(full).run(&fixture.store.db.writer).await.expect("set to the present size");
    let mut job = fixture.job(1, 1).await;
    if let JobItem::Message(message) = &mut job.items[0] {
        let noise: Vec<u8> =
            (0..400_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        message.body = BodyOf::Own(Body::pack(&noise));
    }
    let refused = fixture.store.commit(std::slice::from_ref(&job), NOW).await;
    assert!(refused.is_err_and(|error| error.to_string().contains("full")), "nothing fits");
    assert_eq!((fixture.balance().await, fixture.stored().await), (5, 0));
    let room = "PRAGMA max_page_count = 1000000";
    sql(room).run(&fixture.store.db.writer).await.expect("there is room again");
    assert_eq!(accepted(&fixture.commit(&[job]).await[0]), 1);
    assert_eq!((fixture.balance().await, fixture.stored().await), (4, 1));
}

#[tokio::test]
async fn a_row_that_cannot_be_read_fails_alone_and_is_paid_back() {
    let fixture = Fixture::with_credits(5).await;
    fixture.commit(&[fixture.job(3, 1).await]).await;
    let broken = "UPDATE messages SET recipient = 'nobody'
                  WHERE id = (SELECT min(id) FROM messages) RETURNING id";
    let row = sql(broken).one(&fixture.store.db.writer).await.expect("one row");
    let id: MessageId = column(&row, "id").expect("an id");
    let leases = lease(&fixture.store, "one", NOW).await;
    assert_eq!(leases.len(), 2, "the others are on their way");
    let ledger = fixture.store.ledger(fixture.account, 1).await.expect("readable");
    assert_eq!((ledger[0].kind.as_str(), ledger[0].amount.0), ("refund", 1));
    assert_eq!(ledger[0].message_id, Some(id));
    assert_eq!(fixture.balance().await, 3);
}

#[tokio::test]
async fn a_message_that_never_left_is_paid_back_once() {
    let fixture = Fixture::with_credits(1).await;
    fixture.commit(&[fixture.job(1, 1).await]).await;
    for _ in 0..2 {
        let leases = lease(&fixture.store, "one", NOW).await;
        let settlements: Vec<Settlement> =
            leases.iter().map(|lease| settled(lease, FAILED)).collect();
        fixture.store.settle("one", &settlements, NOW).await.expect("settles");
        let requeue = "INSERT INTO queue (message_id, account_id, lane, due_at)
                       SELECT id, account_id, 'example.com', 0 FROM messages";
        sql(requeue).run(&fixture.store.db.writer).await.expect("requeued");
    }
    assert_eq!(fixture.balance().await, 1);
}

#[tokio::test]
async fn a_message_that_is_given_up_and_may_have_arrived_is_not_paid_back() {
    let fixture = Fixture::with_credits(1).await;
    fixture.commit(&[fixture.job(1, 1).await]).await;
    let leases = lease(&fixture.store, "one", NOW).await;
    let mut given_up = settled(&leases[0], FAILED);
    given_up.attempt.ending = AttemptEnding::MayHaveArrived;
    fixture.store.settle("one", &[given_up], NOW).await.expect("settles");
    assert_eq!(fixture.balance().await, 0);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_by_name_and_left_as_it_is() {
    let fixture = Fixture::with_credits(0).await;
    let file = Place::File(fixture.directory.path().join("test.db"));
    Store::check(&file).await.expect("open, and of this version");
    sql("INSERT INTO _sqlx_migrations
         SELECT 9999, 'later', installed_on, TRUE, checksum, 1 FROM _sqlx_migrations LIMIT 1")
    .run(&fixture.store.db.writer)
    .await
    .expect("written");
    for is_closed in [false, true] {
        if is_closed {
            fixture.store.close().await;
        }
        let refused = Store::check(&file).await.expect_err("a newer version");
        assert!(
            refused.to_string().contains("newer version of Waxwing (migration 9999)"),
            "{refused}"
        );
    }
    let refused = Store::open(file).await.expect_err("a newer version");
    assert!(refused.to_string().contains("newer version"), "{refused}");
}
