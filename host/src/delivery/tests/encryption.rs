//! TLS that fails: where it is welcome, mail goes on without; where it is demanded, it waits.

use waxwing_mx::{Authority, Behaviour, Certificate, MxServer, StartTlsFault};

use super::fixture::{Fixture, MINUTE, NOW, Setup, smarthost};
use crate::delivery::routing::route::{Route, Rule, Smarthost};
use crate::delivery::smtp::{Login, Password, Security};

/// Servers with which no TLS comes about that somebody could rely on, and whether any does.
fn failing(authority: &Authority) -> Vec<(&'static str, Behaviour, Tls)> {
    let good = || Behaviour::new().start_tls(authority.issue(&["127.0.0.1"]));
    let shown = |certificate: Certificate| Behaviour::new().start_tls(certificate);
    let injection = StartTlsFault::Injection("250 injected\r\n".to_owned());
    vec![
        ("not-offered", Behaviour::new(), Tls::Never),
        ("refused", good().start_tls_fails(StartTlsFault::Refused), Tls::Never),
        ("garbage", good().start_tls_fails(StartTlsFault::Garbage), Tls::Never),
        ("closes", good().start_tls_fails(StartTlsFault::Closes), Tls::Never),
        ("injection", good().start_tls_fails(injection), Tls::Never),
        ("self-signed", shown(Certificate::self_signed(&["127.0.0.1"])), Tls::Unverified),
        ("expired", shown(authority.issue_expired(&["127.0.0.1"])), Tls::Unverified),
        ("other-name", shown(authority.issue(&["mx.example"])), Tls::Unverified),
        ("stranger", shown(Authority::new().issue(&["127.0.0.1"])), Tls::Unverified),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tls {
    Never,
    Unverified,
}

/// Each server for the mail to the domain of its name.
async fn fixture(servers: &[(&str, MxServer)], security: Security, ca: &str) -> Fixture {
    let rule = |(name, server): &(&str, MxServer)| {
        let only = Smarthost { security, ..smarthost(name, server) };
        let recipients = vec![format!("{name}.example").parse().expect("a domain")];
        Rule { accounts: Vec::new(), recipients, route: Route::Smarthosts([only].into()) }
    };
    let rules = servers.iter().map(rule).collect();
    let setup = Setup::route(Route::Smarthosts([].into()));
    Fixture::new(Setup { rules, ca: Some(ca), ..setup }).await
}

#[tokio::test]
async fn where_tls_is_demanded_nothing_ever_goes_without() {
    let authority = Authority::new();
    let started = failing(&authority).into_iter();
    let servers: Vec<_> = started.map(|(name, it, _)| (name, MxServer::start(it))).collect();
    let fixture = fixture(&servers, Security::Verified, authority.pem()).await;
    let mut ids = Vec::new();
    for (name, _) in &servers {
        ids.push(fixture.send(&format!("ada@{name}.example")).await);
    }
    for ((name, server), id) in servers.iter().zip(&ids) {
        let details = fixture.after_attempts(*id, 1).await;
        assert_eq!(details.row.state.as_str(), "deferred", "{name}: {}", details.row.reason);
        let told = server.commands().iter().any(|it| it.starts_with("MAIL"));
        assert!(!told && server.message_count() == 0, "{name}: nothing of the message is said");
        server.set(Behaviour::new().start_tls(authority.issue(&["127.0.0.1"])));
    }
    fixture.run_until(NOW.after(MINUTE * 10)).await;
    for ((name, server), id) in servers.iter().zip(&ids) {
        let details = fixture.until_state(*id, "relayed").await;
        let tls = details.attempts.last().and_then(|it| it.tls.clone()).unwrap_or_default();
        assert!(tls.ends_with("verified") && !tls.contains("unverified"), "{name}: {tls}");
        assert!(server.messages()[0].tls, "{name}");
    }
    fixture.finish().await;
}

#[tokio::test]
async fn where_tls_is_welcome_mail_goes_in_one_attempt_whatever_fails() {
    let authority = Authority::new();
    let started = failing(&authority).into_iter();
    let servers: Vec<_> =
        started.map(|(name, it, tls)| ((name, MxServer::start(it)), tls)).collect();
    let (servers, expected): (Vec<_>, Vec<_>) = servers.into_iter().unzip();
    let fixture = fixture(&servers, Security::Opportunistic, authority.pem()).await;
    for ((name, server), expected) in servers.iter().zip(expected) {
        let id = fixture.send(&format!("ada@{name}.example")).await;
        let details = fixture.after_attempts(id, 1).await;
        assert_eq!(details.row.state.as_str(), "relayed", "{name}: {}", details.row.reason);
        assert_eq!(server.messages()[0].tls, expected == Tls::Unverified, "{name}");
        let tls = details.attempts[0].tls.clone().unwrap_or_default();
        assert_eq!(tls.contains("unverified"), expected == Tls::Unverified, "{name}: {tls}");
    }
    fixture.finish().await;
}

#[tokio::test]
async fn a_password_is_said_under_tls_only_and_stands_in_no_record() {
    let authority = Authority::new();
    let good = || Behaviour::new().login("user", "pa55word");
    let certificate = || authority.issue(&["127.0.0.1"]);
    let refused = |fault| good().start_tls(certificate()).start_tls_fails(fault);
    let opportunistic = Security::Opportunistic;
    let servers = [
        ("implicit", Security::Implicit, good().implicit_tls(certificate()), "relayed"),
        ("upgraded", Security::Verified, good().start_tls(certificate()).demand_tls(), "relayed"),
        ("not-offered", opportunistic, good(), "deferred"),
        ("refused", opportunistic, refused(StartTlsFault::Refused), "deferred"),
        ("garbage", opportunistic, refused(StartTlsFault::Garbage), "deferred"),
        ("closes", opportunistic, refused(StartTlsFault::Closes), "deferred"),
        ("wrong", Security::Implicit, good().implicit_tls(certificate()), "deferred"),
    ];
    let servers = servers.map(|(name, security, it, state)| {
        let server = MxServer::start(it);
        let password = if name == "wrong" { "another pa55word" } else { "pa55word" };
        let login = Login { user: "user".to_owned(), password: Password::new(password) };
        let only = Smarthost { security, login: Some(login), ..smarthost(name, &server) };
        (name, server, only, state, security)
    });
    let rule = |(name, _, only, ..): &(&str, MxServer, Smarthost, &str, Security)| {
        let recipients = vec![format!("{name}.example").parse().expect("a domain")];
        Rule { accounts: Vec::new(), recipients, route: Route::Smarthosts([only.clone()].into()) }
    };
    let rules = servers.iter().map(rule).collect();
    let setup = Setup { rules, ca: Some(authority.pem()), ..Setup::route(Route::Direct) };
    let fixture = Fixture::new(setup).await;
    for (name, server, _, state, security) in &servers {
        let id = fixture.send(&format!("ada@{name}.example")).await;
        let details = fixture.after_attempts(id, 1).await;
        assert_eq!(details.row.state.as_str(), *state, "{name}: {}", details.row.reason);
        let users: Vec<_> = server.messages().into_iter().filter_map(|it| it.user).collect();
        assert_eq!(users.len(), usize::from(*state == "relayed"), "{name}");
        let in_clear = server.commands().iter().any(|it| it.starts_with("AUTH"));
        assert!(*security != opportunistic || !in_clear, "{name}: no login without encryption");
        let conversation = &details.attempts[0].conversation;
        for secret in ["pa55word", "AHVzZXIAcGE1NXdvcmQ=", "cGE1NXdvcmQ="] {
            assert!(!conversation.contains(secret), "{name}: {conversation}");
        }
    }
    fixture.finish().await;
}
