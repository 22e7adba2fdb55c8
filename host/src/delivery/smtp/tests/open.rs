//! Greeting, EHLO and HELO.

use super::peer::shown;
use super::*;

#[tokio::test]
async fn a_session_knows_what_the_server_offers_and_shows_what_was_said() {
    let peer = Peer::plays(HELLO).await;
    let mut session = peer.session().await;
    let expected = Extensions { eight_bit_mime: true, size: Some(1_000), ..Extensions::default() };
    assert_eq!(session.extensions(), &expected);
    assert_eq!((session.tls(), session.sent()), (None, 0));
    let transcript = session.take_transcript();
    assert!(transcript.starts_with(&format!("*: connecting to {}\n", peer.address)));
    assert_eq!(shown(&transcript), dialog(&[HELLO]));
    assert_eq!(session.take_transcript(), "");
    peer.heard().await;
}

#[tokio::test]
async fn a_session_ends_politely() {
    let script = [HELLO, "C: QUIT\nS: 221 bye\nwait"].concat();
    let peer = Peer::plays(&script).await;
    peer.session().await.quit().await;
    peer.heard().await;
}

#[tokio::test]
async fn a_server_that_does_not_say_goodbye_is_left() {
    let peer = Peer::plays(&[HELLO, "C: QUIT\nwait"].concat()).await;
    let session = peer.session().await;
    tokio::time::timeout(Duration::from_secs(20), session.quit()).await.expect("in time");
    peer.heard().await;
}

#[tokio::test]
async fn a_server_that_does_not_know_ehlo_is_greeted_with_helo() {
    for code in ["500", "502"] {
        let script = format!(
            "S: 220-mx.example\nS: 220 at last\nC: EHLO out.example\nS: {code} what?\n\
             C: HELO out.example\nS: 250 mx.example\nwait"
        );
        let peer = Peer::plays(&script).await;
        assert_eq!(peer.session().await.extensions(), &Extensions::default());
        peer.heard().await;
    }
}

#[tokio::test]
async fn other_refusals_of_ehlo_are_final() {
    for (said, code, goodbye) in [
        ("S: 501 5.5.4 Bad name", 501, "C: QUIT\nS: 221 bye"),
        ("S: 451 4.3.0 Later", 451, "C: QUIT\nS: 221 bye"),
        ("S: 421 4.3.2 Closing", 421, ""),
    ] {
        let script = format!("S: 220 hi\nC: EHLO out.example\n{said}\n{goodbye}\nwait");
        let peer = Peer::plays(&script).await;
        let broken = peer.open(Security::Plain).await.expect_err("no session");
        assert_eq!(broken.stage, Stage::Hello);
        assert!(matches!(&broken.cause, Cause::Reply(reply) if reply.code == code), "{broken:?}");
        assert!(broken.transcript.contains(said));
        peer.heard().await;
    }
}

#[tokio::test]
async fn a_greeting_that_is_a_refusal_is_told_with_its_words() {
    let script = "S: 554-5.7.1 Your address\nS: 554 5.7.1 is on a list\nC: QUIT\nS: 221 bye";
    let peer = Peer::plays(script).await;
    let broken = peer.open(Security::Plain).await.expect_err("no session");
    let text = "Your address is on a list".to_owned();
    let reply = Reply { code: 554, enhanced: "5.7.1".parse().ok(), text };
    assert_eq!((broken.stage, &broken.cause), (Stage::Greeting, &Cause::Reply(reply)));
    assert_eq!(broken.to_string(), "the greeting: 554 5.7.1 Your address is on a list");
    assert_eq!(shown(&broken.transcript), dialog(&[script]));
    peer.heard().await;
}

#[tokio::test]
async fn nobody_who_listens_is_a_failure_to_connect() {
    let peer = Peer::plays("close").await;
    let dial = peer.dial(Security::Plain);
    drop(peer.open_with(&dial).await.expect_err("no greeting"));
    peer.heard().await;
    let gone = Session::open(&dial, &peer::TRUST.client, &Timeouts::default()).await;
    let broken = gone.expect_err("no listener");
    assert_eq!(broken.stage, Stage::Connect);
    assert!(matches!(broken.cause, Cause::Io(_) | Cause::Closed), "{broken:?}");
    assert!(broken.transcript.contains("refused"), "{broken:?}");
}

#[tokio::test]
async fn a_call_comes_from_the_address_that_was_chosen() {
    let peer = Peer::plays(HELLO).await;
    let local = Some(IpAddr::from([127, 0, 0, 9]));
    peer.open_with(&Dial { local, ..peer.dial(Security::Plain) }).await.expect("a session");
    let elsewhere = Some(IpAddr::from([192, 0, 2, 1]));
    let dial = Dial { local: elsewhere, ..peer.dial(Security::Plain) };
    let broken = peer.open_with(&dial).await.expect_err("an address that is not ours");
    assert_eq!(broken.stage, Stage::Connect);
    peer.heard().await;
}

#[tokio::test]
async fn a_server_that_hangs_up_or_says_nothing_is_told_apart() {
    let peer = Peer::plays("close").await;
    let broken = peer.open(Security::Plain).await.expect_err("no greeting");
    assert_eq!(broken.stage, Stage::Greeting);
    assert!(matches!(broken.cause, Cause::Io(_) | Cause::Closed), "{broken:?}");
    peer.heard().await;

    let peer = Peer::plays("S| 220 almost\nwait").await.with_little_time();
    let broken = peer.open(Security::Plain).await.expect_err("half a greeting");
    assert_eq!((broken.stage, broken.cause), (Stage::Greeting, Cause::Timeout));
    assert_eq!(shown(&broken.transcript), "S: 220 almost\n*: no answer in time\n");
    peer.heard().await;
}
