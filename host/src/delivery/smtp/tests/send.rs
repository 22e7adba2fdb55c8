//! Messages that are taken.

use super::peer::shown;
use super::*;

const TAKEN: &str = "
    S: 250 2.1.0 ok
    S: 250 2.1.5 ok
    S: 354 go ahead
    data
    S: 250 2.0.0 queued as 1
";

const ON_THE_WIRE: &str = "Subject: x\r\n\r\nhello\r\n.\r\n";

#[tokio::test]
async fn where_pipelining_is_offered_three_commands_go_at_once() {
    // The peer hears all of them before it says a word.
    let peer = Peer::plays(&[PIPELINING, AT_ONCE, TAKEN, AT_ONCE, TAKEN, "wait"].concat()).await;
    let mut session = peer.session().await;
    drop(session.take_transcript());
    let reply = send(&mut session).await.expect("taken");
    let expected =
        Reply { code: 250, enhanced: "2.0.0".parse().ok(), text: "queued as 1".to_owned() };
    assert_eq!(reply, expected);
    let content = TAKEN.replace("data", "C: (21 octets)\nC: .");
    assert_eq!(shown(&session.take_transcript()), dialog(&[AT_ONCE, &content]));
    send(&mut session).await.expect("taken");
    assert_eq!(session.sent(), 2);
    drop(session);
    assert_eq!(peer.heard().await.messages, [ON_THE_WIRE, ON_THE_WIRE]);
}

#[tokio::test]
async fn without_pipelining_each_command_waits_for_its_reply() {
    let turns = "
        C: MAIL FROM:<a@shop.example> SIZE=21
        S: 250 ok
        C: RCPT TO:<b@example.com>
        S: 251 elsewhere, but I take it there
        C: DATA
        S: 354 go ahead
        data
        S: 250 queued
    ";
    let peer = Peer::plays(&[HELLO, turns, turns, "C: QUIT\nS: 221 bye"].concat()).await;
    let mut session = peer.session().await;
    send(&mut session).await.expect("taken");
    drop(session.take_transcript());
    send(&mut session).await.expect("taken");
    let content = turns.replace("data", "C: (21 octets)\nC: .");
    assert_eq!(shown(&session.take_transcript()), dialog(&[&content]));
    session.quit().await;
    assert_eq!(peer.heard().await.messages, [ON_THE_WIRE, ON_THE_WIRE]);
}

#[tokio::test]
async fn a_message_goes_over_tls_as_well() {
    let script = ["TLS\n", PIPELINING, AT_ONCE, TAKEN, "C: QUIT\nS: 221 bye"].concat();
    let peer = Peer::plays(&script).await;
    let mut session = peer.open(Security::Implicit).await.expect("a session");
    send(&mut session).await.expect("taken");
    session.quit().await;
    assert_eq!(peer.heard().await.messages, [ON_THE_WIRE]);
}

#[tokio::test]
async fn a_message_arrives_as_it_is_with_its_dots() {
    let long = "0123456789".repeat(9);
    let lines: Vec<String> = (0..5_000).map(|number| format!(".{number}.{long}\r\n")).collect();
    let lines = lines.concat();
    let message = format!("Subject: x\r\n\r\n.\r\n..\r\n{lines}.end");
    let wire = format!("{}\r\n.\r\n", message.replace("\r\n.", "\r\n.."));
    for tls in ["", "TLS\n"] {
        let peer = Peer::plays(&[tls, PIPELINING, AT_ONCE, TAKEN].concat()).await;
        let security = if tls.is_empty() { Security::Plain } else { Security::Implicit };
        let mut session = peer.open(security).await.expect("a session");
        send_that(&mut session, message.as_bytes()).await.expect("taken");
        let heard = peer.heard().await;
        assert!(heard.messages == [wire.as_str()], "{} octets", heard.messages[0].len());
    }
}

#[tokio::test]
async fn an_envelope_asks_for_what_it_needs_and_is_offered() {
    let all =
        "S: 220 hi\nC: EHLO out.example\nS: 250-x\nS: 250-SIZE\nS: 250-8BITMIME\nS: 250 SMTPUTF8\n";
    let none = "S: 220 hi\nC: EHLO out.example\nS: 250 x\n";
    let ascii = ("a@shop.example", "b@example.com");
    for (hello, sender, recipient, eight_bit, utf8, mail, rcpt) in [
        (all, Some(ascii.0), ascii.1, false, false, "<a@shop.example> SIZE=21", "<b@example.com>"),
        (none, Some(ascii.0), ascii.1, false, false, "<a@shop.example>", "<b@example.com>"),
        (all, None, ascii.1, true, false, "<> SIZE=21 BODY=8BITMIME", "<b@example.com>"),
        (
            all,
            Some(ascii.0),
            ascii.1,
            true,
            true,
            "<a@shop.example> SIZE=21 BODY=8BITMIME SMTPUTF8",
            "<b@example.com>",
        ),
        // A domain has A-labels; only what stands before the `@` needs SMTPUTF8.
        (none, None, "b@bücher.example", false, false, "<>", "<b@xn--bcher-kva.example>"),
        (
            all,
            None,
            "用户@bücher.example",
            false,
            false,
            "<> SIZE=21 SMTPUTF8",
            "<用户@xn--bcher-kva.example>",
        ),
        (
            none,
            None,
            "\"a b\\\"> c\"@example.com",
            false,
            false,
            "<>",
            "<\"a b\\\"> c\"@example.com>",
        ),
        (none, None, "b@[192.0.2.1]", false, false, "<>", "<b@[192.0.2.1]>"),
    ] {
        let script = format!(
            "{hello}C: MAIL FROM:{mail}\nS: 250 ok\nC: RCPT TO:{rcpt}\nS: 250 ok\nC: DATA\n\
             S: 354 go\ndata\nS: 250 ok"
        );
        let peer = Peer::plays(&script).await;
        let mut session = peer.session().await;
        let sender = sender.map(address);
        let recipient = address(recipient);
        let envelope = Envelope { sender: sender.as_ref(), recipient: &recipient, eight_bit, utf8 };
        session.send(&envelope, MESSAGE).await.expect("taken");
        peer.heard().await;
    }
}

#[tokio::test]
async fn what_the_server_does_not_offer_is_not_tried() {
    let small = "S: 220 hi\nC: EHLO out.example\nS: 250-x\nS: 250 SIZE 20\n";
    let peer = Peer::plays(&[small, "wait"].concat()).await;
    let mut session = peer.session().await;
    drop(session.take_transcript());
    let ascii = address("b@example.com");
    let local = address("用户@example.com");
    let plain = Envelope { sender: None, recipient: &ascii, eight_bit: false, utf8: false };
    for (envelope, message, missing, words) in [
        (plain, MESSAGE, Unsupported::TooLarge { octets: 21, limit: 20 }, "552 5.3.4 "),
        (Envelope { eight_bit: true, ..plain }, b"x\r\n", Unsupported::EightBit, "554 5.6.3 "),
        (Envelope { utf8: true, ..plain }, b"x\r\n", Unsupported::Utf8, "550 5.6.7 "),
        (Envelope { recipient: &local, ..plain }, b"x\r\n", Unsupported::Utf8, "550 5.6.7 "),
        (Envelope { sender: Some(&local), ..plain }, b"x\r\n", Unsupported::Utf8, "550 5.6.7 "),
        (plain, b"x\r\n.\n", Unsupported::BareLineBreak, "554 5.6.0 "),
    ] {
        let refused = session.send(&envelope, message).await.expect_err("not sent");
        assert!(missing.to_string().starts_with(words));
        assert_eq!(refused.cause, Cause::Unsupported(missing));
        assert_eq!((refused.stage, refused.usable), (Stage::Mail, true));
    }
    assert_eq!(session.take_transcript(), "", "nothing was said");
    drop(session);
    peer.heard().await;
}
