//! What is counted while it happens: how many came to which state, in which hours, and how long the queue is.

use super::*;
use crate::id::Identifier as _;
use crate::store::MessageRow;

/// Whether the total of the queue is what a count of its rows says.
const MISCOUNTED: &str = "SELECT (SELECT sum(value) FROM totals WHERE name = 'queue')
    <> (SELECT count(*) FROM queue) AS is_wrong";

impl Fixture {
    async fn counted(&self) -> Vec<(i64, String, i64)> {
        let rows = sql("SELECT period, state, changes FROM sent ORDER BY period, state")
            .all(&self.store.db.readers)
            .await
            .expect("readable");
        let count = |row| {
            let text: String = column(row, "state").expect("a text");
            (
                column(row, "period").expect("a number"),
                text,
                column(row, "changes").expect("a number"),
            )
        };
        rows.iter().map(count).collect()
    }

    async fn is_queue_miscounted(&self) -> bool {
        let row = sql(MISCOUNTED).one(&self.store.db.readers).await.expect("readable");
        column(&row, "is_wrong").expect("a flag")
    }

    /// A message of that hour.
    async fn send_at(&self, hour: u64, to: &str) -> MessageId {
        let now = NOW.after(Duration::from_hours(hour));
        let mut job = self.job(1, 1).await;
        let JobItem::Message(message) = &mut job.items[0] else { panic!("a message") };
        message.id = MessageId::new(now);
        message.recipient = to.parse().expect("valid");
        let id = message.id;
        self.store.commit(&[job], now).await.expect("commits");
        id
    }
}

fn period(hour: i64) -> i64 {
    NOW.millis() / 3_600_000 + hour
}

#[tokio::test]
async fn messages_are_counted_by_the_hour_of_their_identifier_and_by_outcome() {
    let fixture = Fixture::with_credits(9).await;
    fixture.commit(&[fixture.job(3, 1).await]).await;
    fixture.send_at(2, "ada@example.com").await;
    let leases = lease(&fixture.store, "one", NOW.after(Duration::from_hours(3))).await;
    assert_eq!(leases.len(), 4);
    let later = NOW.after(Duration::from_hours(4));
    let settlements: Vec<Settlement> = leases
        .iter()
        .zip([
            AfterAttempt::Delivered,
            AfterAttempt::Delivered,
            AfterAttempt::Bounced {
                class: crate::store::records::BounceClass::Refused,
                suppresses: Suppresses::Nobody,
            },
        ])
        .map(|(lease, verdict)| settled(lease, verdict))
        .collect();
    fixture.store.settle("one", &settlements, later).await.expect("settles");
    let count = |hour, state: &str, changes| (period(hour), state.to_owned(), changes);
    let expected = [
        count(0, "accepted", 3),
        count(0, "bounced", 1),
        count(0, "delivered", 2),
        count(2, "accepted", 1),
    ];
    assert_eq!(fixture.counted().await, expected, "all of the first hour, whenever they ended");
}

#[tokio::test]
async fn the_length_of_the_queue_is_known_without_counting_it() {
    let fixture = Fixture::with_credits(9).await;
    let store = &fixture.store;
    assert_eq!(store.gauges(NOW).await.expect("readable").waiting, 0);
    fixture.commit(&[fixture.job(4, 1).await]).await;
    assert_eq!(store.gauges(NOW).await.expect("readable").waiting, 4);
    let due = store.all_due(NOW).await;
    store.cancel(due[0].message_id, NOW).await.expect("canceled");
    let leases = lease(store, "one", NOW).await;
    let delivered = settled(&leases[0], AfterAttempt::Delivered);
    let deferred = settled(&leases[1], deferred_until(NOW));
    store.settle("one", &[delivered, deferred], NOW).await.expect("settles");
    assert_eq!(store.gauges(NOW).await.expect("readable").waiting, 2);
    let broken = "UPDATE messages SET recipient = 'nobody'";
    sql(broken).run(&store.db.writer).await.expect("broken");
    lease(store, "two", NOW).await;
    assert_eq!(store.gauges(NOW).await.expect("readable").waiting, 1, "one was given up");
    assert!(!fixture.is_queue_miscounted().await);
}

#[tokio::test]
async fn counts_expire_and_the_hours_of_messages_stay_as_long_as_these() {
    let fixture = Fixture::with_credits(9).await;
    let first = fixture.send_at(0, "ada@example.com").await;
    let second = fixture.send_at(5, "ada@example.com").await;
    let hours = async || {
        let rows = sql("SELECT period FROM periods ORDER BY period")
            .all(&fixture.store.db.readers)
            .await
            .expect("readable");
        rows.iter().map(|row| column(row, "period").expect("a number")).collect::<Vec<i64>>()
    };
    let later = NOW.after(Duration::from_hours(1));
    assert_eq!(fixture.store.drop_counts(later, 10).await.expect("dropped"), 1);
    assert_eq!(fixture.counted().await, [(period(5), "accepted".to_owned(), 1)]);
    assert_eq!(hours().await, [period(0), period(5)], "both messages are there");
    assert_eq!(listed(&fixture, &MessageFilter::default()).await, [second, first]);
    let gone = sql("DELETE FROM messages WHERE id = $1").bind(first);
    gone.run(&fixture.store.db.writer).await.expect("gone");
    assert_eq!(fixture.store.drop_counts(later, 10).await.expect("dropped"), 1);
    assert_eq!(hours().await, [period(5)]);
    assert_eq!(listed(&fixture, &MessageFilter::default()).await, [second]);
}

/// All pages of two messages each.
async fn listed(fixture: &Fixture, filter: &MessageFilter) -> Vec<MessageId> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = fixture.store.messages(fixture.account, filter, after, 2).await;
        let page = page.expect("readable");
        found.extend(page.messages.iter().map(|row: &MessageRow| row.id));
        assert!(page.next.is_none() || page.next < after.or(Some(MessageId::MAX)), "it goes on");
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

#[tokio::test]
async fn lists_go_from_hour_to_hour_whatever_they_look_for() {
    let fixture = Fixture::with_credits(99).await;
    let mut sent = Vec::new();
    for hour in [0, 0, 1, 7, 7, 7, 300, 9_000] {
        let to = if hour == 7 { "bob@example.com" } else { "ada@example.com" };
        sent.push(fixture.send_at(hour, to).await);
    }
    let of_others = test_data::open_account(&fixture.store, 9, NOW).await;
    let mut job = fixture.job(3, 1).await;
    job.account_id = of_others;
    fixture.commit(&[job]).await;
    sent.sort_unstable();
    sent.reverse();
    let all = MessageFilter::default;
    assert_eq!(listed(&fixture, &all()).await, sent);
    let to = MessageFilter { to: "bob@example.com".parse().ok(), ..all() };
    assert_eq!(listed(&fixture, &to).await, sent[2..5]);
    for state in [MessageState::Failed, MessageState::Canceled] {
        let none = MessageFilter { states: vec![state], ..all() };
        assert!(listed(&fixture, &none).await.is_empty());
    }
    for id in [sent[0], sent[3], sent[7]] {
        fixture.store.cancel(id, NOW).await.expect("canceled");
    }
    let canceled = MessageFilter { states: vec![MessageState::Canceled], ..all() };
    assert_eq!(listed(&fixture, &canceled).await, [sent[0], sent[3], sent[7]]);
    let rare =
        MessageFilter { states: vec![MessageState::Failed, MessageState::Canceled], ..all() };
    assert_eq!(listed(&fixture, &rare).await, [sent[0], sent[3], sent[7]]);
    let since = Some(NOW.after(Duration::from_hours(8)));
    let recent = MessageFilter { since, ..canceled };
    assert_eq!(listed(&fixture, &recent).await, [sent[0]], "the others are older");
    let waiting =
        MessageFilter { states: vec![MessageState::Queued, MessageState::Sending], ..all() };
    let left: Vec<MessageId> = [1, 2, 4, 5, 6].into_iter().map(|index| sent[index]).collect();
    assert_eq!(listed(&fixture, &waiting).await, left);
    let mut both = MessageFilter { to: "bob@example.com".parse().ok(), ..all() };
    both.states = vec![MessageState::Canceled];
    assert_eq!(listed(&fixture, &both).await, [sent[3]]);
}

#[tokio::test]
async fn a_changed_account_is_answered_with_what_it_sent_in_thirty_days() {
    let fixture = Fixture::with_credits(9).await;
    fixture.send_at(0, "ada@example.com").await;
    fixture.send_at(48, "bob@example.com").await;
    let now = NOW.after(Duration::from_hours(48));
    let rename = |account: Account| Account { name: "Renamed".to_owned(), ..account };
    let changed = fixture.store.change_account(fixture.account, now, rename).await;
    let changed = changed.expect("changes");
    assert_eq!((changed.sent_today, changed.sent_month), (1, 2));
    let read = fixture.store.account(fixture.account, now).await.expect("reads");
    assert_eq!((read.account.name.as_str(), read.sent_month), ("Renamed", 2));
}
