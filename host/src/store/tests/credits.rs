//! Accounts hear that their credits come to an end: once for each time, in the debit's transaction.

use super::super::database::{column, sql};
use super::super::events::kind_of;
use super::{Fixture, NOW};
use crate::credit::{Credits, EntryKind};
use crate::journey::commit::decide::{Rules, decide};

impl Fixture {
    async fn spend(&self, messages: usize) {
        let job = self.job(messages, 1).await;
        let rules = Rules { credits_low: Credits(5) };
        let decide = |jobs, facts| decide(rules, jobs, facts, NOW);
        self.store.commit_decided(&[job], NOW, decide).await.expect("committed");
    }

    async fn told(&self) -> Vec<(String, String)> {
        let rows =
            sql("SELECT type, detail FROM events WHERE type BETWEEN 30 AND 39 ORDER BY sequence")
                .all(&self.store.db.readers)
                .await
                .expect("readable");
        let kind = |row| kind_of(row).expect("known").as_str().to_owned();
        rows.iter().map(|row| (kind(row), column(row, "detail").expect("a text"))).collect()
    }
}

#[tokio::test]
async fn a_balance_that_falls_below_the_threshold_is_told_once_each_time() {
    let fixture = Fixture::with_credits(10).await;
    fixture.spend(5).await;
    assert!(fixture.told().await.is_empty(), "five are not fewer than five");
    fixture.spend(1).await;
    fixture.spend(1).await;
    let told = fixture.told().await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0], ("credits.low".to_owned(), r#"{"balance":4,"threshold":5}"#.to_owned()));
    let (account, credits) = (fixture.account, Credits(10));
    let granted = fixture.store.add_credits(account, EntryKind::Grant, credits, "test", NOW).await;
    granted.expect("granted");
    fixture.spend(13).await;
    let told: Vec<String> = fixture.told().await.into_iter().map(|(what, _)| what).collect();
    assert_eq!(told, ["credits.low", "credits.low", "credits.exhausted"]);
    fixture.spend(1).await;
    assert_eq!(fixture.told().await.len(), 3, "a refusal for want of credits is no event");
}
