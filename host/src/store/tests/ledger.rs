//! The ledger: what is paid stands in few rows, and every message still says what it cost and which row paid for it.

use super::*;

/// Debits whose messages cost something else, and messages that cost something and have no debit.
const UNPROVEN: &str = "SELECT
    (SELECT count(*) FROM ledger l WHERE kind = 'debit' AND (
        -l.amount <> (SELECT coalesce(sum(m.credits), 0) FROM messages m WHERE m.debit = l.id)
        OR l.messages <> (SELECT count(*) FROM messages m WHERE m.debit = l.id)))
    + (SELECT count(*) FROM messages WHERE (credits > 0) <> (debit IS NOT NULL)) AS unproven";

impl Fixture {
    async fn number(&self, statement: &'static str) -> i64 {
        let mut number = sql("SELECT (");
        number.push(statement).push(") AS number");
        let row = number.one(&self.store.db.readers).await.expect("readable");
        column(&row, "number").expect("a number")
    }
}

#[tokio::test]
async fn one_debit_pays_for_all_messages_of_an_account_in_a_transaction() {
    let fixture = Fixture::with_credits(20).await;
    let other = test_data::open_account(&fixture.store, 9, NOW).await;
    let mut of_other = fixture.job(2, 1).await;
    of_other.account_id = other;
    let jobs =
        [fixture.job(2, 3).await, fixture.job(1, 4).await, of_other, fixture.job(1, 0).await];
    let outcomes = fixture.commit(&jobs).await;
    assert_eq!(outcomes.iter().map(accepted).sum::<usize>(), 6);
    let ledger = fixture.store.ledger(fixture.account, 10).await.expect("readable");
    let told: Vec<_> =
        ledger.iter().map(|it| (it.kind.as_str(), it.amount.0, it.messages)).collect();
    assert_eq!(told, [("debit", -10, Some(3)), ("grant", 20, None)], "newest first");
    let ledger = fixture.store.ledger(other, 1).await.expect("readable");
    assert_eq!((ledger[0].amount.0, ledger[0].messages, ledger.len()), (-2, Some(2), 1));
    assert_eq!(fixture.number(UNPROVEN).await, 0);
    assert_eq!(fixture.number("SELECT count(*) FROM messages WHERE credits = 0").await, 1);
}

#[tokio::test]
async fn a_refund_is_a_row_of_its_message_and_comes_once() {
    let fixture = Fixture::with_credits(9).await;
    fixture.commit(&[fixture.job(3, 2).await]).await;
    let due = fixture.store.all_due(NOW).await;
    for message in [due[0].message_id, due[0].message_id, due[1].message_id] {
        fixture.store.cancel(message, NOW).await.expect("canceled");
    }
    let ledger = fixture.store.ledger(fixture.account, 10).await.expect("readable");
    let refunds: Vec<_> = ledger.iter().filter(|it| it.kind == EntryKind::Refund).collect();
    let of: Vec<Option<MessageId>> = refunds.iter().map(|it| it.message_id).collect();
    assert_eq!(of, [Some(due[1].message_id), Some(due[0].message_id)], "newest first");
    assert!(refunds.iter().all(|it| (it.amount.0, it.messages) == (2, None)));
    assert_eq!((fixture.balance().await, fixture.number(UNPROVEN).await), (7, 0));
}

#[tokio::test]
async fn the_ledger_can_neither_be_rewritten_nor_reordered() {
    let fixture = Fixture::with_credits(9).await;
    fixture.commit(&[fixture.job(1, 1).await]).await;
    for statement in [
        "UPDATE ledger SET amount = 5",
        "UPDATE ledger SET previous = NULL WHERE previous IS NOT NULL",
        "DELETE FROM ledger",
    ] {
        let refused = sql(statement).run(&fixture.store.db.writer).await;
        let refused = refused.expect_err("it is append-only").to_string();
        assert!(refused.contains("append-only"), "{statement}: {refused}");
    }
    assert_eq!(fixture.balance().await, 8);
}
