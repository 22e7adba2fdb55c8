//! Bad requests, too many at once, and the worst moments.

use std::time::Duration;

use futures_util::future::{join, join_all};
use reqwest::Method;
use serde_json::{Value, json};
use waxwing_dns::Fault;
use waxwing_tests::{Answer, Launch, Server, name_server, until_async};

use super::{holder, lab, patient_lab, send};
use crate::fixture::Database;

const SOON: Duration = Duration::from_mins(1);

/// Sends a body as it is.
async fn post(server: &Server, kind: &str, body: impl Into<reqwest::Body>) -> Answer {
    let request = server.request(Method::POST, "/v1/domains").header("x-api-key", server.key());
    server.answer(request.header("content-type", kind).body(body)).await
}

async fn domains(server: &Server) -> usize {
    let list = server.domains(Method::GET, server.key(), "", &Value::Null).await;
    list.body["data"].as_array().expect("a list").len()
}

#[tokio::test]
async fn every_bad_body_has_all_of_its_faults_told_at_once() {
    let (dns, server) = lab().await;
    for (body, faults) in [
        (json!({}), &["name"][..]),
        (json!({"name": null}), &["name"]),
        (json!({"name": 5}), &["name"]),
        (json!({"name": ["a.example"]}), &["name"]),
        (json!({"name": "a.example", "sandbox": "yes"}), &["sandbox"]),
        (json!({"name": "a.example", "sandbox": 1}), &["sandbox"]),
        (json!({"sandbox": []}), &["name", "sandbox"]),
        (json!({"name": "", "sandbox": {}}), &["name", "sandbox"]),
        (json!([]), &[""]),
        (json!("a.example"), &[""]),
    ] {
        server.domains(Method::POST, server.key(), "", &body).await.assert_faults(faults);
    }
    let long = |label: usize| format!("{}.example", "a".repeat(label));
    for name in [
        "",
        " ",
        ".",
        "..",
        "a..example",
        ".example.com",
        "localhost",
        "example",
        "a b.example",
        " a.example",
        "a.example ",
        "a.example\n",
        "a\u{0}.example",
        "\u{0}",
        "a_b.example",
        "-a.example",
        "a-.example",
        "1.2.3.4",
        "[::1]",
        "::1",
        "a.example:25",
        "a.example/x",
        "http://a.example",
        "x@a.example",
        "../../etc/passwd",
        "*.example",
        "_dmarc.a.example",
        "a.example\r\nX: y",
        "xn--.example",
        "xn--zzzzzzz.example",
        "\u{202e}moc.example",
        "\u{fffd}.example",
        "a.123",
    ] {
        let answer = server.try_add_domain(server.key(), name).await;
        answer.assert_faults(&["name"]);
    }
    for name in
        [long(64), long(300), "a.".repeat(130) + "example", "\u{4e00}".repeat(60) + ".example"]
    {
        server.try_add_domain(server.key(), &name).await.assert_faults(&["name"]);
    }
    for body in [
        "",
        "{",
        "nonsense",
        "{\"name\": \"a.example\"",
        "{\"name\":\"a.example\",\"name\":\"b.example\"}",
    ] {
        post(&server, "application/json", body).await.assert_refused(400, "BAD_REQUEST");
    }
    post(&server, "text/plain", "{}").await.assert_refused(415, "UNSUPPORTED_MEDIA_TYPE");
    let large = format!("{{\"name\": \"{}\"}}", "a".repeat(30 << 20));
    post(&server, "application/json", large).await.assert_refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(domains(&server).await, 1, "nothing was added");
    assert_eq!(dns.query_count(), 0, "and nothing was asked");
}

#[tokio::test]
async fn a_path_or_query_that_means_nothing_is_answered_in_the_one_shape() {
    let (_dns, server) = lab().await;
    let long = "a".repeat(4_000);
    for which in [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "%ff%fe",
        "dom_",
        "dom_x",
        "%20",
        "'%3b--",
        "dom_01ARZ3NDEKTSV4RRFFQ69G5FA",
        "DOM_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "%C3%28",
        long.as_str(),
    ] {
        for (method, verb) in [(Method::GET, ""), (Method::POST, "/check"), (Method::DELETE, "")] {
            let path = format!("/v1/domains/{which}{verb}");
            let request = server.request(method, &path).header("x-api-key", server.key());
            let answer = server.answer(request).await;
            assert!([400, 404, 405, 414].contains(&answer.status), "{path}: {}", answer.body);
            assert!(answer.body.to_string().len() < 2_000, "what is long is not repeated");
        }
    }
    for query in
        ["?limit=x", "?limit=-1", "?after=dom_x", "?after=", "?other=1", "?limit=1&limit=2"]
    {
        let path = format!("/v1/domains{query}");
        let request = server.request(Method::GET, &path).header("x-api-key", server.key());
        server.answer(request).await.assert_refused(400, "BAD_REQUEST");
    }
    let request = server.request(Method::PUT, "/v1/domains").header("x-api-key", server.key());
    server.answer(request).await.assert_refused(405, "METHOD_NOT_ALLOWED");
}

#[tokio::test]
async fn an_account_that_has_too_much_under_way_waits_and_no_other_does() {
    let (dns, server) = patient_lab().await;
    let (ann, bob) = (holder(&server), holder(&server));
    let names: Vec<String> = (0..5).map(|n| format!("busy{n}.example")).collect();
    for name in &names {
        server.add_domain(&ann.key, name).await.publish(&dns);
    }
    server.add_domain(&bob.key, "calm.example").await.publish(&dns);
    dns.forget_queries();
    for name in &names {
        dns.fault(name, Fault::Slow(Duration::from_secs(3)));
    }
    let check = |name: &String| {
        let below = format!("/{name}/check");
        let (server, key) = (&server, ann.key.as_str());
        async move { server.domains(Method::POST, key, &below, &Value::Null).await }
    };
    let (answers, calm) =
        join(join_all(names.iter().map(check)), server.check_domain(&bob.key, "calm.example"))
            .await;
    assert_eq!(calm.state(), "verified");
    let (done, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|it| it.status == 200);
    assert_eq!((done.len(), refused.len()), (4, 1), "{answers:?}");
    refused[0].assert_refused(429, "RATE_LIMITED");
    assert!(refused[0].header("retry-after").is_some());
    // A moment later there is room again.
    assert_eq!(check(&names[0]).await.status, 200);
}

#[tokio::test]
async fn the_name_server_never_has_more_at_once_than_it_is_set_to() {
    let dns = name_server().await;
    let launch = Launch::asking(&dns).with("dns", "concurrent", "3");
    let server = Server::start(launch.with("dns", "timeout_ms", "20000"));
    let names: Vec<String> = (0..4).map(|n| format!("bound{n}.example")).collect();
    for name in &names {
        server.add_domain(server.key(), name).await.publish(&dns);
    }
    dns.fault_everything(Some(Fault::Slow(Duration::from_millis(30))));
    let checks = names.iter().map(|name| server.check_domain(server.key(), name));
    for domain in join_all(checks).await {
        assert_eq!(domain.state(), "verified");
    }
    assert_eq!(dns.most_at_once(), 3, "they were as many as may be, and no more");
}

#[tokio::test]
async fn the_same_domain_added_many_times_at_once_is_there_once() {
    let (_dns, server) = lab().await;
    let add = || server.try_add_domain(server.key(), "once.example");
    let answers = join_all((0..4).map(|_| add())).await;
    let mut statuses: Vec<u16> = answers.iter().map(|it| it.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409]);
    assert_eq!(domains(&server).await, 2);
    let database = Database::of(&server).await;
    assert_eq!(database.number("SELECT count(*) FROM dkim_keys").await, 2);
}

#[tokio::test]
async fn a_domain_that_is_deleted_while_it_is_checked_stays_deleted() {
    let (dns, server) = patient_lab().await;
    let (key, name) = (server.key(), "fleeting.example");
    for round in 0..3 {
        dns.clear(name);
        let domain = server.add_domain(key, name).await;
        domain.publish(&dns);
        dns.forget_queries();
        dns.fault(name, Fault::Slow(Duration::from_secs(3)));
        let below = format!("/{name}/check");
        let check = server.domains(Method::POST, key, &below, &Value::Null);
        let delete = async {
            let asked = || async { (dns.query_count() > 0).then_some(()) };
            until_async("the check is under way", SOON, asked).await;
            server.delete_domain(key, name).await;
        };
        let (checked, ()) = join(check, delete).await;
        checked.assert_refused(404, "NOT_FOUND");
        super::assert_unknown(&server, key, name).await;
        let below = format!("/{}", domain.text("id"));
        let gone = server.domains(Method::GET, key, &below, &Value::Null).await;
        assert_eq!(gone.status, 404, "round {round}");
        domain.required().iter().for_each(|it| it.withdraw(&dns));
    }
    let database = Database::of(&server).await;
    for table in ["SELECT count(*) FROM domain_checks", "SELECT count(*) FROM dkim_keys"] {
        assert_eq!(database.number(table).await, 0, "{table}");
    }
    let events = "SELECT count(*) FROM events WHERE type BETWEEN 20 AND 29";
    assert_eq!(database.number(events).await, 0);
}

#[tokio::test]
async fn kill_9_in_the_middle_of_checks_loses_nothing() {
    let (dns, mut server) = lab().await;
    let key = server.key().to_owned();
    let mut before = Vec::new();
    for n in 0..4 {
        let name = format!("killed{n}.example");
        let domain = if n % 2 == 0 {
            server.verified_domain(&dns, &key, &name).await
        } else {
            let domain = server.add_domain(&key, &name).await;
            domain.publish(&dns);
            domain
        };
        before.push(domain);
    }
    for pause in [0, 30, 300] {
        dns.forget_queries();
        dns.fault_everything(Some(Fault::Slow(Duration::from_millis(pause))));
        let checks = join_all(before.iter().map(|domain| {
            let path = format!("/v1/domains/{}/check", domain.text("id"));
            let request = server.request(Method::POST, &path).header("x-api-key", &key);
            async { drop(request.send().await) }
        }));
        let kill = async {
            let asked = || async { (dns.query_count() > 4).then_some(()) };
            until_async("the checks are under way", SOON, asked).await;
            server.signal("KILL");
        };
        join(checks, kill).await;
        server.wait_for_exit();
        Database::of(&server).await.assert_sound().await;
        server.restart();
        for domain in &before {
            let after = server.domain(&key, domain.text("id")).await;
            for part in ["records", "dkim"] {
                let value = |it: &Value| it.as_array().expect("a list").len();
                assert_eq!(value(&after.0[part]), value(&domain.0[part]));
            }
            assert_eq!(after.selectors("signing"), domain.selectors("signing"));
            let told = after.events().len();
            assert_eq!(told, usize::from(after.state() == "verified"), "{after:#?}");
        }
    }
    dns.fault_everything(None);
    for domain in &before {
        let name = domain.text("name");
        let after = server.check_domain(&key, name).await;
        assert_eq!((after.state(), after.events()), ("verified", vec!["domain.verified"]));
        send(&server, &key, name, "ada@example.com").await;
    }
}
