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
    let store = Store::open(&directory.path().join("test.db")).await.expect("opens");
    Facts::open(store, Clock::system()).await.expect("opens")
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
async fn a_change_of_another_process_is_in_the_facts_that_are_asked_for_next() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let other = Store::open(&directory.path().join("test.db")).await.expect("opens");
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
async fn a_look_that_was_given_up_answers_nobody() {
    let directory = tempfile::tempdir().expect("a directory");
    let facts = facts(&directory).await;
    let other = Store::open(&directory.path().join("test.db")).await.expect("opens");
    let before = facts.snapshot().revision();
    // Dropped while its look is under way, as the request of a client that hangs up.
    let held = facts.store.db.revisions.hold().await.expect("open");
    assert!(futures_util::poll!(Box::pin(facts.current())).is_pending());
    drop(held);
    other.create_account(&account()).await.expect("created");
    assert!(facts.current().await.expect("read").revision() > before);
}
