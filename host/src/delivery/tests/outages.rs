//! Servers that put mail off, break off or break the protocol: nothing is lost, and nobody is
//! hammered.

use std::time::Duration;

use waxwing_mx::{Behaviour, MxServer, Reply, Situation, Stage};

use super::fixture::{
    Fixture, HOUR, MINUTE, NOW, Setup, events, message_id, message_ids, smarthost,
};
use crate::delivery::routing::route::{Route, Rule};
use crate::delivery::smtp::Timeouts;

async fn fixture(server: &MxServer) -> Fixture {
    Fixture::new(Setup::smarthosts(&[smarthost("relay", server)])).await
}

#[tokio::test]
async fn who_is_greylisted_comes_again_and_holds_up_nobody() {
    let grey = |it: &Situation<'_>| {
        let is_grey = it.recipient.is_some_and(|it| it.starts_with("grey")) && it.seen < 2;
        is_grey.then(|| Reply::new(451, "4.7.1 greylisted, come again"))
    };
    let server = MxServer::start(Behaviour::new().script(grey));
    let fixture = fixture(&server).await;
    let grey = fixture.send("grey@example.com").await;
    let others = fixture.send_many(10, "example.com").await;
    fixture.until_all(&others, "relayed").await;
    let details = fixture.after_attempts(grey, 1).await;
    assert_eq!(details.row.state.as_str(), "deferred");
    let attempt = &details.attempts[0];
    assert_eq!((attempt.code, attempt.enhanced.as_deref()), (Some(451), Some("4.7.1")));
    assert!(attempt.reply.contains("greylisted, come again"), "{}", attempt.reply);
    assert_eq!(fixture.run_next_attempt(grey).await.1.row.state.as_str(), "deferred");
    let (_, details) = fixture.run_next_attempt(grey).await;
    assert_eq!((details.row.state.as_str(), details.attempts.len()), ("relayed", 3));
    let expected = "queued sending deferred sending deferred sending relayed";
    assert_eq!(events(&details).join(" "), expected);
    fixture.finish().await;
}

#[tokio::test]
async fn a_storm_of_421_is_answered_with_patience_and_loses_nothing() {
    let storm = |stage| Behaviour::new().reject(stage, 421, "4.3.2 no service today");
    for stage in
        [Stage::Connect, Stage::Ehlo, Stage::Mail, Stage::Rcpt, Stage::Data, Stage::EndOfData]
    {
        let server = MxServer::start(storm(stage));
        let mut relay = smarthost("relay", &server);
        relay.limits.connections = 2;
        let fixture = Fixture::new(Setup::smarthosts(&[relay])).await;
        let ids = fixture.send_many(30, "example.com").await;
        fixture.until_idle().await;
        // Those that stood in line before the first answer came.
        assert!(server.connections() <= 12, "{stage:?}: {}", server.connections());
        server.forget();
        fixture.run_until(NOW.after(MINUTE * 25)).await;
        assert!(fixture.states().await.iter().all(|it| it == "deferred"), "{stage:?}");
        assert!(server.connections() <= 60, "{stage:?}: {}", server.connections());
        assert_eq!(server.message_count(), 0, "{stage:?}");
        server.set(Behaviour::new());
        fixture.run_until(NOW.after(HOUR * 4)).await;
        fixture.until_all(&ids, "relayed").await;
        let mut arrived = message_ids(&server.messages());
        arrived.sort();
        arrived.dedup();
        assert_eq!(arrived.len(), 30, "{stage:?}");
        fixture.finish().await;
    }
}

#[tokio::test]
async fn a_connection_that_is_cut_before_the_final_dot_is_tried_again() {
    for octets in [0, 1, 50, 200] {
        let cut = move |it: &Situation<'_>| (it.connection == 1).then_some(octets);
        let server = MxServer::start(Behaviour::new().cut_data_when(cut));
        let fixture = fixture(&server).await;
        let id = fixture.send("ada@example.com").await;
        let details = fixture.after_attempts(id, 1).await;
        assert_eq!(details.row.state.as_str(), "deferred", "{octets}: {}", details.row.reason);
        let (_, details) = fixture.run_next_attempt(id).await;
        assert_eq!((details.row.state.as_str(), details.attempts.len()), ("relayed", 2));
        assert_eq!(message_ids(&server.messages()), [message_id(id)]);
        fixture.finish().await;
    }
}

#[tokio::test]
async fn a_cut_after_the_final_dot_may_double_a_message_under_one_message_id() {
    let silence: fn() -> Reply = Reply::silence;
    for (name, reply) in [("cut", Reply::cut as fn() -> Reply), ("silence", silence)] {
        let first = move |it: &Situation<'_>| {
            (it.stage == Stage::EndOfData && it.connection == 1).then(reply)
        };
        let server = MxServer::start(Behaviour::new().script(first));
        let setup = Setup::smarthosts(&[smarthost("relay", &server)]);
        let end_of_data = Duration::from_secs(2);
        let timeouts = Timeouts { end_of_data, ..setup.timeouts };
        let fixture = Fixture::new(Setup { timeouts, ..setup }).await;
        let id = fixture.send("ada@example.com").await;
        let details = fixture.after_attempts(id, 1).await;
        assert_eq!(details.row.state.as_str(), "deferred", "{name}");
        assert!(details.row.reason.contains("may have arrived"), "{name}: {}", details.row.reason);
        let (_, details) = fixture.run_next_attempt(id).await;
        assert_eq!((details.row.state.as_str(), details.attempts.len()), ("relayed", 2), "{name}");
        let messages = server.messages();
        let count = if name == "cut" { 2 } else { 1 };
        assert_eq!(message_ids(&messages), vec![message_id(id); count], "{name}");
        fixture.finish().await;
    }
}

#[tokio::test]
async fn a_connection_that_is_closed_after_the_reply_loses_no_reply() {
    let closing = Reply::new(250, "2.0.0 taken, and goodbye").then_close();
    let server = MxServer::start(Behaviour::new().answer(Stage::EndOfData, closing));
    let fixture = fixture(&server).await;
    let ids = fixture.send_many(20, "example.com").await;
    fixture.until_all(&ids, "relayed").await;
    for id in ids {
        assert_eq!(fixture.message(id).await.attempts.len(), 1);
    }
    assert_eq!(server.messages().len(), 20, "none was sent twice");
    fixture.finish().await;
}

#[tokio::test]
async fn whoever_breaks_the_protocol_gets_the_message_later() {
    let faults: Vec<(&str, Behaviour)> = vec![
        ("silent", Behaviour::new().answer(Stage::Connect, Reply::silence())),
        ("silent-mail", Behaviour::new().answer(Stage::Mail, Reply::silence())),
        ("cut-greeting", Behaviour::new().answer(Stage::Connect, Reply::cut())),
        ("cut-rcpt", Behaviour::new().answer(Stage::Rcpt, Reply::cut())),
        ("cut-data", Behaviour::new().answer(Stage::Data, Reply::cut())),
        ("endless-lines", Behaviour::new().answer(Stage::Ehlo, Reply::endless_lines(250))),
        ("endless-line", Behaviour::new().answer(Stage::Rcpt, Reply::endless_line(250))),
        ("no-line-end", Behaviour::new().answer(Stage::Mail, Reply::without_line_end(250, "ok"))),
        (
            "no-smtp",
            Behaviour::new().answer(Stage::Connect, Reply::octets(b"HTTP/1.1 400\r\n\r\n")),
        ),
        ("two-codes", Behaviour::new().answer(Stage::Ehlo, Reply::octets(b"250-a\r\n220 b\r\n"))),
        ("early-250", Behaviour::new().answer(Stage::Data, Reply::new(250, "2.0.0 thank you"))),
        ("late-354", Behaviour::new().answer(Stage::EndOfData, Reply::new(354, "more"))),
        ("zero", Behaviour::new().answer(Stage::Mail, Reply::octets(b"000 \r\n"))),
        ("binary", Behaviour::new().answer(Stage::Connect, Reply::octets(&[0xff; 3_000]))),
    ];
    let started = faults.into_iter().map(|(name, it)| (name, MxServer::start(it)));
    let servers: Vec<(&str, MxServer)> = started.collect();
    let rules = servers.iter().map(|(name, server)| Rule {
        accounts: Vec::new(),
        recipients: vec![format!("{name}.example").parse().expect("a domain")],
        route: Route::Smarthosts([smarthost(name, server)].into()),
    });
    let setup = Setup::route(Route::Direct);
    let short = Duration::from_secs(1);
    let timeouts = Timeouts { greeting: short, command: short, ..setup.timeouts };
    let fixture = Fixture::new(Setup { rules: rules.collect(), timeouts, ..setup }).await;
    let mut ids = Vec::new();
    for (name, _) in &servers {
        ids.push(fixture.send(&format!("ada@{name}.example")).await);
    }
    for ((name, server), id) in servers.iter().zip(&ids) {
        let details = fixture.after_attempts(*id, 1).await;
        assert_eq!(details.row.state.as_str(), "deferred", "{name}: {}", details.row.reason);
        let attempt = &details.attempts[0];
        assert!(attempt.conversation.len() <= 20_000, "{name}: {}", attempt.conversation.len());
        assert!(attempt.reply.chars().all(|it| !it.is_control()), "{name}: {:?}", attempt.reply);
        server.set(Behaviour::new());
    }
    fixture.run_until(NOW.after(MINUTE * 10)).await;
    fixture.until_all(&ids, "relayed").await;
    fixture.finish().await;
}

#[tokio::test]
async fn slow_and_verbose_servers_are_understood() {
    let slow = |code, text: &str| Reply::new(code, text).octet_by_octet();
    let behaviour = Behaviour::new()
        .answer(Stage::Connect, slow(220, "mx.test\nwe do not accept\nadvertisements"))
        .answer(Stage::Mail, slow(250, "2.1.0 sender ok"))
        .answer(Stage::Data, slow(354, "go\non"))
        .answer(Stage::EndOfData, slow(250, "2.0.0 thank you\n2.0.0 very much"));
    let server = MxServer::start(behaviour);
    let fixture = fixture(&server).await;
    let id = fixture.send("ada@example.com").await;
    let details = fixture.until_state(id, "relayed").await;
    assert!(details.row.reason.contains("thank you"), "{}", details.row.reason);
    fixture.finish().await;
}

#[tokio::test]
async fn a_server_of_twenty_years_ago_gets_its_mail() {
    let old = Behaviour::new()
        .without("PIPELINING")
        .without("8BITMIME")
        .without("SMTPUTF8")
        .without("ENHANCEDSTATUSCODES")
        .without("SIZE")
        .reject(Stage::Ehlo, 500, "what?");
    let server = MxServer::start(old);
    let fixture = fixture(&server).await;
    let ids = fixture.send_many(5, "example.com").await;
    fixture.until_all(&ids, "relayed").await;
    assert_eq!(server.violations(), [""; 0]);
    assert!(server.messages().iter().all(|it| it.parameters.is_empty()));
    fixture.finish().await;
}
