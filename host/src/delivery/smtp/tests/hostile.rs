//! Servers that mean no good, or are no SMTP servers.

use super::peer::shown;
use super::*;

#[tokio::test]
async fn what_is_no_smtp_server_is_found_out_by_its_first_words() {
    for (words, violation) in [
        ("S: SSH-2.0-OpenSSH_9.6", Violation::NotAReply),
        ("S: * OK IMAP4rev1 ready", Violation::NotAReply),
        ("S: 220-mx.example\nS: 550 or not", Violation::MixedCodes),
        ("S: 220-mx.example\nS: hello", Violation::NotAReply),
        ("S: 250 mx.example", Violation::Unexpected(250)),
        ("S: 354 go ahead", Violation::Unexpected(354)),
        ("S| 220 hi\\r\\n250 mx.example\\r\\n", Violation::Unsolicited),
        ("flood 220-x\\r\\n", Violation::TooLong),
        ("flood 2200000000000", Violation::LineTooLong),
    ] {
        let peer = Peer::plays(words).await;
        let broken = peer.open(Security::Plain).await.expect_err("no session");
        assert_eq!(broken.stage, Stage::Greeting, "{words}");
        assert_eq!(broken.cause, Cause::Protocol(violation), "{words}");
        assert!(broken.transcript.len() <= 8 << 10);
        assert!(broken.transcript.contains(&violation.to_string()), "{}", broken.transcript);
    }
}

#[tokio::test]
async fn a_reply_that_trickles_in_is_not_waited_for_longer_than_another() {
    for greeting in ["drip 220-x\\r\\n", "drip 220 mx"] {
        let peer = Peer::plays(greeting).await.with_little_time();
        let broken = peer.open(Security::Plain).await.expect_err("no session");
        assert_eq!((broken.stage, broken.cause), (Stage::Greeting, Cause::Timeout));
    }
}

#[tokio::test]
async fn replies_without_meaning_end_the_session() {
    for (replies, stage, code) in [
        ("S: 354 go\n", Stage::Mail, 354),
        ("S: 250 ok\nS: 334 who are you\n", Stage::Rcpt, 334),
        ("S: 250 ok\nS: 250 ok\nS: 250 thanks\n", Stage::Data, 250),
        ("S: 250 ok\nS: 250 ok\nS: 354 go\ndata\nS: 354 more\n", Stage::Dot, 354),
    ] {
        let peer = Peer::plays(&[PIPELINING, AT_ONCE, replies, "wait"].concat()).await;
        let mut session = peer.session().await;
        let refused = send(&mut session).await.expect_err("not taken");
        let cause = Cause::Protocol(Violation::Unexpected(code));
        assert_eq!(refused, Refused { stage, cause, usable: false });
        drop(session);
        peer.heard().await;
    }
}

#[tokio::test]
async fn a_reply_that_nobody_asked_for_is_not_taken_for_the_next_one() {
    let taken = "S: 250 ok\nS: 250 ok\nS: 354 go\ndata\n";
    let twice = "S| 250 queued\\r\\n250 queued\\r\\n\nwait";
    let peer = Peer::plays(&[PIPELINING, AT_ONCE, taken, twice].concat()).await;
    let mut session = peer.session().await;
    send(&mut session).await.expect("taken");
    let refused = send(&mut session).await.expect_err("out of step");
    assert_eq!(refused.cause, Cause::Protocol(Violation::Unsolicited));
    assert_eq!((refused.stage, refused.usable), (Stage::Mail, false));
    drop(session);
    peer.heard().await;
}

#[tokio::test]
async fn a_message_that_was_given_up_halfway_ends_the_session() {
    let peer = Peer::plays(&[PIPELINING, AT_ONCE, "wait"].concat()).await;
    let mut session = peer.session().await;
    let given_up = tokio::time::timeout(Duration::from_millis(50), send(&mut session)).await;
    assert!(given_up.is_err());
    let refused = send(&mut session).await.expect_err("the replies of the first are still to come");
    assert_eq!((refused.stage, refused.usable), (Stage::Mail, false));
    session.quit().await;
    peer.heard().await;
}

#[tokio::test]
async fn a_reply_shows_nothing_that_acts() {
    let replies = "S: 250 ok\nS: 550 5.1.1 \u{1b}[2Jgone\u{202e}\u{0}\nS: 503 no\n";
    let peer = Peer::plays(&[PIPELINING, AT_ONCE, replies].concat()).await;
    let mut session = peer.session().await;
    let refused = send(&mut session).await.expect_err("not taken");
    let words = "\u{fffd}[2Jgone\u{fffd}\u{fffd}";
    assert_eq!(refused.cause.to_string(), format!("550 5.1.1 {words}"));
    assert!(shown(&session.take_transcript()).contains(&format!("S: 550 5.1.1 {words}\n")));
    peer.heard().await;
}

#[tokio::test]
async fn a_name_in_ehlo_is_one_word() {
    let peer = Peer::plays("S: 220 hi\nC: EHLO a.exampleRSET\nS: 250 x").await;
    let dial = Dial { hello: "a.example\r\n RSET", ..peer.dial(Security::Plain) };
    peer.open_with(&dial).await.expect("a session");
    peer.heard().await;
}
