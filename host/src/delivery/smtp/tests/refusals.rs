//! Messages that are not taken, and what becomes of the session.

use super::peer::shown;
use super::*;

const TAKEN: &str = "S: 250 ok\nS: 250 ok\nS: 354 go\ndata\nS: 250 queued\n";

async fn refused(session: &mut Session) -> (Stage, u16, bool) {
    let refused = send(session).await.expect_err("not taken");
    let Cause::Reply(reply) = refused.cause else { panic!("{refused:?}") };
    (refused.stage, reply.code, refused.usable)
}

#[tokio::test]
async fn after_a_refusal_the_next_message_goes_over_the_same_connection() {
    let next = [AT_ONCE, TAKEN].concat();
    let after_reset = ["C: RSET\n", AT_ONCE, "S: 250 reset\n", TAKEN].concat();
    for (replies, end, next) in [
        ("S: 550 no\nS: 503 no\nS: 503 no\n", (Stage::Mail, 550, true), &next),
        ("S: 250 ok\nS: 550 5.1.1 no\nS: 503 no\n", (Stage::Rcpt, 550, true), &after_reset),
        ("S: 250 ok\nS: 450 later\nS: 554 no\n", (Stage::Rcpt, 450, true), &after_reset),
        ("S: 250 ok\nS: 250 ok\nS: 451 later\n", (Stage::Data, 451, true), &after_reset),
        ("S: 250 ok\nS: 250 ok\nS: 354 go\ndata\nS: 554 spam\n", (Stage::Dot, 554, true), &next),
        // Nobody is left to get the message, and yet it is asked for.
        (
            "S: 250 ok\nS: 550 no\nS: 354 go\nC: .\nS: 554 no recipients\n",
            (Stage::Rcpt, 550, true),
            &after_reset,
        ),
        (
            "S: 250 ok\nS: 550 no\nS: 354 go\nC: .\nS: 250 thanks for nothing\n",
            (Stage::Rcpt, 550, true),
            &after_reset,
        ),
    ] {
        let peer = Peer::plays(&[PIPELINING, AT_ONCE, replies, next].concat()).await;
        let mut session = peer.session().await;
        assert_eq!(refused(&mut session).await, end);
        assert_eq!(send(&mut session).await.expect("taken").code, 250, "{replies}");
        assert_eq!(session.sent(), 1);
        peer.heard().await;
    }
}

#[tokio::test]
async fn without_pipelining_nothing_is_said_behind_a_refusal() {
    let mail = "C: MAIL FROM:<a@shop.example> SIZE=21\n";
    let rcpt = "C: RCPT TO:<b@example.com>\n";
    let taken = [mail, "S: 250 ok\n", rcpt, "S: 250 ok\nC: DATA\nS: 354 go\ndata\nS: 250 ok\n"];
    let taken = taken.concat();
    let after_reset = format!("C: RSET\nS: 250 ok\n{taken}");
    for (replies, end, next) in [
        (format!("{mail}S: 550 no\n"), (Stage::Mail, 550, true), &taken),
        (format!("{mail}S: 250 ok\n{rcpt}S: 550 no\n"), (Stage::Rcpt, 550, true), &after_reset),
        (
            format!("{mail}S: 250 ok\n{rcpt}S: 250 ok\nC: DATA\nS: 451 later\n"),
            (Stage::Data, 451, true),
            &after_reset,
        ),
    ] {
        let peer = Peer::plays(&[HELLO, &replies, next].concat()).await;
        let mut session = peer.session().await;
        assert_eq!(refused(&mut session).await, end);
        send(&mut session).await.expect("taken");
        peer.heard().await;
    }
}

#[tokio::test]
async fn a_421_ends_the_session_wherever_it_comes() {
    for (replies, stage) in [
        ("S: 421 bye\n", Stage::Mail),
        ("S: 250 ok\nS: 421 bye\n", Stage::Rcpt),
        ("S: 250 ok\nS: 250 ok\nS: 421 bye\n", Stage::Data),
        ("S: 250 ok\nS: 250 ok\nS: 354 go\ndata\nS: 421 bye\n", Stage::Dot),
    ] {
        let peer = Peer::plays(&[PIPELINING, AT_ONCE, replies, "wait"].concat()).await;
        let mut session = peer.session().await;
        assert_eq!(refused(&mut session).await, (stage, 421, false));
        let again = send(&mut session).await.expect_err("the session is over");
        assert_eq!((again.stage, again.usable), (Stage::Mail, false));
        drop(session);
        peer.heard().await;
    }
}

#[tokio::test]
async fn a_refusal_counts_even_if_the_connection_ends_behind_it() {
    for replies in ["S: 250 ok\nS: 550 no\n", "S: 250 ok\nS: 550 no\nS: 421 and bye\n"] {
        let peer = Peer::plays(&[PIPELINING, AT_ONCE, replies].concat()).await;
        let mut session = peer.session().await;
        assert_eq!(refused(&mut session).await, (Stage::Rcpt, 550, false));
        peer.heard().await;
    }
}

#[tokio::test]
async fn an_empty_message_is_never_sent_to_a_recipient() {
    let replies = "S: 550 no\nS: 250 ok\nS: 354 go\nwait";
    let peer = Peer::plays(&[PIPELINING, AT_ONCE, replies].concat()).await;
    let mut session = peer.session().await;
    assert_eq!(refused(&mut session).await, (Stage::Mail, 550, false));
    session.quit().await;
    peer.heard().await;
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_shows_at_its_first_command() {
    for ending in ["close", "reset", "S: 421 4.4.2 idle for too long\nclose"] {
        let peer = Peer::plays(&[PIPELINING, AT_ONCE, TAKEN, ending].concat()).await;
        let mut session = peer.session().await;
        send(&mut session).await.expect("taken");
        drop(session.take_transcript());
        peer.heard().await;
        let refused = send(&mut session).await.expect_err("closed");
        assert_eq!((refused.stage, refused.usable), (Stage::Mail, false), "{ending}");
        let is_told = matches!(&refused.cause, Cause::Reply(reply) if reply.code == 421);
        assert!(is_told || matches!(&refused.cause, Cause::Io(_) | Cause::Closed), "{refused:?}");
        assert_eq!(is_told, ending.contains("421"));
        let transcript = session.take_transcript();
        assert!(!transcript.contains("C: "), "{transcript}");
    }
}

#[tokio::test]
async fn a_refused_reset_says_nothing_about_the_message() {
    let replies = "S: 250 ok\nS: 550 no\nS: 503 no\nC: RSET\n";
    for (reset, cause) in
        [("S: 500 what?\n", Cause::Protocol(Violation::Unexpected(500))), ("close", Cause::Closed)]
    {
        let script = [PIPELINING, AT_ONCE, replies, AT_ONCE, reset].concat();
        let peer = Peer::plays(&script).await;
        let mut session = peer.session().await;
        refused(&mut session).await;
        let refused = send(&mut session).await.expect_err("not taken");
        assert_eq!(refused, Refused { stage: Stage::Reset, cause, usable: false });
        peer.heard().await;
    }
}

#[tokio::test]
async fn a_connection_that_is_cut_tells_whether_the_message_may_have_arrived() {
    let accepted = [PIPELINING, AT_ONCE, "S: 250 ok\nS: 250 ok\nS: 354 go\n"].concat();
    let large = b"0123456789abc\r\n".repeat(1 << 20);
    for (ending, message, stage) in [
        ("close", large.as_slice(), Stage::Content),
        ("octets 100000\nreset", &large, Stage::Content),
        ("data\nclose", MESSAGE, Stage::Dot),
        ("data\nreset", MESSAGE, Stage::Dot),
        ("data\nS| 250 2.0.0 almos\nclose", MESSAGE, Stage::Dot),
    ] {
        let peer = Peer::plays(&[&accepted, ending].concat()).await;
        let mut session = peer.session().await;
        let refused = send_that(&mut session, message).await.expect_err("cut");
        assert_eq!((refused.stage, refused.usable), (stage, false), "{ending}");
        assert!(matches!(refused.cause, Cause::Io(_) | Cause::Closed), "{refused:?}");
        assert_eq!(session.sent(), 0);
        peer.heard().await;
    }
}

#[tokio::test]
async fn a_message_that_is_given_up_tells_whether_it_may_have_arrived() {
    let accepted = [PIPELINING, AT_ONCE, "S: 250 ok\nS: 250 ok\n"].concat();
    for (ending, stage) in [("wait", Stage::Data), ("S: 354 go\ndata\nwait", Stage::Dot)] {
        let peer = Peer::plays(&[&accepted, ending].concat()).await;
        let mut session = peer.session().await;
        let limit = Duration::from_secs(2);
        assert!(tokio::time::timeout(limit, send(&mut session)).await.is_err());
        let refused = session.out_of_time();
        assert_eq!((refused.stage, refused.usable), (stage, false), "{ending}");
        assert_eq!(refused.cause, Cause::Timeout);
        assert!(shown(&session.take_transcript()).contains("S: 250 ok\n"));
        session.quit().await;
        peer.heard().await;
    }
}

#[tokio::test]
async fn an_answer_before_the_end_of_a_message_counts() {
    let accepted = [PIPELINING, AT_ONCE, "S: 250 ok\nS: 250 ok\nS: 354 go\n"].concat();
    let large = b"0123456789abc\r\n".repeat(1 << 20);
    for ending in ["linger", "close"] {
        let early = "octets 100000\nS: 552-5.3.4 too\nS: 552 5.3.4 large\n";
        let peer = Peer::plays(&[&accepted, early, ending].concat()).await;
        let mut session = peer.session().await;
        let refused = send_that(&mut session, &large).await.expect_err("refused");
        assert_eq!((refused.stage, refused.usable), (Stage::Content, false), "{ending}");
        assert_eq!(refused.cause.to_string(), "552 5.3.4 too large", "{ending}");
        let transcript = shown(&session.take_transcript());
        assert!(transcript.contains(" of 15728640 octets)\n"), "{transcript}");
    }
}

#[tokio::test]
async fn a_yes_before_the_end_of_a_message_is_none() {
    let accepted = [PIPELINING, AT_ONCE, "S: 250 ok\nS: 250 ok\nS: 354 go\n"].concat();
    let large = b"0123456789abc\r\n".repeat(1 << 20);
    let peer = Peer::plays(&[&accepted, "S: 250 got it\nlinger"].concat()).await;
    let mut session = peer.session().await;
    let refused = send_that(&mut session, &large).await.expect_err("not taken");
    assert_eq!(refused.stage, Stage::Content);
    assert_eq!(refused.cause, Cause::Protocol(Violation::Unexpected(250)));
}

#[tokio::test]
async fn each_step_has_its_time() {
    let accepted = [PIPELINING, AT_ONCE, "S: 250 ok\nS: 250 ok\nS: 354 go\n"].concat();
    let large = b"0123456789abc\r\n".repeat(1 << 20);
    for (script, message, stage) in [
        ([PIPELINING, AT_ONCE, "linger"].concat(), MESSAGE, Stage::Mail),
        ([PIPELINING, AT_ONCE, "S: 250 ok\nlinger"].concat(), MESSAGE, Stage::Rcpt),
        ([PIPELINING, AT_ONCE, "S: 250 ok\ndrip 250-x"].concat(), MESSAGE, Stage::Rcpt),
        ([&accepted, "linger"].concat(), large.as_slice(), Stage::Content),
        ([&accepted, "data\nlinger"].concat(), MESSAGE, Stage::Dot),
    ] {
        let peer = Peer::plays(&script).await;
        let mut session = peer.session().await;
        session.timeouts = impatient();
        let refused = send_that(&mut session, message).await.expect_err("too late");
        assert_eq!((refused.stage, refused.usable), (stage, false));
        assert_eq!(refused.cause, Cause::Timeout);
        assert!(session.take_transcript().contains("*: no answer in time\n"));
    }
}
