//! AUTH, and what is shown of it.

use super::peer::{HOST, shown};
use super::*;

const SECRET: &str = "hunter2-hunter2";
/// `\0shop\0hunter2-hunter2`.
const PLAIN: &str = "AHNob3AAaHVudGVyMi1odW50ZXIy";
const USER: &str = "c2hvcA==";
const ENCODED: &str = "aHVudGVyMi1odW50ZXIy";

fn login(password: &str) -> Login {
    Login { user: "shop".to_owned(), password: Password::new(password) }
}

fn offer(mechanisms: &str) -> String {
    format!("S: 220 hi\nC: EHLO out.example\nS: 250-x\nS: 250 AUTH {mechanisms}\n")
}

async fn open(peer: &Peer, password: &str) -> Result<Session, Broken> {
    let login = login(password);
    peer.open_with(&Dial { login: Some(&login), ..peer.dial(Security::Plain) }).await
}

#[tokio::test]
async fn plain_is_preferred_and_its_secret_not_shown() {
    let said = format!("C: AUTH PLAIN {PLAIN}\nS: 235 2.7.0 welcome\n");
    let script = [offer("LOGIN PLAIN"), said, "wait".to_owned()].concat();
    let peer = Peer::plays(&script).await;
    let mut session = open(&peer, SECRET).await.expect("a session");
    let shown = shown(&session.take_transcript());
    assert!(shown.ends_with("C: AUTH PLAIN ***\nS: 235 2.7.0 welcome\n"), "{shown}");
    drop(session);
    peer.heard().await;
}

#[tokio::test]
async fn login_is_used_where_plain_is_not_offered_or_not_taken() {
    let login = format!(
        "C: AUTH LOGIN\nS: 334 VXNlcm5hbWU6\nC: {USER}\nS: 334 UGFzc3dvcmQ6\nC: {ENCODED}\n\
         S: 235 2.7.0 welcome\nwait"
    );
    let refused = format!("C: AUTH PLAIN {PLAIN}\nS: 504 5.5.4 not that one\n");
    for script in
        [[offer("LOGIN"), login.clone()].concat(), offer("PLAIN LOGIN") + &refused + &login]
    {
        let peer = Peer::plays(&script).await;
        let mut session = open(&peer, SECRET).await.expect("a session");
        let shown = shown(&session.take_transcript());
        let expected = "C: AUTH LOGIN\nS: 334 VXNlcm5hbWU6\nC: ***\nS: 334 UGFzc3dvcmQ6\nC: ***\n\
                        S: 235 2.7.0 welcome\n";
        assert!(shown.ends_with(expected), "{shown}");
        drop(session);
        peer.heard().await;
    }
}

#[tokio::test]
async fn a_password_too_long_for_the_command_goes_behind_it() {
    use base64::Engine as _;
    let long = "x".repeat(600);
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("\0shop\0{long}"));
    let said = format!("C: AUTH PLAIN\nS: 334 \nC: {encoded}\nS: 235 welcome\nwait");
    let peer = Peer::plays(&[offer("PLAIN"), said].concat()).await;
    let mut session = open(&peer, &long).await.expect("a session");
    assert!(
        session.take_transcript().ends_with("C: AUTH PLAIN\nS: 334 \nC: ***\nS: 235 welcome\n")
    );
    drop(session);
    peer.heard().await;
}

#[tokio::test]
async fn a_refused_password_is_not_tried_twice_and_never_repeated() {
    let said = format!(
        "C: AUTH PLAIN {PLAIN}\nS: 535-5.7.8 not {SECRET}\nS: 535 5.7.8 nor {ENCODED}, {PLAIN}\n\
         C: QUIT\nS: 221 bye"
    );
    let peer = Peer::plays(&[offer("PLAIN LOGIN"), said].concat()).await;
    let broken = open(&peer, SECRET).await.expect_err("no session");
    assert_eq!(broken.stage, Stage::Login);
    assert_eq!(broken.cause.to_string(), "535 5.7.8 not *** nor ***, ***");
    assert!(broken.transcript.contains("S: 535-5.7.8 not ***\n"), "{broken:?}");
    let everything = format!("{broken:?}");
    for secret in [SECRET, PLAIN, ENCODED] {
        assert!(!everything.contains(secret), "{everything}");
    }
    peer.heard().await;
}

#[tokio::test]
async fn without_a_common_mechanism_there_is_no_login() {
    let peer = Peer::plays(&(offer("CRAM-MD5") + "C: QUIT\nS: 221 bye")).await;
    let broken = open(&peer, SECRET).await.expect_err("no session");
    assert_eq!(broken.stage, Stage::Login);
    assert_eq!(broken.cause, Cause::Unsupported(Unsupported::Login));
    peer.heard().await;
}

#[tokio::test]
async fn no_password_goes_over_a_network_in_plain_text() {
    let peer = Peer::plays(&(offer("PLAIN") + "C: QUIT\nS: 221 bye")).await;
    let login = login(SECRET);
    // Linux takes this address for loopback; by its looks it is none.
    let address = SocketAddr::from(([0, 0, 0, 0], peer.address.port()));
    let dial = Dial { address, login: Some(&login), ..peer.dial(Security::Opportunistic) };
    let broken = peer.open_with(&dial).await.expect_err("no session");
    assert_eq!(broken.stage, Stage::Login);
    assert_eq!(broken.cause, Cause::Unsupported(Unsupported::LoginInPlainText));
    peer.heard().await;

    let script = ["TLS\n".to_owned(), offer("PLAIN"), format!("C: AUTH PLAIN {PLAIN}\nS: 235 hi")];
    let peer = Peer::plays(&script.concat()).await;
    let address = SocketAddr::from(([0, 0, 0, 0], peer.address.port()));
    let dial = Dial { address, login: Some(&login), ..peer.dial(Security::Implicit) };
    assert_eq!(dial.host, HOST);
    peer.open_with(&dial).await.expect("a session");
    peer.heard().await;
}

#[test]
fn a_login_does_not_show_its_password() {
    let shown = format!("{:?}", login(SECRET));
    assert_eq!(shown, "Login { user: \"shop\", password: Password(..) }");
}
