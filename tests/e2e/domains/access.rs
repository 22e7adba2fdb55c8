//! Whose keys may do what with which domain.

use reqwest::Method;
use serde_json::Value;
use waxwing_tests::{Launch, Server, name_server};

use super::{holder, lab, mail};

/// Everything that can be asked of a domain.
const ALL: [(Method, &str); 4] =
    [(Method::GET, ""), (Method::POST, "/check"), (Method::POST, "/rotate"), (Method::DELETE, "")];

fn names(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().expect("a list");
    data.iter().filter_map(|it| it["name"].as_str()).collect()
}

#[tokio::test]
async fn another_accounts_domain_is_not_there() {
    let (dns, server) = lab().await;
    let (ann, bob) = (holder(&server), holder(&server));
    let domain = server.verified_domain(&dns, &ann.key, "private.example").await;
    let unknown = "dom_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (method, verb) in ALL {
        for which in [domain.text("id"), "private.example", unknown, "nowhere.example"] {
            let below = format!("/{which}{verb}");
            let answer = server.domains(method.clone(), &bob.key, &below, &Value::Null).await;
            answer.assert_refused(404, "NOT_FOUND");
            let message = answer.body["message"].as_str().expect("a message");
            assert_eq!(message, format!("the account has no domain `{which}`"));
        }
    }
    let list = server.domains(Method::GET, &bob.key, "", &Value::Null).await;
    assert_eq!(names(&list.body), ["sandbox.test"]);
    let below = format!("?after={}", domain.text("id"));
    let list = server.domains(Method::GET, &bob.key, &below, &Value::Null).await;
    assert!(names(&list.body).is_empty());
    assert_eq!(server.domain(&ann.key, "private.example").await, domain, "nothing has happened");
    let show = ["domain", "show", "--account", &bob.id, "private.example"];
    assert!(server.cli_fails(&show).contains("private.example"));
}

#[tokio::test]
async fn only_a_key_of_scope_admin_manages_domains() {
    let (_dns, server) = lab().await;
    let ann = holder(&server);
    let domain = server.add_domain(&ann.key, "scope.example").await;
    let (_, sends) = server.make_key(&ann.id, &["--scope", "send"]);
    let (_, operates) = server.make_key(&ann.id, &["--scope", "operator"]);
    for key in [sends.as_str(), &operates] {
        for (method, verb) in ALL {
            let below = format!("/scope.example{verb}");
            let answer = server.domains(method, key, &below, &Value::Null).await;
            answer.assert_refused(403, "FORBIDDEN");
        }
        server.domains(Method::GET, key, "", &Value::Null).await.assert_refused(403, "FORBIDDEN");
        server.try_add_domain(key, "more.example").await.assert_refused(403, "FORBIDDEN");
    }
    for key in ["", "wx_live_00000000_00000000000000000000000000000000"] {
        let answer = server.domains(Method::GET, key, "/scope.example", &Value::Null).await;
        answer.assert_refused(401, "UNAUTHORIZED");
        server.try_add_domain(key, "more.example").await.assert_refused(401, "UNAUTHORIZED");
    }
    assert_eq!(server.domain(&ann.key, "scope.example").await, domain);
}

#[tokio::test]
async fn a_key_for_some_domains_has_nothing_to_do_with_the_others() {
    let (dns, server) = lab().await;
    let ann = holder(&server);
    for name in ["a.example", "mine.example", "z.example"] {
        drop(server.verified_domain(&dns, &ann.key, name).await);
    }
    let mut arguments = vec!["--scope", "admin", "--scope", "send"];
    arguments.extend(["--domain", "mine.example", "--domain", "new.example"]);
    let (_, key) = server.make_key(&ann.id, &arguments);
    for (method, verb) in ALL {
        let below = format!("/z.example{verb}");
        let answer = server.domains(method, &key, &below, &Value::Null).await;
        answer.assert_refused(403, "FORBIDDEN");
        assert!(!answer.body.to_string().contains("_waxwing"), "{}", answer.body);
    }
    let id = server.domain(&ann.key, "z.example").await;
    let below = format!("/{}", id.text("id"));
    let by_id = server.domains(Method::GET, &key, &below, &Value::Null).await;
    by_id.assert_refused(403, "FORBIDDEN");
    server.try_add_domain(&key, "other.example").await.assert_refused(403, "FORBIDDEN");
    server.send(&key, &mail("z.example", "ada@example.com")).await.assert_refused(403, "FORBIDDEN");

    assert_eq!(server.check_domain(&key, "mine.example").await.state(), "verified");
    server.send(&key, &mail("mine.example", "ada@example.com")).await.message_id();
    drop(server.add_domain(&key, "new.example").await);
    assert_eq!(listed(&server, &key, 50).await, ["mine.example", "new.example"]);
    assert_eq!(listed(&server, &key, 1).await, ["mine.example", "new.example"]);
    server.delete_domain(&key, "new.example").await;
    assert_eq!(listed(&server, &key, 1).await, ["mine.example"]);
}

/// All pages of the list.
async fn listed(server: &Server, key: &str, limit: usize) -> Vec<String> {
    let (mut all, mut after): (Vec<Value>, _) = (Vec::new(), String::new());
    loop {
        let below = format!("?limit={limit}{after}");
        let page = server.domains(Method::GET, key, &below, &Value::Null).await.body;
        let data = page["data"].as_array().expect("a list").clone();
        assert!(data.len() <= limit, "{page}");
        let has_more = page["hasMore"] == true;
        assert!(!has_more || data.len() == limit, "a page with more behind it is full: {page}");
        all.extend(data);
        assert_eq!(has_more, page.get("next").is_some(), "{page}");
        let Some(next) = page["next"].as_str() else {
            let name = |it: &Value| it["name"].as_str().expect("a name").to_owned();
            return all.iter().map(name).collect();
        };
        after = format!("&after={next}");
    }
}

#[tokio::test]
async fn lists_come_in_pages_in_the_order_of_their_adding() {
    let (_dns, server) = lab().await;
    let mut names = vec!["sandbox.test".to_owned()];
    for n in (0..5).rev() {
        let name = format!("page{n}.example");
        drop(server.add_domain(server.key(), &name).await);
        names.push(name);
    }
    for limit in [1, 2, 5, 6, 50] {
        assert_eq!(listed(&server, server.key(), limit).await, names);
    }
    let all = server.domains(Method::GET, server.key(), "", &Value::Null).await;
    let none = server.domains(Method::GET, server.key(), "?limit=0", &Value::Null).await;
    none.assert_faults(&["limit"]);
    let shown = server.domain(server.key(), "page0.example").await;
    let line = &all.body["data"][5];
    for (field, value) in line.as_object().expect("an object") {
        assert_eq!(&shown.0[field], value, "a line of the list is a part of the whole");
    }
}

#[tokio::test]
async fn an_account_has_as_many_domains_as_the_operator_allows() {
    let dns = name_server().await;
    let server = Server::start(Launch::asking(&dns).with("domains", "per_account", "3"));
    let ann = holder(&server);
    for n in 0..2 {
        drop(server.add_domain(&ann.key, &format!("n{n}.example")).await);
    }
    let refused = server.try_add_domain(&ann.key, "n2.example").await;
    refused.assert_refused(403, "FORBIDDEN");
    let message = refused.body["message"].as_str().expect("a message");
    assert!(message.contains("3 domains") && message.contains("delete one first"), "{message}");
    let error = server.cli_fails(&["domain", "add", "--account", &ann.id, "n2.example"]);
    assert!(error.contains("3 domains"), "{error}");
    server.try_add_domain(&ann.key, "n1.example").await.assert_refused(409, "CONFLICT");
    server.delete_domain(&ann.key, "n0.example").await;
    drop(server.add_domain(&ann.key, "n2.example").await);
    assert_eq!(listed(&server, &ann.key, 9).await.len(), 3);
}
