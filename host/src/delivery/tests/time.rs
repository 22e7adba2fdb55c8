//! Two days, and clocks that jump.

use waxwing_mx::{Behaviour, MxServer, Reply, Stage};

use super::fixture::{DAY, Fixture, HOUR, MINUTE, NOW, Setup, smarthost};
use crate::delivery::smtp::Timeouts;

async fn fixture(server: &MxServer) -> Fixture {
    Fixture::new(Setup::smarthosts(&[smarthost("relay", server)])).await
}

#[tokio::test]
async fn after_two_days_a_message_has_failed_and_is_refunded_once() {
    let server = MxServer::start(Behaviour::new().reject(Stage::Mail, 451, "4.3.0 not today"));
    let fixture = fixture(&server).await;
    let id = fixture.send("ada@example.com").await;
    let mut details = fixture.after_attempts(id, 1).await;
    while details.row.state.as_str() == "deferred" {
        details = fixture.run_next_attempt(id).await.1;
    }
    let life = NOW.until(fixture.clock.now());
    assert!(life > HOUR * 43 && life <= HOUR * 48, "{life:?}");
    assert_eq!((details.row.state.as_str(), details.row.refunded.0), ("failed", 1));
    assert!(details.row.reason.contains("48 hours") && details.row.reason.contains("not today"));
    let attempts = details.attempts.len();
    assert!((15..=20).contains(&attempts), "{attempts}");
    fixture.run_until(NOW.after(DAY * 10)).await;
    assert_eq!(fixture.message(id).await.attempts.len(), attempts, "it rests");
    assert_eq!(fixture.store.first_due().await.expect("readable"), None);
    let ledger = fixture.store.ledger(fixture.account, 100).await.expect("readable");
    let kinds: Vec<&str> = ledger.iter().rev().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["grant", "debit", "refund"]);
    fixture.finish().await;
}

#[tokio::test]
async fn a_clock_that_jumps_three_days_ahead_gives_nothing_up() {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let fixture = fixture(&server).await;
    let ids = fixture.send_many(10, "example.com").await;
    fixture.until_all(&ids, "deferred").await;
    fixture.advance(DAY * 3);
    fixture.until_idle().await;
    assert!(
        fixture.states().await.iter().all(|it| it == "deferred"),
        "{:?}",
        fixture.states().await
    );
    for id in &ids {
        let details = fixture.message(*id).await;
        let next = details.row.next_attempt_at;
        let pause = fixture.clock.now().until(next.expect("a moment"));
        assert!(pause <= MINUTE * 16, "soon again: {pause:?}");
    }
    server.start_again();
    fixture.run_until(fixture.clock.now().after(HOUR)).await;
    fixture.until_all(&ids, "relayed").await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_a_day_lets_nothing_wait_for_a_day() {
    let server = MxServer::start(Behaviour::new().reject(Stage::Mail, 451, "4.3.0 not now"));
    let fixture = fixture(&server).await;
    let waiting = fixture.send_many(10, "example.com").await;
    fixture.until_all(&waiting, "deferred").await;
    server.set(Behaviour::new());
    let yesterday = NOW.before(DAY);
    fixture.set_clock(yesterday);
    let fresh = fixture.send("fresh@example.com").await;
    fixture.until_state(fresh, "relayed").await;
    fixture.run_until(yesterday.after(MINUTE * 10)).await;
    fixture.until_all(&waiting, "relayed").await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_in_the_middle_of_an_attempt_loses_nothing() {
    let server = MxServer::start(Behaviour::new().answer(Stage::EndOfData, Reply::silence()));
    let setup = Setup::smarthosts(&[smarthost("relay", &server)]);
    let timeouts = Timeouts { end_of_data: MINUTE * 10, ..setup.timeouts };
    let fixture = Fixture::new(Setup { timeouts, ..setup }).await;
    let under_way = fixture.send("under-way@example.com").await;
    fixture
        .until("the message is sent", || async {
            (server.dialog().iter().any(|it| it.text == "silence")).then_some(())
        })
        .await;
    let yesterday = NOW.before(DAY);
    fixture.set_clock(yesterday);
    let fresh = fixture.send("fresh@example.com").await;
    server.set(Behaviour::new());
    fixture.until_state(under_way, "relayed").await;
    fixture.until_state(fresh, "relayed").await;
    assert_eq!(fixture.message(under_way).await.attempts.len(), 1);
    fixture.finish().await;
}

#[tokio::test]
async fn a_rest_of_a_destination_ends_whatever_the_clock_does() {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let fixture = fixture(&server).await;
    let first = fixture.send("first@example.com").await;
    fixture.after_attempts(first, 1).await;
    fixture.run_until(NOW.after(HOUR)).await;
    server.start_again();
    fixture.set_clock(NOW.before(DAY));
    let second = fixture.send("second@example.com").await;
    fixture.until_state(second, "relayed").await;
    fixture.run_until(NOW.before(DAY).after(HOUR * 2)).await;
    assert_eq!(fixture.state(first).await, "relayed");
    fixture.finish().await;
}
