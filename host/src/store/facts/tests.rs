//! Looks at the revision: shared by those who wait, and never older than the question.

use futures_util::future::join_all;

use super::*;
use crate::account::AccountState;
use crate::account::plan::Plan;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn account() -> Account {
    Account::new("test", Plan::named("pro"), NOW)
}

async fn facts(directory: &tempfile::TempDir) -> Facts {
    let store = crate::store::test_data::open(directory).await;
    Facts::open(store, Clock::system(), 64 << 20).await.expect("opens")
}

#[tokio::test]
async fn requests_that_wait_together_share_one_look() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let held = facts.store.db.revisions.hold().await.expect("open");
    let all = join_all((0..64).map(|_| facts.current()));
    let (snapshots, ()) = tokio::join!(all, async { drop(held) });
    assert!(snapshots.iter().all(Result::is_ok));
    // The first one looks, and the others asked after its look had begun.
    assert_eq!(facts.looks.begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn one_look_that_fails_answers_all_who_wait_for_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let ended = facts.looks.ended.lock().await;
    let all = join_all((0..64).map(|_| facts.current()));
    let (snapshots, ()) = tokio::join!(all, async {
        facts.store.close().await;
        drop(ended);
    });
    assert!(snapshots.iter().all(Result::is_err));
    assert_eq!(facts.looks.begun.load(Ordering::SeqCst), 1);
    assert!(facts.current().await.is_err());
    assert_eq!(facts.looks.begun.load(Ordering::SeqCst), 2, "who asks later is not told the same");
}

#[tokio::test]
async fn a_change_of_another_process_is_in_the_facts_that_are_asked_for_next() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let other = crate::store::test_data::open(&directory).await;
    let mut account = account();
    other.create_account(&account).await.expect("created");
    for state in [AccountState::Suspended, AccountState::Active, AccountState::Suspended] {
        account.state = state;
        other.update_account(&account).await.expect("updated");
        let snapshot = facts.current().await.expect("read");
        let seen = snapshot.account(account.id).await.expect("current").expect("there");
        assert_eq!(seen.account.state, state);
    }
}

#[tokio::test]
async fn a_change_makes_one_account_be_read_anew_and_no_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let other = crate::store::test_data::open(&directory).await;
    let (mut changed, quiet) = (account(), account());
    other.create_account(&changed).await.expect("created");
    other.create_account(&quiet).await.expect("created");
    let read = async |id| {
        let snapshot = facts.current().await.expect("read");
        snapshot.account(id).await.expect("current").expect("there")
    };
    let before = (read(changed.id).await, read(quiet.id).await);
    changed.state = AccountState::Suspended;
    other.update_account(&changed).await.expect("updated");
    let after = (read(changed.id).await, read(quiet.id).await);
    assert_eq!(after.0.account.state, AccountState::Suspended);
    assert!(Arc::ptr_eq(&before.1, &after.1), "nothing of the quiet account was read again");
}

#[tokio::test]
async fn more_changes_than_are_forgotten_one_by_one_are_all_seen() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let other = crate::store::test_data::open(&directory).await;
    let mut last = account();
    other.create_account(&last).await.expect("created");
    let snapshot = facts.current().await.expect("read");
    snapshot.account(last.id).await.expect("current").expect("there");
    for _ in 0..MAX_CHANGED_ACCOUNTS {
        other.create_account(&account()).await.expect("created");
    }
    last.state = AccountState::Suspended;
    other.update_account(&last).await.expect("updated");
    let snapshot = facts.current().await.expect("read");
    let seen = snapshot.account(last.id).await.expect("current").expect("there");
    assert_eq!(seen.account.state, AccountState::Suspended);
}

#[tokio::test]
async fn a_deleted_account_is_forgotten_by_a_node_that_did_not_look_meanwhile() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let other = crate::store::test_data::open(&directory).await;
    let mut account = account();
    other.create_account(&account).await.expect("created");
    let before = facts.current().await.expect("read");
    before.account(account.id).await.expect("current").expect("there");
    account.state = AccountState::Deleting;
    other.update_account(&account).await.expect("ordered");
    crate::upkeep::account_deletion::once(&other).await;
    let snapshot = facts.current().await.expect("read");
    let seen = snapshot.account(account.id).await.expect("current");
    assert!(seen.is_none(), "{seen:?}");
}

#[tokio::test]
async fn a_snapshot_sees_one_state_of_its_account_or_is_stale() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let other = crate::store::test_data::open(&directory).await;
    let mut account = account();
    other.create_account(&account).await.expect("created");
    let old = facts.current().await.expect("read");
    old.account(account.id).await.expect("current").expect("there");
    account.state = AccountState::Suspended;
    other.update_account(&account).await.expect("updated");
    facts.current().await.expect("read");
    let seen = old.account(account.id).await.expect("in memory").expect("there");
    assert_eq!(seen.account.state, AccountState::Active, "what it saw, it sees again");
    let slug = "receipt".parse().expect("a slug");
    let unread = old.template(account.id, &slug).await;
    assert!(matches!(unread, Err(FactError::Stale)), "{unread:?}");
}

#[tokio::test]
async fn facts_of_a_database_that_went_back_are_read_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let other = crate::store::test_data::open(&directory).await;
    let mut account = account();
    other.create_account(&account).await.expect("created");
    let earlier = other.revision().await.expect("readable");
    let id = account.id;
    let seen = async || {
        let snapshot = facts.current().await.expect("read");
        snapshot.account(id).await.expect("current").expect("there")
    };
    account.state = AccountState::Suspended;
    other.update_account(&account).await.expect("updated");
    assert_eq!(seen().await.account.state, AccountState::Suspended);
    // As in a backup that is restored under the server.
    account.state = AccountState::Active;
    other.update_account(&account).await.expect("updated");
    for restored in ["UPDATE accounts SET facts_revision = $1", "UPDATE revision SET value = $1"] {
        sql(restored).bind(earlier).run(&other.db.writer).await.expect("written");
    }
    assert_eq!(seen().await.account.state, AccountState::Active);
}

#[tokio::test]
async fn a_look_that_was_given_up_answers_nobody() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let other = crate::store::test_data::open(&directory).await;
    let before = facts.snapshot().revision();
    // Dropped while its look is under way, as the request of a client that hangs up.
    let held = facts.store.db.revisions.hold().await.expect("open");
    assert!(futures_util::poll!(Box::pin(facts.current())).is_pending());
    drop(held);
    other.create_account(&account()).await.expect("created");
    assert!(facts.current().await.expect("read").revision() > before);
}
