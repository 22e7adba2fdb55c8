//! `waxwing domain`: all of it from the command line, beside a server that runs.

use serde_json::{Value, json};
use waxwing_tests::{Domain, Server};

use super::{assert_not_verified, lab, send};

/// A command about one domain of the account of `dev`.
fn domain(server: &Server, verb: &str, name: &str) -> Domain {
    Domain(server.cli(&["domain", verb, "--account", server.dev_output("accountId"), name]))
}

#[tokio::test]
async fn a_domain_is_added_published_checked_rotated_and_deleted_by_commands() {
    let (dns, server) = lab().await;
    let (key, name) = (server.key(), "command.example");
    let added = domain(&server, "add", name);
    assert_eq!((added.state(), added.progress()), ("pending", 0));
    assert_eq!(added, server.domain(key, name).await, "the API shows the same");
    let records = domain(&server, "records", name).0;
    assert_eq!(records, added.0["records"]);
    assert_not_verified(&server, key, &added).await;

    let required = added.required();
    required[0].publish(&dns);
    required[1].publish(&dns);
    for (record, progress) in [(&required[2], 50), (&required[3], 75)] {
        assert_eq!(domain(&server, "check", name).progress(), progress);
        record.publish(&dns);
    }
    let verified = domain(&server, "check", name);
    assert_eq!((verified.state(), verified.progress()), ("verified", 100));
    assert_eq!(verified.events(), ["domain.verified"]);
    assert_eq!(domain(&server, "show", name), verified);
    // It holds for the very next request of the server that runs.
    send(&server, key, name, "ada@example.com").await;
    let list = server.cli(&["domain", "list", "--account", server.dev_output("accountId")]);
    let line = list.as_array().expect("a list").iter().find(|it| it["name"] == name);
    let line = line.expect("it is listed").as_object().expect("an object");
    assert!(line.iter().all(|(field, value)| verified.0[field] == *value), "{line:?}");

    let rotated = domain(&server, "rotate", name);
    assert_eq!(rotated.selectors("next").len(), 2);
    rotated.publish(&dns);
    let switched = domain(&server, "check", name);
    assert_eq!(switched.selectors("signing"), rotated.selectors("next"));
    send(&server, key, name, "bob@example.com").await;
    let mail = server.wait_for_mail_to("bob@example.com").await;
    let raw = String::from_utf8(server.raw_mail(&mail).await).expect("ASCII");
    for selector in switched.selectors("signing") {
        assert!(raw.contains(&format!("s={selector}")), "{raw}");
    }

    let gone = domain(&server, "delete", name);
    assert_eq!(gone.0, json!({"id": added.0["id"], "name": name, "deleted": true}));
    super::assert_unknown(&server, key, name).await;
    let account = server.dev_output("accountId");
    for verb in ["show", "records", "check", "rotate", "delete"] {
        let error = server.cli_fails(&["domain", verb, "--account", account, name]);
        assert!(error.starts_with("error: ") && error.contains(name), "{verb}: {error}");
    }
}

#[tokio::test]
async fn people_are_told_what_to_publish_and_what_is_amiss() {
    let (dns, server) = lab().await;
    let account = server.dev_output("accountId");
    let say = |verb| server.cli_text(&["domain", verb, "--account", account, "words.example"]);
    let added = say("add");
    assert!(added.contains("words.example  pending  0% verified"), "{added}");
    let shown = server.domain(server.key(), "words.example").await;
    // A long text is in several strings.
    let zone = added.replace("\" \"", "").replace('"', "");
    for record in shown.records() {
        let [name, kind, value] = [record.name(), record.text("type"), record.value()];
        let entry = format!("{name}. 3600 IN {kind} {value}");
        assert!(zone.lines().any(|it| it.trim_end_matches('.') == entry), "{entry} in {added}");
    }
    assert!(added.lines().all(|it| it.starts_with("; ") || it.contains(" 3600 IN ")), "{added}");
    assert_eq!(added.matches("required").count(), 4, "{added}");
    assert_eq!(added.matches("advised ").count(), 2, "{added}");
    shown.required()[0].publish(&dns);
    dns.cname("bounce.words.example", "elsewhere.example");
    let checked = say("check");
    assert!(checked.contains("words.example  pending  25% verified"), "{checked}");
    for words in ["satisfied", "missing", "wrong", "points to `elsewhere.example`"] {
        assert!(checked.contains(words), "{words} in: {checked}");
    }
    let records = say("records");
    assert!(records.contains("elsewhere.example") && !records.contains("verified\n"), "{records}");
    let list = server.cli_text(&["domain", "list", "--account", account]);
    assert_eq!(list.lines().count(), 2, "{list}");
    assert_eq!(say("delete").trim(), "words.example is removed");
}

#[tokio::test]
async fn what_a_command_cannot_do_it_says() {
    let (_dns, server) = lab().await;
    let account = server.dev_output("accountId").to_owned();
    drop(domain(&server, "add", "here.example"));
    for (arguments, words) in [
        (vec!["add", "--account", &account, "here.example"], "already"),
        (vec!["add", "--account", &account, "HERE.example"], "already"),
        (vec!["add", "--account", &account, "no dots"], "no dots"),
        (vec!["add", "--account", &account, "co.uk"], "public suffix"),
        (vec!["add", "--account", "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV", "x.example"], "acc_01ARZ3"),
        (vec!["check", "--account", &account, "there.example"], "there.example"),
        (vec!["check", "--account", "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV", "here.example"], "here.ex"),
        (vec!["rotate", "--account", &account, "sandbox.test"], "no DKIM keys"),
    ] {
        let error = server.cli_fails(&[&["domain"], &arguments[..]].concat());
        assert!(error.starts_with("error: ") && error.contains(words), "{arguments:?}: {error}");
    }
    let list = server.cli(&["domain", "list", "--account", &account]);
    assert_eq!(list.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn commands_and_the_server_may_check_a_domain_at_the_same_time() {
    let (dns, server) = lab().await;
    let (key, name) = (server.key(), "together.example");
    server.add_domain(key, name).await.publish(&dns);
    let by_command = || {
        let (account, server) = (server.dev_output("accountId").to_owned(), &server);
        move || server.cli(&["domain", "check", "--account", &account, name])
    };
    let commands: Vec<Value> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..3).map(|_| scope.spawn(by_command())).collect();
        running.into_iter().map(|it| it.join().expect("no panic")).collect()
    });
    let by_request = futures_util::future::join_all((0..3).map(|_| server.check_domain(key, name)));
    for domain in commands.into_iter().map(Domain).chain(by_request.await) {
        assert_eq!((domain.state(), domain.progress()), ("verified", 100));
    }
    let domain = server.domain(key, name).await;
    assert_eq!(domain.events(), ["domain.verified"], "it has happened once");
}
