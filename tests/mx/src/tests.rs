//! The server as a client sees it: octets over a socket.

mod client;
mod faults;
mod tls;

use std::sync::mpsc;
use std::time::Duration;

use crate::{Behaviour, Farewell, MxServer, Reply, Stage};
use client::Client;

/// Longer than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_message_is_kept_as_it_was_before_it_was_stuffed() {
    let server = MxServer::start(Behaviour::new());
    let mut client = Client::greeted(&server);
    client.say("MAIL FROM:<a@x.example> SIZE=100 BODY=8BITMIME", "250 2.1.0");
    client.say("RCPT TO:<\"odd> one\"@y.example>", "250 2.1.5");
    client.say("RCPT TO:<b@y.example>", "250 2.1.5");
    client.say("DATA", "354");
    client.write(
        b"Subject: s\r\nMessage-ID:\r\n <1@x.example>\r\n\r\n..dot\r\nSch\xc3\xb6n\r\n.\r\n",
    );
    client.expect("250 2.0.0");
    client.say("QUIT", "221");
    client.expect_end();

    let messages = server.block_for_messages(1, PATIENCE);
    let message = &messages[0];
    assert_eq!(message.sender, "a@x.example");
    assert_eq!(message.parameters, ["SIZE=100", "BODY=8BITMIME"]);
    assert_eq!(message.addresses(), ["\"odd> one\"@y.example", "b@y.example"]);
    let data = "Subject: s\r\nMessage-ID:\r\n <1@x.example>\r\n\r\n.dot\r\nSchön\r\n";
    assert_eq!(message.data, data.as_bytes());
    assert_eq!(message.header("message-id").as_deref(), Some("<1@x.example>"));
    assert_eq!((message.connection, message.tls, message.reply), (1, false, Some(250)));
    assert_eq!(message.helo, "client.example");
    assert_eq!(server.violations(), [""; 0]);
    let commands = server.commands();
    assert_eq!(commands.first().map(String::as_str), Some("EHLO client.example"));
    assert_eq!(commands.last().map(String::as_str), Some("QUIT"));
}

#[test]
fn a_group_of_commands_is_answered_in_its_order() {
    let server = MxServer::start(Behaviour::new().reject_recipient("B@y.example", 550, "5.1.1 no"));
    let mut client = Client::greeted(&server);
    client.write(b"MAIL FROM:<>\r\nRCPT TO:<a@y.example>\r\nRCPT TO:<b@Y.example>\r\nDATA\r\n");
    for reply in ["250 2.1.0", "250 2.1.5", "550 5.1.1", "354"] {
        client.expect(reply);
    }
    client.write(b"\r\n.\r\n");
    client.expect("250 2.0.0");
    assert_eq!(server.messages()[0].addresses(), ["a@y.example"]);
    assert_eq!(server.violations(), [""; 0]);

    server.set(Behaviour::new().without("PIPELINING"));
    client.write(b"MAIL FROM:<>\r\nRCPT TO:<a@y.example>\r\n");
    client.expect("250");
    client.expect("250");
    let group = "1: pipelining that was not offered: MAIL FROM:<>";
    assert_eq!(server.violations(), [group]);
}

#[test]
fn what_is_not_offered_is_not_taken() {
    let bare = Behaviour::new().without("SMTPUTF8").without("SIZE").without("8BITMIME");
    let server = MxServer::start(bare);
    let mut client = Client::greeted(&server);
    for parameter in ["SIZE=1", "BODY=8BITMIME", "SMTPUTF8", "AUTH=<>", "RET=HDRS"] {
        client.say(&format!("MAIL FROM:<a@x.example> {parameter}"), "555 5.5.4");
    }
    client.say("MAIL FROM:<ä@x.example>", "553 5.6.7");
    client.say("BDAT 10 LAST", "500");
    server.set(Behaviour::new().size(10));
    client.say("MAIL FROM:<a@x.example> SIZE=11", "552 5.3.4");
    client.say("MAIL FROM:<ä@x.example> SMTPUTF8 SIZE=10", "250");
    client.say("RCPT TO:<a@x.example>", "250");
    client.say("DATA", "354");
    client.say("longer than that\r\n.", "552 5.3.4");
    assert_eq!(server.message_count(), 0);
}

#[test]
fn a_script_sees_the_situation() {
    let behaviour = Behaviour::new().script(|it| {
        let known = it.stage == Stage::EndOfData && it.transactions == 1;
        let said = || format!("4.3.0 {:?} {:?} {}", it.sender, it.recipients[0].address, it.tls);
        known.then(|| Reply::new(452, &said()))
    });
    let server = MxServer::start(behaviour);
    let mut client = Client::greeted(&server);
    client.send("a@x.example", "b@y.example", "250 2.0.0");
    client.send(
        "c@x.example",
        "d@y.example",
        "452 4.3.0 Some(\"c@x.example\") \"d@y.example\" false",
    );
    client.send("e@x.example", "f@y.example", "250 2.0.0");
    let senders: Vec<String> = server.messages().into_iter().map(|it| it.sender).collect();
    assert_eq!(senders, ["a@x.example", "e@x.example"]);
}

#[test]
fn a_recipient_is_greylisted_for_its_first_attempts() {
    let server = MxServer::start(Behaviour::new().greylist(2));
    let mut client = Client::greeted(&server);
    client.say("MAIL FROM:<>", "250");
    for (recipient, reply) in
        [("a", "451 4.7.1"), ("A", "451 4.7.1"), ("b", "451 4.7.1"), ("a", "250"), ("b", "451")]
    {
        client.say(&format!("RCPT TO:<{recipient}@y.example>"), reply);
    }
}

#[test]
fn a_storm_ends_when_the_behaviour_does() {
    let server = MxServer::start(Behaviour::new().storm_421());
    for _ in 0..3 {
        let mut client = Client::connected(&server);
        client.expect("421 4.3.2");
        client.expect_end();
    }
    server.set(Behaviour::new());
    Client::greeted(&server).send("", "b@y.example", "250");
    assert_eq!(server.connections(), 4);
}

#[test]
fn a_connection_has_its_messages_and_no_more() {
    let two = Behaviour::new().messages_per_connection(2, Farewell::Says421);
    let server = MxServer::start(two);
    let mut client = Client::greeted(&server);
    client.send("", "b@y.example", "250");
    client.send("", "b@y.example", "250");
    client.say("MAIL FROM:<>", "421 4.7.0");
    client.expect_end();

    server.set(Behaviour::new().messages_per_connection(1, Farewell::Closes));
    let mut client = Client::greeted(&server);
    client.send("", "b@y.example", "250");
    client.expect_end();
    assert_eq!(server.message_count(), 3);
}

#[test]
fn too_many_connections_at_one_time_are_told_so() {
    let server = MxServer::start(Behaviour::new().connections_at_one_time(2));
    let (first, _second) = (Client::greeted(&server), Client::greeted(&server));
    let mut third = Client::connected(&server);
    third.expect("421 4.7.0");
    third.expect_end();
    drop(first);
    Client::greeted(&server).send("", "b@y.example", "250");
    assert_eq!((server.connections(), server.most_at_one_time()), (4, 3));
}

#[test]
fn one_connection_after_the_other_is_one_at_a_time() {
    let server = MxServer::start(Behaviour::new());
    for turn in 0..40 {
        let mut client = Client::greeted(&server);
        match turn % 3 {
            0 => client.say("QUIT", "221"),
            1 => client.send("", "b@y.example", "250"),
            _ => client.write(b"RSET\r\n"),
        }
    }
    assert_eq!((server.connections(), server.most_at_one_time()), (40, 1));
}

#[test]
fn a_server_that_is_stopped_refuses_and_comes_back_on_its_port() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let server = MxServer::start_on(address.parse().expect("valid"), Behaviour::new());
        let mut client = Client::greeted(&server);
        server.stop();
        client.expect_end();
        assert!(Client::try_connect(&server).is_err(), "it refuses");
        server.start_again();
        Client::greeted(&server).send("", "b@y.example", "250");
        server.cut_connections();
        assert_eq!(server.open_connections(), 0);
    }
}

#[test]
fn hooks_are_called_before_and_after_replies_and_in_the_middle_of_data() {
    let server = MxServer::start(Behaviour::new());
    let (sender, called) = mpsc::channel();
    for stage in [Stage::Connect, Stage::Mail, Stage::Data, Stage::EndOfData] {
        let (before, after) = (sender.clone(), sender.clone());
        server.on(stage, move |it| before.send(format!("{:?}?", it.stage)).expect("heard"));
        server.after(stage, move |it| after.send(format!("{:?}!", it.stage)).expect("heard"));
    }
    server.after_octets(4, move |it| sender.send(format!("{:?}…", it.stage)).expect("heard"));
    let mut client = Client::greeted(&server);
    client.send("", "b@y.example", "250");
    client.say("NOOP", "250");
    let called: Vec<String> = called.try_iter().collect();
    let expected = [
        "Connect?",
        "Connect!",
        "Mail?",
        "Mail!",
        "Data?",
        "Data!",
        "Data…",
        "EndOfData?",
        "EndOfData!",
    ];
    assert_eq!(called, expected);
    server.forget_hooks();
    client.send("", "b@y.example", "250");
}

#[test]
fn a_sink_counts_and_keeps_nothing() {
    let server = MxServer::start(Behaviour::sink());
    let mut client = Client::greeted(&server);
    for _ in 0..100 {
        client.send("", "b@y.example", "250");
    }
    assert_eq!(server.block_for_messages(100, PATIENCE), []);
    assert_eq!((server.message_count(), server.octets()), (100, 1_500));
    assert!(server.dialog().is_empty());
    server.forget();
    assert_eq!((server.message_count(), server.octets(), server.connections()), (0, 0, 0));
}

#[tokio::test]
async fn a_test_waits_without_holding_up_its_runtime() {
    let server = MxServer::start(Behaviour::new());
    let talk = tokio::task::spawn_blocking({
        let mut client = Client::greeted(&server);
        move || client.send("", "b@y.example", "250")
    });
    assert_eq!(server.wait_for_messages(1, PATIENCE).await.len(), 1);
    talk.await.expect("sent");
}
