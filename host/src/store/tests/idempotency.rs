//! Idempotency keys of test keys and live keys.

use sqlx::{Connection, SqliteConnection};

use super::*;
use crate::store::{EarlierSubmit, OnceForm};

#[tokio::test]
async fn a_test_keys_answer_is_none_to_a_live_key() {
    let fixture = Fixture::with_credits(5).await;
    let live = idempotent(fixture.job(1, 1).await, 1);
    let test = Job { mode: Mode::Test, ..idempotent(fixture.job(1, 0).await, 2) };
    let outcomes = fixture.commit(&[test.clone(), live.clone()]).await;
    assert_eq!(outcomes.iter().map(accepted).collect::<Vec<_>>(), [1, 1]);
    for job in [test, live] {
        let again = fixture.commit(std::slice::from_ref(&job)).await;
        assert!(matches!(again[0], JobOutcome::Replayed(_)), "{again:?}");
        let (key, account) = (job.idempotency.expect("a key"), fixture.account);
        let kept = fixture.store.kept_answer(account, job.mode, &key, NOW).await.expect("read");
        assert!(matches!(kept, Some(Some(_))), "{kept:?}");
    }
    assert_eq!((fixture.balance().await, fixture.stored().await), (4, 2));
}

#[tokio::test]
async fn a_form_is_taken_once_and_says_where_it_led() {
    let fixture = Fixture::with_credits(1).await;
    let (store, account) = (&fixture.store, fixture.account);
    let form = OnceForm { account, digest: [7; 32] };
    let take = async || store.take_form(&form, NOW).await.expect("taken");
    assert_eq!(take().await, None);
    assert_eq!(take().await, Some(EarlierSubmit::UnderWay));
    store.settle_form(&form, "").await.expect("kept");
    assert_eq!(take().await, Some(EarlierSubmit::Shown));
    store.settle_form(&form, "/app/keys").await.expect("kept");
    assert_eq!(take().await, Some(EarlierSubmit::LedTo("/app/keys".to_owned())));
    store.give_back_form(&form).await.expect("given back");
    assert_eq!(take().await, None, "it was refused, and may be sent again");
    let other = OnceForm { digest: [8; 32], ..form.clone() };
    assert_eq!(store.take_form(&other, NOW).await.expect("taken"), None);
}

#[tokio::test]
async fn answers_from_before_are_of_the_mode_that_they_were_given_in() {
    let mut store = SqliteConnection::connect(":memory:").await.expect("opens");
    let before = "CREATE TABLE accounts (id TEXT PRIMARY KEY);
        CREATE TABLE keys (id TEXT PRIMARY KEY, mode TEXT);
        CREATE TABLE messages (id TEXT PRIMARY KEY, key_id TEXT);
        CREATE TABLE idempotency (account_id TEXT, key TEXT, body_hash BLOB, answer TEXT, expires_at INTEGER);
        INSERT INTO accounts VALUES ('acc_1');
        INSERT INTO keys VALUES ('key_l', 'live'), ('key_t', 'test');
        INSERT INTO messages VALUES ('msg_1', 'key_l'), ('msg_2', 'key_t');
        INSERT INTO idempotency VALUES
            ('acc_1', 'a', zeroblob(32), '[{\"messageId\":\"msg_1\"}]', 7),
            ('acc_1', 'b', zeroblob(32), '[{\"answer\":\"refused\"},{\"messageId\":\"msg_2\"}]', 7),
            ('acc_1', 'c', zeroblob(32), '[{\"messageId\":\"msg_gone\"}]', 7)";
    let migration = include_str!("../../../../migrations/sqlite/earlier/0013_idempotency_mode.sql");
    for script in [before, migration] {
        sqlx::raw_sql(script).execute(&mut store).await.expect("run");
    }
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT key, mode FROM idempotency ORDER BY key")
            .fetch_all(&mut store)
            .await
            .expect("read");
    let row = |key: &str, mode: &str| (key.to_owned(), mode.to_owned());
    assert_eq!(rows, [row("a", "live"), row("b", "test"), row("c", "live")]);
}
