//! Two days, and clocks that jump.

use waxwing_mx::{Behaviour, MxServer, Reply, Stage};

use super::bench::{Bench, DAY, HOUR, MINUTE, NOW, Setup, smarthost};
use crate::clock::Timestamp;
use crate::delivery::smtp::Timeouts;

async fn bench(server: &MxServer) -> Bench {
    Bench::new(Setup::smarthosts(&[smarthost("post", server)])).await
}

#[tokio::test]
async fn after_two_days_a_message_has_failed_and_is_given_back_once() {
    let server = MxServer::start(Behaviour::new().reject(Stage::Mail, 451, "4.3.0 not today"));
    let bench = bench(&server).await;
    let id = bench.send("ada@example.com").await;
    let mut details = bench.after_attempts(id, 1).await;
    while details.row.state == "deferred" {
        details = bench.retry(id).await.1;
    }
    let life = NOW.until(bench.clock.now());
    assert!(life > HOUR * 43 && life <= HOUR * 48, "{life:?}");
    assert_eq!((details.row.state.as_str(), details.row.refunded), ("failed", 1));
    assert!(details.row.reason.contains("48 hours") && details.row.reason.contains("not today"));
    let attempts = details.attempts.len();
    assert!((15..=20).contains(&attempts), "{attempts}");
    bench.live_until(NOW.after(DAY * 10)).await;
    assert_eq!(bench.message(id).await.attempts.len(), attempts, "it rests");
    assert_eq!(bench.store.first_due().await.expect("readable"), None);
    let ledger = bench.store.ledger(bench.account, 100).await.expect("readable");
    let kinds: Vec<&str> = ledger.iter().rev().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["grant", "debit", "refund"]);
    bench.finish().await;
}

#[tokio::test]
async fn a_clock_that_jumps_three_days_ahead_gives_nothing_up() {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let bench = bench(&server).await;
    let ids = bench.send_many(10, "example.com").await;
    bench.until_all(&ids, "deferred").await;
    bench.advance(DAY * 3);
    bench.quiet().await;
    assert!(bench.states().await.iter().all(|it| it == "deferred"), "{:?}", bench.states().await);
    for id in &ids {
        let details = bench.message(*id).await;
        let next = details.row.next_attempt_at.as_deref().and_then(Timestamp::parse_rfc3339);
        let pause = bench.clock.now().until(next.expect("a moment"));
        assert!(pause <= MINUTE * 16, "soon again: {pause:?}");
    }
    server.start_again();
    bench.live_until(bench.clock.now().after(HOUR)).await;
    bench.until_all(&ids, "relayed").await;
    bench.finish().await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_a_day_lets_nothing_wait_for_a_day() {
    let server = MxServer::start(Behaviour::new().reject(Stage::Mail, 451, "4.3.0 not now"));
    let bench = bench(&server).await;
    let waiting = bench.send_many(10, "example.com").await;
    bench.until_all(&waiting, "deferred").await;
    server.set(Behaviour::new());
    let yesterday = NOW.before(DAY);
    bench.set_clock(yesterday);
    let fresh = bench.send("fresh@example.com").await;
    bench.until_state(fresh, "relayed").await;
    bench.live_until(yesterday.after(MINUTE * 10)).await;
    bench.until_all(&waiting, "relayed").await;
    bench.finish().await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_in_the_middle_of_an_attempt_loses_nothing() {
    let server = MxServer::start(Behaviour::new().answer(Stage::EndOfData, Reply::silence()));
    let setup = Setup::smarthosts(&[smarthost("post", &server)]);
    let timeouts = Timeouts { end_of_data: MINUTE * 10, ..setup.timeouts };
    let bench = Bench::new(Setup { timeouts, ..setup }).await;
    let under_way = bench.send("under-way@example.com").await;
    bench
        .until("the message is sent", || async {
            (server.dialog().iter().any(|it| it.text == "silence")).then_some(())
        })
        .await;
    let yesterday = NOW.before(DAY);
    bench.set_clock(yesterday);
    let fresh = bench.send("fresh@example.com").await;
    server.set(Behaviour::new());
    bench.until_state(under_way, "relayed").await;
    bench.until_state(fresh, "relayed").await;
    assert_eq!(bench.message(under_way).await.attempts.len(), 1);
    bench.finish().await;
}

#[tokio::test]
async fn a_rest_of_a_destination_ends_whatever_the_clock_does() {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let bench = bench(&server).await;
    let first = bench.send("first@example.com").await;
    bench.after_attempts(first, 1).await;
    bench.live_until(NOW.after(HOUR)).await;
    server.start_again();
    bench.set_clock(NOW.before(DAY));
    let second = bench.send("second@example.com").await;
    bench.until_state(second, "relayed").await;
    bench.live_until(NOW.before(DAY).after(HOUR * 2)).await;
    assert_eq!(bench.state(first).await, "relayed");
    bench.finish().await;
}
