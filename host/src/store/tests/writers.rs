//! Two stores on one database of PostgreSQL: what writes beside each other gets in nobody's way, and what is alone is.

mod proxy;
mod unknown;

use std::collections::BTreeSet;

use waxwing_tools::Cluster;

use super::*;
use crate::id::WebhookId;
use crate::store::database::Tx;
use crate::store::event_kind::EventKind;
use crate::store::events::{About, record_event};
use crate::store::lock_rows::lock_accounts;
use crate::store::test_data::whatever_stands;
use crate::store::{MailBounds, NewMail, NewWebhook, WebhookOwner};

/// Long enough for what does not wait.
const SOON: Duration = Duration::from_millis(300);
/// Who waits for a lock in this database.
const WAITING: &str = "SELECT count(*) AS waiting FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// Two nodes of one installation.
struct Two {
    one: Store,
    other: Store,
    account: AccountId,
}

impl Two {
    async fn new(unproven: &str, database: &str, credits: i64) -> Option<Self> {
        let place = Place::Server(Cluster::shared(unproven)?.create(database));
        let one = Store::open(place.clone()).await.expect("opens");
        let other = Store::open(place).await.expect("opens");
        let account = test_data::open_account(&one, credits, NOW).await;
        Some(Self { one, other, account })
    }

    async fn job(&self, messages: usize) -> Job {
        let revision = self.one.revision().await.expect("readable");
        let messages = (0..messages).map(|_| message(1)).collect();
        test_data::job(revision, self.account, messages, NOW)
    }

    /// Commits a job of so many messages, and answers them.
    async fn queue(&self, messages: usize) -> Vec<MessageId> {
        let job = self.job(messages).await;
        let outcomes = self.one.commit(&[job], NOW).await.expect("commits");
        let JobOutcome::Answered(answers) = &outcomes[0] else { panic!("{outcomes:?}") };
        let id = |it: &Answer| match it {
            Answer::Accepted { message_id, .. } => *message_id,
            Answer::Insufficient { .. } | Answer::Refused { .. } => panic!("{it:?}"),
        };
        answers.iter().map(id).collect()
    }

    async fn balance(&self) -> i64 {
        let row = self.one.account(self.account, NOW).await.expect("there");
        let ledger = self.one.ledger(self.account, 1_000).await.expect("readable");
        let sum: i64 = ledger.iter().map(|entry| entry.amount.0).sum();
        assert_eq!(row.balance.0, sum, "the balance is the ledger's sum");
        sum
    }

    async fn stored(&self) -> usize {
        let all = MessageFilter::default();
        self.one.messages(self.account, &all, None, 1_000).await.expect("readable").messages.len()
    }

    /// A transaction beside others that has locked the account.
    async fn hold_account(&self) -> Tx {
        let mut tx = self.one.db.begin_beside("hold").await.expect("begins");
        lock_accounts(&mut tx, &BTreeSet::from([self.account])).await.expect("locked");
        tx
    }

    /// Waits until so many transactions wait for a lock.
    async fn until_waiting(&self, wanted: i64) {
        let waiting = async {
            loop {
                let row = sql(WAITING).one(&self.one.db.readers).await.expect("readable");
                if column::<i64>(&row, "waiting").expect("a number") >= wanted {
                    return;
                }
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        in_time.expect("they wait for the lock");
    }
}

/// The balances that the accepted messages of outcomes were answered with.
fn remaining(outcomes: &[JobOutcome]) -> Vec<i64> {
    let answers = outcomes.iter().flat_map(|it| match it {
        JobOutcome::Answered(answers) => answers.clone(),
        JobOutcome::Replayed(_) | JobOutcome::KeyConflict | JobOutcome::Stale => Vec::new(),
    });
    let left = answers.filter_map(|it| match it {
        Answer::Accepted { credits_remaining, .. } => Some(credits_remaining.0),
        Answer::Insufficient { .. } | Answer::Refused { .. } => None,
    });
    left.collect()
}

#[tokio::test]
async fn two_stores_on_one_database_write_one_after_the_other() {
    let unproven = "the lock of those who write on PostgreSQL";
    let Some(two) = Two::new(unproven, "one_writer", 0).await else { return };
    let first = two.one.db.begin("first").await.expect("begins");
    let mut waiting = Box::pin(two.other.note("name", "value"));
    let early = tokio::time::timeout(SOON, &mut waiting).await;
    assert!(early.is_err(), "it waits");
    first.rollback().await.expect("ends");
    waiting.await.expect("it writes then");
}

#[tokio::test]
async fn who_is_alone_waits_for_those_beside_and_is_not_passed_by() {
    let unproven = "the order in which locks are given on PostgreSQL";
    let Some(two) = Two::new(unproven, "fair", 0).await else { return };
    let first = two.one.db.begin_beside("first").await.expect("begins");
    two.other.probe(NOW).await.expect("it writes beside");
    let mut alone = Box::pin(two.other.db.begin("alone"));
    assert!(tokio::time::timeout(SOON, &mut alone).await.is_err(), "it waits");
    let mut late = Box::pin(two.one.probe(NOW));
    assert!(tokio::time::timeout(SOON, &mut late).await.is_err(), "behind the one that waits");
    first.rollback().await.expect("ends");
    let alone = alone.await.expect("begins");
    assert!(tokio::time::timeout(SOON, &mut late).await.is_err(), "nobody is beside it");
    alone.rollback().await.expect("ends");
    late.await.expect("it writes then");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_groups_that_race_for_a_balance_spend_it_once() {
    let Some(two) = Two::new("two nodes that commit", "race", 5).await else { return };
    let jobs = [two.job(4).await, two.job(4).await];
    let held = two.hold_account().await;
    let (one, other, ()) =
        tokio::join!(two.one.commit(&jobs[..1], NOW), two.other.commit(&jobs[1..], NOW), async {
            two.until_waiting(2).await;
            held.rollback().await.expect("ends");
        });
    let mut left = remaining(&one.expect("commits"));
    left.extend(remaining(&other.expect("commits")));
    left.sort_unstable();
    assert_eq!(left, [0, 1, 2, 3, 4], "each is told the balance that it left");
    assert_eq!((two.balance().await, two.stored().await), (0, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_idempotency_key_on_two_nodes_makes_one_message() {
    let Some(two) = Two::new("one key on two nodes", "one_key", 5).await else { return };
    let jobs = [idempotent(two.job(1).await, 1), idempotent(two.job(1).await, 1)];
    let held = two.hold_account().await;
    let (one, other, ()) =
        tokio::join!(two.one.commit(&jobs[..1], NOW), two.other.commit(&jobs[1..], NOW), async {
            two.until_waiting(2).await;
            held.rollback().await.expect("ends");
        });
    let outcomes = [one.expect("commits"), other.expect("commits")].concat();
    let answered = |it: &JobOutcome| match it {
        JobOutcome::Answered(answers) => (1, answers.clone()),
        JobOutcome::Replayed(answers) => (0, answers.clone()),
        JobOutcome::KeyConflict | JobOutcome::Stale => panic!("{it:?}"),
    };
    let [(first, answers), (second, same)] = [answered(&outcomes[0]), answered(&outcomes[1])];
    assert_eq!((first + second, answers), (1, same), "one is the answer to both");
    assert_eq!((two.balance().await, two.stored().await), (4, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_lease_each_message_once_and_wait_for_none() {
    let Some(two) = Two::new("two nodes that lease", "two_workers", 20).await else { return };
    let ids = two.queue(20).await;
    let until = NOW.after(Duration::from_mins(1));
    let mut held = two.one.db.begin_beside("hold").await.expect("begins");
    let touch = sql("UPDATE queue SET octets = octets WHERE message_id = $1").bind(ids[0]);
    assert_eq!(touch.run(&mut held).await.expect("locked"), 1);
    let (one, other) = tokio::join!(
        two.one.lease("one", &ids, NOW, until),
        two.other.lease("other", &ids, NOW, until),
    );
    let leased = [one.expect("leases"), other.expect("leases")].concat();
    let of: BTreeSet<MessageId> = leased.iter().map(|it| it.message_id).collect();
    assert_eq!(leased.len(), of.len(), "each is leased once");
    assert_eq!(of, ids[1..].iter().copied().collect(), "one is in other hands");
    held.rollback().await.expect("ends");
    assert_eq!(two.other.lease("other", &ids, NOW, until).await.expect("leases").len(), 1);
    let due = two.one.all_due(NOW).await;
    assert!(due.is_empty(), "{due:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_two_nodes_write_counts_once() {
    let Some(two) = Two::new("two nodes that settle", "settled_twice", 3).await else { return };
    let ids = two.queue(3).await;
    let until = NOW.after(Duration::from_mins(1));
    let leases = two.one.lease("one", &ids, NOW, until).await.expect("leases");
    let settlements: Vec<Settlement> = leases.iter().map(|it| settled(it, FAILED)).collect();
    let (one, other) = tokio::join!(
        two.one.settle("one", &settlements, NOW),
        two.other.settle("one", &settlements, NOW),
    );
    one.and(other).expect("both settle");
    assert_eq!(two.balance().await, 3, "each is paid back once");
    for id in ids {
        let events = two.one.message(id).await.expect("there").events;
        assert_eq!(events.len(), 3, "{events:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_meets_another_one_in_a_circle_is_run_again() {
    let Some(two) = Two::new("deadlocks on PostgreSQL", "circle", 9).await else { return };
    two.queue(1).await;
    let mut held = two.one.db.begin_beside("hold").await.expect("begins");
    // The commit looks after a second whether it waits in a circle: it is the one that gives way.
    sql("SET LOCAL deadlock_timeout = '20s'").run(&mut held).await.expect("set");
    let usage = sql("UPDATE usage SET sent = sent WHERE account_id = $1").bind(two.account);
    assert_eq!(usage.run(&mut held).await.expect("locked"), 1);
    let job = two.job(1).await;
    let (outcomes, ()) = tokio::join!(two.other.commit(std::slice::from_ref(&job), NOW), async {
        two.until_waiting(1).await;
        let accounts = BTreeSet::from([two.account]);
        lock_accounts(&mut held, &accounts).await.expect("the commit has given way");
        held.rollback().await.expect("ends");
    });
    assert_eq!(accepted(&outcomes.expect("commits")[0]), 1);
    assert_eq!((two.balance().await, two.stored().await), (7, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_to_the_shared_inbox_stops_no_commit_and_is_counted_right() {
    let unproven = "the sandbox inbox beside commits";
    let Some(two) = Two::new(unproven, "inbox_beside", 5).await else { return };
    let keep = async |store: &Store, subject: &str| {
        let mail = NewMail {
            recipient: "ada@example.com",
            sender: "hello@example.com",
            sender_name: "Tern",
            return_path: "",
            subject,
            received_at: NOW,
            raw: b"hi",
        };
        let bounds = MailBounds { messages: 7, bytes: 1 << 20 };
        store.keep_mail(&[mail], bounds).await.expect("kept");
    };
    let open = two.hold_account().await;
    let kept = tokio::time::timeout(Duration::from_secs(30), keep(&two.other, "first")).await;
    kept.expect("it waits for no transaction that writes beside it");
    open.rollback().await.expect("ends");

    let many = async |store: &Store| {
        for number in 0..20 {
            keep(store, &number.to_string()).await;
        }
    };
    tokio::join!(many(&two.one), many(&two.other), many(&two.one));
    assert_eq!(two.one.count_mails().await.expect("counted"), 7);
    let mails = two.other.mails(500, None, None).await.expect("listed");
    assert_eq!(mails.len(), 7, "{mails:?}");
    let total = sql("SELECT bytes FROM inbox_total").one(&two.one.db.readers).await;
    let bytes: i64 = column(&total.expect("readable"), "bytes").expect("a number");
    assert_eq!(bytes, 14);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_transactions_beside_each_other_leave_all_sums_right() {
    let unproven = "commits, leases and settlements beside each other";
    let Some(two) = Two::new(unproven, "beside", 400).await else { return };
    let work = async |store: &Store, owner: &'static str| {
        for _ in 0..10 {
            let job = two.job(8).await;
            store.commit(&[job], NOW).await.expect("commits");
            let due = store.all_due(NOW).await;
            let ids: Vec<MessageId> = due.iter().map(|it| it.message_id).collect();
            let until = NOW.after(Duration::from_mins(1));
            let leases = store.lease(owner, &ids, NOW, until).await.expect("leases");
            let verdicts = [AfterAttempt::Delivered, FAILED, deferred_until(NOW)];
            let ends = leases.iter().zip(verdicts.into_iter().cycle());
            let settlements: Vec<Settlement> =
                ends.map(|(lease, verdict)| settled(lease, verdict)).collect();
            store.settle(owner, &settlements, NOW).await.expect("settles");
        }
    };
    tokio::join!(
        work(&two.one, "one"),
        work(&two.other, "other"),
        work(&two.one, "third"),
        work(&two.other, "fourth"),
    );
    assert_eq!(two.stored().await, 320);
    let counted = "SELECT
        (SELECT CAST(sum(value) AS BIGINT) FROM totals) - (SELECT count(*) FROM queue) AS queue,
        (SELECT CAST(sum(sent) AS BIGINT) FROM usage) AS sent,
        (SELECT count(*) FROM messages WHERE state = 'failed') AS failed,
        (SELECT count(*) FROM queue q WHERE q.lease_owner IS NULL AND NOT EXISTS (
            SELECT 1 FROM lanes l WHERE l.lane = q.lane AND l.account_id = q.account_id
                AND l.due_at <= q.due_at)) AS forgotten";
    let row = sql(counted).one(&two.one.db.readers).await.expect("readable");
    let number = |name| column::<i64>(&row, name).expect("a number");
    assert_eq!((number("queue"), number("sent"), number("forgotten")), (0, 320, 0));
    assert_eq!(two.balance().await, 400 - 320 + number("failed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_told_an_event_that_commits_behind_a_later_one() {
    let Some(two) = Two::new("the order of events on PostgreSQL", "order", 5).await else { return };
    let new = NewWebhook {
        id: WebhookId::new(NOW),
        owner: WebhookOwner::Account(two.account),
        url: "https://example.com/".to_owned(),
        description: String::new(),
        types: Vec::new(),
        secret: vec![1],
    };
    two.one.add_webhook(&new, NOW, whatever_stands).await.expect("stored").expect("added");
    let mut early = two.one.db.begin_beside("early").await.expect("begins");
    let (kind, about) = (EventKind::CreditsLow, About::of(two.account));
    record_event(&mut early, kind, about, Some(two.account), "{}", NOW).await.expect("written");
    let job = two.job(1).await;
    two.other.commit(&[job], NOW).await.expect("commits");
    let mut backlog = Box::pin(two.other.webhook_backlog(10));
    assert!(tokio::time::timeout(SOON, &mut backlog).await.is_err(), "it waits");
    early.commit().await.expect("committed");
    let backlog = backlog.await.expect("read").expect("there are events");
    let told: Vec<&str> = backlog.events.iter().map(|it| it.r#type.as_str()).collect();
    assert_eq!(told, ["credits.low", "message.queued"]);
}
