//! TLS and logins, right and wrong.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::client::Client;
use crate::{Authority, Behaviour, Certificate, MxServer, StartTlsFault};

#[test]
fn a_certificate_of_the_authority_is_good_for_its_names() {
    let authority = Authority::new();
    let certificate = authority.issue(&["mx.example", "127.0.0.1"]);
    let server = MxServer::start(Behaviour::new().start_tls(certificate).demand_tls());
    let mut client = Client::greeted(&server);
    client.say("MAIL FROM:<>", "530 5.7.0");
    client.say("STARTTLS", "220");
    client.shake_hands(&authority, "mx.example").expect("trusted");
    client.say("MAIL FROM:<>", "503");
    assert!(!client.hello().contains(&"STARTTLS".to_owned()));
    client.send("", "b@y.example", "250");
    let message = &server.messages()[0];
    assert_eq!((message.tls, message.server_name.as_deref()), (true, Some("mx.example")));
}

#[test]
fn wrong_certificates_are_wrong() {
    let authority = Authority::new();
    for (certificate, why) in [
        (authority.issue(&["other.example"]), "NotValidForName"),
        (authority.issue_expired(&["mx.example"]), "Expired"),
        (Authority::new().issue(&["mx.example"]), "BadSignature"),
        (Certificate::self_signed(&["mx.example"]), "UnknownIssuer"),
    ] {
        let server = MxServer::start(Behaviour::new().start_tls(certificate));
        let mut client = Client::greeted(&server);
        client.say("STARTTLS", "220");
        let error = client.shake_hands(&authority, "mx.example").expect_err("not trusted");
        let error = format!("{error:?}");
        assert!(error.contains(why) || error.contains("UnknownIssuer"), "{why}: {error}");
    }
}

#[test]
fn tls_may_be_there_from_the_first_octet() {
    let authority = Authority::new();
    let server = MxServer::start(Behaviour::new().implicit_tls(authority.issue(&["mx.example"])));
    let mut client = Client::connected(&server);
    client.shake_hands(&authority, "mx.example").expect("trusted");
    client.expect("220");
    client.hello();
    client.send("", "b@y.example", "250");
    assert!(server.messages()[0].tls);
}

#[test]
fn starttls_fails_in_each_way() {
    let authority = Authority::new();
    let failing = |fault| {
        let good = Behaviour::new().start_tls(authority.issue(&["mx.example"]));
        let server = MxServer::start(good.start_tls_fails(fault));
        let mut client = Client::greeted(&server);
        client.write(b"STARTTLS\r\n");
        (server, client)
    };
    let (_server, mut client) = failing(StartTlsFault::Refused);
    client.expect("454 4.7.0");
    client.send("", "b@y.example", "250");

    let (_server, mut client) = failing(StartTlsFault::Garbage);
    client.expect("220");
    client.shake_hands(&authority, "mx.example").expect_err("garbage");

    let (_server, mut client) = failing(StartTlsFault::Closes);
    client.expect("220");
    client.expect_end();

    let (server, mut client) = failing(StartTlsFault::Injection("250 injected\r\n".to_owned()));
    client.expect("220");
    client.expect("250 injected");
    client.shake_hands(&authority, "mx.example").expect("it goes on");
    client.hello();
    client.send("", "b@y.example", "250");
    assert!(server.messages()[0].tls);
}

#[test]
fn clear_text_behind_starttls_is_noticed_and_forgotten() {
    let authority = Authority::new();
    let server = MxServer::start(Behaviour::new().start_tls(authority.issue(&["mx.example"])));
    let mut client = Client::greeted(&server);
    client.write(b"STARTTLS\r\nRSET\r\n");
    client.expect("220");
    client.shake_hands(&authority, "mx.example").expect("trusted");
    client.hello();
    let violations = server.violations();
    assert_eq!(violations.len(), 2, "{violations:?}");
    assert!(!server.commands().contains(&"RSET".to_owned()));
}

#[test]
fn who_logs_in_must_know_the_password() {
    let server = MxServer::start(Behaviour::new().login("user", "secret"));
    let mut client = Client::greeted(&server);
    let [right, wrong] = ["\0user\0secret", "\0user\0other"].map(|it| STANDARD.encode(it));
    client.say("MAIL FROM:<>", "530 5.7.0");
    client.say(&format!("AUTH PLAIN {wrong}"), "535 5.7.8");
    client.say("AUTH CRAM-MD5", "504");
    client.say("AUTH PLAIN !", "501");
    client.say("AUTH PLAIN", "334");
    client.say(&right, "235 2.7.0");
    client.send("", "b@y.example", "250");
    assert_eq!(server.messages()[0].user.as_deref(), Some("user"));

    let login = |password: &str| {
        let mut client = Client::greeted(&server);
        client.say("AUTH LOGIN", "334 VXNlcm5hbWU6");
        client.say(&STANDARD.encode("user"), "334 UGFzc3dvcmQ6");
        client.write(format!("{}\r\n", STANDARD.encode(password)).as_bytes());
        client
    };
    login("secret").expect("235");
    login("other").expect("535 5.7.8");

    server.set(Behaviour::new().login("user", "secret").mechanisms("PLAIN").login_under_tls());
    let mut client = Client::greeted(&server);
    assert!(client.hello().iter().all(|it| !it.starts_with("AUTH")));
    client.say(&format!("AUTH PLAIN {right}"), "538 5.7.11");
}
