//! What goes wrong in the middle.

use std::time::Duration;

use super::client::Client;
use crate::{Behaviour, MxServer, Reply, Stage};

fn to_data(server: &MxServer) -> Client {
    let mut client = Client::greeted(server);
    client.say("MAIL FROM:<>", "250");
    client.say("RCPT TO:<b@y.example>", "250");
    client.say("DATA", "354");
    client
}

#[test]
fn a_connection_is_cut_in_the_middle_of_data() {
    let server = MxServer::start(Behaviour::new().cut_data_after(100));
    let mut client = to_data(&server);
    client.write(&[b'x'; 99]);
    client.write(b"y");
    client.expect_end();
    assert_eq!(server.message_count(), 0);

    server.set(Behaviour::new().cut_data_when(|it| (it.connection == 2).then_some(0)));
    to_data(&server).expect_end();
    Client::greeted(&server).send("", "b@y.example", "250");
}

#[test]
fn a_connection_is_cut_behind_the_final_dot_before_or_after_the_reply() {
    let server = MxServer::start(Behaviour::new().answer(Stage::EndOfData, Reply::cut()));
    let mut client = to_data(&server);
    client.write(b"a: b\r\n\r\n.\r\n");
    client.expect_end();
    let after = Reply::new(250, "2.0.0 taken").then_close();
    server.set(Behaviour::new().answer(Stage::EndOfData, after));
    let mut client = to_data(&server);
    client.say("a: b\r\n\r\n.", "250 2.0.0 taken");
    client.expect_end();
    let replies: Vec<Option<u16>> = server.messages().iter().map(|it| it.reply).collect();
    assert_eq!(replies, [None, Some(250)]);
}

#[test]
fn silence_lasts_until_the_behaviour_changes_or_the_client_goes() {
    let server = MxServer::start(Behaviour::new().answer(Stage::Connect, Reply::silence()));
    drop(Client::connected(&server));
    let mut client = Client::connected(&server);
    while server.dialog().iter().filter(|it| it.text == "silence").count() < 2 {
        std::thread::yield_now();
    }
    server.set(Behaviour::new());
    client.expect("220");
    client.hello();
    client.send("", "b@y.example", "250");
    drop(client);
    while server.open_connections() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn a_reply_may_come_octet_by_octet_or_late() {
    let slow = Reply::new(250, "2.0.0 first\n2.0.0 second").octet_by_octet();
    let late = Reply::new(221, "2.0.0 bye").then_close().after(Duration::from_millis(20));
    let server =
        MxServer::start(Behaviour::new().answer(Stage::Rset, slow).answer(Stage::Quit, late));
    let mut client = Client::greeted(&server);
    client.say("RSET", "250-2.0.0 first");
    client.expect("250 2.0.0 second");
    client.say("QUIT", "221");
    client.expect_end();
}

#[test]
fn replies_may_be_endless_or_malformed() {
    const MUCH: usize = 4 << 20;
    let server = MxServer::start(
        Behaviour::new()
            .answer(Stage::Mail, Reply::endless_lines(250))
            .answer(Stage::Rset, Reply::endless_line(250))
            .answer(Stage::Noop, Reply::without_line_end(250, "2.0.0 ok"))
            .answer(Stage::Quit, Reply::octets(b"hello\r\n"))
            .answer(Stage::Helo, Reply::octets(b"250 \xff\xfe\r\n")),
    );
    let mut client = Client::greeted(&server);
    client.write(b"MAIL FROM:<>\r\n");
    let lines = client.octets(MUCH);
    assert!(lines.len() >= MUCH && lines.starts_with(b"250-more to come\r\n250-"));
    let mut client = Client::greeted(&server);
    client.write(b"RSET\r\n");
    let line = client.octets(MUCH);
    assert!(line.len() >= MUCH && line.starts_with(b"250 more") && !line.contains(&b'\n'));
    let mut client = Client::greeted(&server);
    client.write(b"NOOP\r\n");
    assert_eq!(client.octets(12), b"250 2.0.0 ok");
    client.write(b"HELO x\r\n");
    assert_eq!(client.octets(8), b"250 \xff\xfe\r\n");
    client.write(b"QUIT\r\n");
    client.expect("hello");
}

#[test]
fn a_greeting_that_says_no_serves_nobody() {
    let server =
        MxServer::start(Behaviour::new().reject(Stage::Connect, 554, "5.3.2 no mail here"));
    let mut client = Client::connected(&server);
    client.expect("554 5.3.2");
    client.say("EHLO client.example", "503");
    client.say("QUIT", "221");

    server.set(
        Behaviour::new().reject(Stage::Ehlo, 502, "5.5.1 what").answer(Stage::Mail, Reply::cut()),
    );
    let mut client = Client::connected(&server);
    client.expect("220");
    client.say("EHLO client.example", "502");
    client.say("HELO client.example", "250");
    client.write(b"MAIL FROM:<>\r\n");
    client.expect_end();
}
