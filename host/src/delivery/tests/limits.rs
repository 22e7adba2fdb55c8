//! Gentle with each destination, and none at the expense of another.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use futures_util::future::join;
use waxwing_mx::{Behaviour, MxServer, Reply, Situation, Stage};

use super::fixture::{DAY, Fixture, HOUR, NOW, Setup, server_on, smarthost};
use crate::delivery::limits::Limits;
use crate::delivery::routing::route::{Route, Rule};
use crate::id::MessageId;
use crate::store::records::Body;

/// A server that takes a moment for each message, so that others come meanwhile.
fn unhurried() -> Behaviour {
    let moment = Duration::from_millis(3);
    Behaviour::new().answer(Stage::EndOfData, Reply::new(250, "2.0.0 ok").after(moment))
}

fn direct(port: u16, connections: u32) -> Setup<'static> {
    let direct = Limits { connections, messages_per_connection: 100, per_minute: None };
    Setup { port, direct, ..Setup::route(Route::Direct) }
}

#[tokio::test]
async fn the_customers_of_one_operator_share_its_connections() {
    let server = server_on("127.0.0.1", 0, unhurried());
    let fixture = Fixture::new(direct(server.address().port(), 2)).await;
    fixture.dns.ip("mx1.operator.example", [127, 0, 0, 1].into());
    fixture.dns.ip("mx2.operator.example", [127, 0, 0, 1].into());
    // Each has its own order of the two hosts, which nobody may prefer to one another.
    let customers: Vec<String> = (0..10).map(|n| format!("customer{n}.example")).collect();
    for customer in &customers {
        fixture.dns.mx(customer, 10, "mx1.operator.example");
        fixture.dns.mx(customer, 10, "mx2.operator.example");
    }
    let mut ids = Vec::new();
    for _ in 0..9 {
        for customer in &customers {
            ids.extend(fixture.send_many(1, customer).await);
        }
    }
    fixture.until_all(&ids, "delivered").await;
    assert_eq!(server.messages().len(), 90);
    assert!(server.most_at_one_time() <= 2, "{} at one time", server.most_at_one_time());
    assert!(server.connections() <= 4, "{} connections", server.connections());
    fixture.finish().await;
}

#[tokio::test]
async fn connections_that_are_kept_for_later_count_too() {
    let server = server_on("127.0.0.1", 0, unhurried());
    let fixture = Fixture::new(direct(server.address().port(), 2)).await;
    // Of one operator, but each with a host of its own.
    for customer in ["one", "two", "three", "four"] {
        let host = format!("{customer}.operator.example");
        fixture.dns.ip(&host, [127, 0, 0, 1].into());
        fixture.dns.mx(&format!("{customer}.example"), 10, &host);
    }
    for customer in ["one", "two", "three", "four"] {
        let ids = fixture.send_many(6, &format!("{customer}.example")).await;
        fixture.until_all(&ids, "delivered").await;
    }
    assert!(server.most_at_one_time() <= 2, "{} at one time", server.most_at_one_time());
    fixture.finish().await;
}

#[tokio::test]
async fn who_makes_room_for_a_connection_makes_it_for_no_other() {
    let goodbye = Reply::new(221, "2.0.0 bye").after(Duration::from_millis(500));
    let server = server_on("127.0.0.1", 0, unhurried().answer(Stage::Quit, goodbye));
    let fixture = Fixture::new(direct(server.address().port(), 2)).await;
    let customers = ["one", "two", "three", "four"].map(|it| format!("{it}.example"));
    for customer in &customers {
        let host = format!("{customer}.operator.example");
        fixture.dns.ip(&host, [127, 0, 0, 1].into());
        fixture.dns.mx(customer, 10, &host);
        let ids = fixture.send_many(1, customer).await;
        fixture.until_all(&ids, "delivered").await;
    }
    // Connections to the last two are kept, and both of the others need one.
    for _ in 0..5 {
        for two in customers.chunks(2) {
            let (one, other) = (format!("a@{}", two[0]), format!("a@{}", two[1]));
            let ids = join(fixture.send(&one), fixture.send(&other)).await;
            fixture.until_all(&[ids.0, ids.1], "delivered").await;
        }
    }
    assert!(server.most_at_one_time() <= 2, "{} at one time", server.most_at_one_time());
    fixture.finish().await;
}

#[tokio::test]
async fn a_slow_destination_holds_up_no_other() {
    let silent = Behaviour::new().answer(Stage::EndOfData, Reply::silence());
    let (slow, fast) = (MxServer::start(silent), MxServer::start(Behaviour::new()));
    let (mut to_slow, to_fast) = (smarthost("slow", &slow), smarthost("fast", &fast));
    to_slow.limits.connections = 2;
    let rule = Rule {
        accounts: Vec::new(),
        recipients: vec!["slow.example".parse().expect("a domain")],
        route: Route::Smarthosts([to_slow].into()),
    };
    let setup = Setup::smarthosts(&[to_fast]);
    let mut timeouts = setup.timeouts;
    timeouts.end_of_data = Duration::from_mins(10);
    let fixture =
        Fixture::new(Setup { rules: vec![rule], concurrent: 16, timeouts, ..setup }).await;
    let waiting = fixture.send_many(40, "slow.example").await;
    let quick = fixture.send_many(40, "fast.example").await;
    fixture.until_all(&quick, "relayed").await;
    assert_eq!(slow.message_count(), 0);
    assert!(slow.most_at_one_time() <= 2, "{} at one time", slow.most_at_one_time());
    slow.set(Behaviour::new());
    fixture.until_all(&waiting, "relayed").await;
    assert!(slow.most_at_one_time() <= 2, "{} at one time", slow.most_at_one_time());
    fixture.finish().await;
}

#[tokio::test]
async fn a_destination_that_is_down_holds_up_no_other() {
    let (down, up) = (MxServer::start(Behaviour::new()), MxServer::start(Behaviour::new()));
    down.stop();
    let rule = Rule {
        accounts: Vec::new(),
        recipients: vec!["down.example".parse().expect("a domain")],
        route: Route::Smarthosts([smarthost("down", &down)].into()),
    };
    let setup = Setup::smarthosts(&[smarthost("up", &up)]);
    let fixture = Fixture::new(Setup { rules: vec![rule], concurrent: 4, ..setup }).await;
    let waiting = fixture.send_many(60, "down.example").await;
    let quick = fixture.send_many(20, "up.example").await;
    fixture.until_all(&quick, "relayed").await;
    fixture.until_all(&waiting, "deferred").await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_damaged_message_is_given_up_alone_and_refunded() {
    let server = MxServer::start(Behaviour::new());
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let damaged = MessageId::new(NOW);
    fixture.accept(damaged, "poison@example.com", Body::from_stored(vec![1, 2, 3])).await;
    let ids = fixture.send_many(10, "example.com").await;
    fixture.until_all(&ids, "relayed").await;
    let details = fixture.until_state(damaged, "failed").await;
    assert_eq!((details.row.refunded.0, details.attempts.len()), (1, 1));
    assert_eq!(server.messages().len(), 10);
    fixture.finish().await;
}

/// Messages are spread over a tenth of each pause by their identifiers; this one is always the first
/// of those that failed together, so that it is the one that tries whether the server is well again.
fn first_of_all() -> MessageId {
    std::iter::repeat_with(|| MessageId::new(NOW))
        .find(|id| id.ulid().bytes().map(u32::from).sum::<u32>() % 100 == 0)
        .expect("there is always another")
}

#[tokio::test]
async fn a_message_that_kills_every_connection_holds_up_no_other() {
    for stage in [Stage::Mail, Stage::Rcpt, Stage::Data, Stage::EndOfData] {
        let marked = first_of_all();
        let poison = move |it: &Situation<'_>| {
            // Its return path is its own, too.
            let ulid = marked.ulid().to_lowercase();
            let is_it = it.sender.is_some_and(|sender| sender.to_lowercase().contains(&ulid));
            (it.stage == stage && is_it).then(Reply::cut)
        };
        let server = MxServer::start(Behaviour::new().script(poison));
        let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
        fixture.send_as(marked, "poison@example.com").await;
        fixture.after_attempts(marked, 1).await;
        let ids = fixture.send_many(20, "example.com").await;
        fixture.run_until(NOW.after(HOUR * 8)).await;
        for id in ids {
            let details = fixture.message(id).await;
            assert_eq!(details.row.state.as_str(), "relayed", "{stage:?}: {}", details.row.reason);
            assert!(details.attempts.len() <= 3, "{stage:?}: {} attempts", details.attempts.len());
        }
        assert_eq!(fixture.state(marked).await, "deferred", "{stage:?}");
        fixture.run_until(NOW.after(DAY * 3)).await;
        assert_eq!(fixture.state(marked).await, "failed", "{stage:?}");
        fixture.finish().await;
    }
}

#[tokio::test]
async fn a_message_counts_once_against_the_rate_of_its_destination() {
    let server = MxServer::start(Behaviour::new());
    let mut relay = smarthost("relay", &server);
    relay.limits.per_minute = NonZeroU32::new(3);
    let fixture = Fixture::new(Setup::smarthosts(&[relay])).await;
    let begun = Instant::now();
    for n in 0..3 {
        let id = fixture.send(&format!("ada@customer{n}.example")).await;
        fixture.until_state(id, "relayed").await;
    }
    // A further one would have to wait for 20 s.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    fixture.finish().await;
}
