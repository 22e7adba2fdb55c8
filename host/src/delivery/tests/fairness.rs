//! What hangs, what is large and what others are told costs those alone that it belongs to.

use std::num::NonZeroU32;
use std::time::Duration;

use waxwing_mx::{Behaviour, MxServer, Reply, Situation, Stage};

use super::fixture::{Fixture, MINUTE, NOW, Setup, server_on, smarthost};
use crate::delivery::limits::Limits;
use crate::delivery::routing::route::Route;
use crate::delivery::smtp::Timeouts;
use crate::id::MessageId;
use crate::store::records::Body;

fn silent(stage: Stage) -> Behaviour {
    Behaviour::new().answer(stage, Reply::silence())
}

fn direct(port: u16) -> Setup<'static> {
    Setup { port, ..Setup::route(Route::Direct) }
}

/// With short patience.
fn impatient(setup: Setup<'_>) -> Setup<'_> {
    let short = Duration::from_secs(2);
    let timeouts = Timeouts { greeting: short, command: short, ..setup.timeouts };
    Setup { timeouts, ..setup }
}

/// The domain's first host is at 127.0.0.2, and its second one at 127.0.0.3.
fn name_two_hosts(fixture: &Fixture) {
    for (host, last, preference) in [("a", 2, 10), ("b", 3, 20)] {
        let name = format!("{host}.mx.example");
        fixture.dns.ip(&name, [127, 0, 0, last].into());
        fixture.dns.mx("example.com", preference, &name);
    }
}

/// A message that counts as large.
async fn send_large(fixture: &Fixture, to: &str) -> MessageId {
    let id = MessageId::new(fixture.clock.now());
    let line = "large ".repeat(12) + "\r\n";
    let content = format!(
        "From: a@sender.example\r\nTo: {to}\r\nSubject: Hi\r\nMessage-ID: <{id}@sender.example>\r\n\r\n{}",
        line.repeat(5_000)
    );
    fixture.accept(id, to, Body::pack(content.as_bytes())).await;
    id
}

#[tokio::test]
async fn small_messages_pass_large_ones_that_wait_for_each_other() {
    let large = |it: &Situation<'_>| {
        let is_large = it.recipients.iter().any(|it| it.address.starts_with("large"));
        (it.stage == Stage::EndOfData && is_large).then(Reply::silence)
    };
    let server = MxServer::start(Behaviour::new().script(large));
    let mut relay = smarthost("relay", &server);
    // What waits does not count against the rate again and again.
    relay.limits.per_minute = NonZeroU32::new(130);
    let setup = Setup::smarthosts(&[relay]);
    let timeouts = Timeouts { end_of_data: MINUTE * 10, ..setup.timeouts };
    let fixture = Fixture::new(Setup { timeouts, ..setup }).await;
    let mut waiting = Vec::new();
    for n in 0..60 {
        waiting.push(send_large(&fixture, &format!("large{n}@example.com")).await);
    }
    let small = fixture.send_many(60, "example.com").await;
    fixture.until_all(&small, "relayed").await;
    let states = fixture.states().await;
    assert_eq!(states.iter().filter(|it| *it == "sending").count(), 4, "large ones at one time");
    server.set(Behaviour::new());
    server.cut_connections();
    fixture.run_until(NOW.after(MINUTE * 20)).await;
    fixture.until_all(&waiting, "relayed").await;
    fixture.finish().await;
}

#[tokio::test]
async fn of_two_smarthosts_one_that_hangs_after_login_gets_no_mail() {
    let hanging = MxServer::start(silent(Stage::Mail));
    let well = MxServer::start(Behaviour::new());
    let both = [smarthost("hanging", &hanging), smarthost("well", &well)];
    let fixture = Fixture::new(impatient(Setup::smarthosts(&both))).await;
    let first = fixture.send_many(40, "example.com").await;
    fixture.until_all(&first, "relayed").await;
    let before = hanging.connections();
    let ids = fixture.send_many(100, "example.com").await;
    fixture.until_all(&ids, "relayed").await;
    assert!(hanging.connections() <= before + 1, "{before}, then {}", hanging.connections());
    for id in first.iter().chain(&ids) {
        assert_eq!(fixture.message(*id).await.attempts.len(), 1);
    }
    fixture.finish().await;
}

#[tokio::test]
async fn a_refusal_for_now_of_one_smarthost_is_another_ones_chance() {
    for stage in [Stage::Rcpt, Stage::Data, Stage::EndOfData] {
        let busy = MxServer::start(Behaviour::new().reject(stage, 452, "4.3.1 no space"));
        let well = MxServer::start(Behaviour::new());
        let both = [smarthost("busy", &busy), smarthost("well", &well)];
        let fixture = Fixture::new(Setup::smarthosts(&both)).await;
        let ids = fixture.send_many(20, "example.com").await;
        fixture.until_all(&ids, "relayed").await;
        assert_eq!((busy.message_count(), well.message_count()), (0, 20), "{stage:?}");
        fixture.finish().await;
    }
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_tried_after_the_others() {
    let hanging = server_on("127.0.0.2", 0, silent(Stage::Connect));
    let well = server_on("127.0.0.3", hanging.address().port(), Behaviour::new());
    let fixture = Fixture::new(impatient(direct(hanging.address().port()))).await;
    name_two_hosts(&fixture);
    let ids = fixture.send_many(60, "example.com").await;
    fixture.until_all(&ids, "delivered").await;
    assert!(hanging.connections() <= 2, "{} connections", hanging.connections());
    assert_eq!(well.message_count(), 60);
    fixture.finish().await;
}

#[tokio::test]
async fn where_a_kept_connection_hangs_another_host_is_tried() {
    let hanging = server_on("127.0.0.2", 0, Behaviour::new());
    let well = server_on("127.0.0.3", hanging.address().port(), Behaviour::new());
    let fixture = Fixture::new(impatient(direct(hanging.address().port()))).await;
    name_two_hosts(&fixture);
    let first = fixture.send("ada@example.com").await;
    fixture.until_state(first, "delivered").await;
    hanging.set(silent(Stage::Mail));
    let second = fixture.send("bob@example.com").await;
    fixture.until_state(second, "delivered").await;
    assert_eq!((hanging.connections(), hanging.message_count(), well.message_count()), (1, 1, 1));
    fixture.finish().await;
}

#[tokio::test]
async fn whoever_names_an_operators_host_beside_his_own_shares_its_bound() {
    let moment = Duration::from_millis(5);
    let unhurried =
        Behaviour::new().answer(Stage::EndOfData, Reply::new(250, "2.0.0 ok").after(moment));
    let server = server_on("127.0.0.2", 0, unhurried);
    let limits = Limits { connections: 2, messages_per_connection: 100, per_minute: None };
    let port = server.address().port();
    let fixture = Fixture::new(Setup { direct: limits, ..direct(port) }).await;
    fixture.dns.ip("mx.operator.example", [127, 0, 0, 2].into());
    fixture.dns.mx("only.example", 10, "mx.operator.example");
    let mut ids = fixture.send_many(10, "only.example").await;
    for n in 0..8 {
        let own = format!("backup.customer{n}.example");
        fixture.dns.ip(&own, [127, 0, 0, 9].into());
        fixture.dns.mx(&format!("customer{n}.example"), 10, "mx.operator.example");
        fixture.dns.mx(&format!("customer{n}.example"), 20, &own);
        ids.extend(fixture.send_many(10, &format!("customer{n}.example")).await);
    }
    fixture.until_all(&ids, "delivered").await;
    assert!(server.most_at_one_time() <= 2, "{} at one time", server.most_at_one_time());
    assert!(server.connections() <= 20, "connections are shared: {}", server.connections());
    fixture.finish().await;
}

#[tokio::test]
async fn many_domains_that_hang_leave_room_for_those_that_are_well() {
    let tarpit = server_on("127.0.0.2", 0, silent(Stage::EndOfData));
    let well = server_on("127.0.0.3", tarpit.address().port(), Behaviour::new());
    let setup = direct(tarpit.address().port());
    let timeouts = Timeouts { end_of_data: MINUTE * 10, ..setup.timeouts };
    let fixture = Fixture::new(Setup { concurrent: 16, timeouts, ..setup }).await;
    fixture.dns.ip("mx.well.example", [127, 0, 0, 3].into());
    fixture.dns.mx("well.example", 10, "mx.well.example");
    let known = fixture.send("ada@well.example").await;
    fixture.until_state(known, "delivered").await;
    let mut waiting = Vec::new();
    for n in 0..20 {
        let host = format!("mx.tarpit{n}.example");
        fixture.dns.ip(&host, [127, 0, 0, 2].into());
        fixture.dns.mx(&format!("tarpit{n}.example"), 10, &host);
        waiting.extend(fixture.send_many(3, &format!("tarpit{n}.example")).await);
    }
    let ids = fixture.send_many(60, "well.example").await;
    fixture.until_all(&ids, "delivered").await;
    assert!(tarpit.open_connections() <= 4, "{} at one time", tarpit.open_connections());
    tarpit.set(Behaviour::new());
    tarpit.cut_connections();
    fixture.run_until(NOW.after(MINUTE * 20)).await;
    fixture.until_all(&waiting, "delivered").await;
    assert_eq!(well.message_count(), 61);
    fixture.finish().await;
}
