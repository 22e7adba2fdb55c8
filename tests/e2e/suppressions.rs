//! Addresses that an account sends nothing more to, from its holder's view.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Account, Answer, Server, assert_problem, from_now, until_async};

use crate::fixture::{Database, change, message};

fn holder(server: &Server) -> Account {
    let account = server.open_account("pro", 1_000);
    let (key_id, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
    Account { key_id, key, ..account }
}

async fn ask(server: &Server, method: Method, key: &str, below: &str) -> Answer {
    let request = server.request(method, &format!("/v1/suppressions{below}"));
    server.answer(request.header("x-api-key", key)).await
}

async fn add(server: &Server, key: &str, body: &Value) -> Answer {
    server.post("/v1/suppressions", key, body, &[]).await
}

async fn state(server: &Server, key: &str, to: &str) -> Value {
    server.send(key, &message(to)).await.body["state"].clone()
}

fn addresses(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().expect("a list");
    data.iter().filter_map(|it| it["address"].as_str()).collect()
}

#[tokio::test]
async fn an_address_is_suppressed_from_the_answer_on_until_its_removal() {
    let server = Server::dev();
    let ann = holder(&server);
    for round in 0..3 {
        assert_eq!(state(&server, &ann.key, "Ada@example.com").await, "queued", "{round}");
        // A message that still waits when its address is suppressed is refunded.
        server.wait_for_mails(round + 1).await;
        let body = json!({"address": "ADA@Example.com", "reason": "moved away"});
        let added = add(&server, &ann.key, &body).await;
        assert_eq!((added.status, &added.body["address"]), (201, &json!("ada@example.com")));
        assert_eq!(
            (&added.body["kind"], &added.body["reason"]),
            (&json!("manual"), &json!("moved away"))
        );
        assert_eq!(added.body["expiresAt"], Value::Null);
        assert_eq!(add(&server, &ann.key, &body).await.status, 200, "it is there already");
        assert_eq!(state(&server, &ann.key, "Ada@example.com").await, "suppressed");
        let shown = ask(&server, Method::GET, &ann.key, "/ada%40EXAMPLE.com").await;
        assert_eq!(shown.body["address"], "ada@example.com");
        let gone = ask(&server, Method::DELETE, &ann.key, "/Ada@example.com").await;
        assert_eq!(
            (&gone.body["address"], &gone.body["deleted"]),
            (&json!("ada@example.com"), &json!(true))
        );
        for method in [Method::GET, Method::DELETE] {
            ask(&server, method, &ann.key, "/ada@example.com")
                .await
                .assert_refused(404, "NOT_FOUND");
        }
    }
    assert_eq!(server.balance(&ann.id), 997);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn a_removal_is_undone_as_it_was_by_the_account_alone() {
    let server = Server::dev();
    let (ann, eve) = (holder(&server), holder(&server));
    let body = json!({"address": "ada@example.com", "reason": "moved away"});
    assert_eq!(add(&server, &ann.key, &body).await.status, 201);
    let (id, complained) = (server.in_sql(&ann.id), "UPDATE suppressions SET kind = 'complaint'");
    change(&server, &format!("{complained} WHERE account_id = {id}")).await;
    let before = ask(&server, Method::GET, &ann.key, "/ada@example.com").await.body;
    let removed = ask(&server, Method::DELETE, &ann.key, "/ada@example.com").await.body;
    let undo = json!({"undo": removed["undo"]});
    let restore = async |key: &str, body: &Value| {
        server.post("/v1/suppressions/restore", key, body, &[]).await
    };
    restore(&eve.key, &undo).await.assert_faults(&["undo"]);
    restore(&ann.key, &json!({"undo": "made up"})).await.assert_faults(&["undo"]);
    restore(&ann.key, &json!({})).await.assert_faults(&["undo"]);
    assert!(addresses(&ask(&server, Method::GET, &ann.key, "").await.body).is_empty());
    let restored = restore(&ann.key, &undo).await;
    assert_eq!(restored.status, 200, "{}", restored.body);
    assert_eq!(addresses(&restored.body), ["ada@example.com"]);
    let after = ask(&server, Method::GET, &ann.key, "/ada@example.com").await.body;
    for member in ["kind", "reason", "expiresAt", "messageId"] {
        assert_eq!(after[member], before[member], "{member}: {after}");
    }
    assert_eq!(state(&server, &ann.key, "ada@example.com").await, "suppressed");
}

#[tokio::test]
async fn an_address_with_an_end_is_off_the_list_by_itself() {
    let server = Server::dev();
    let ann = holder(&server);
    let soon = from_now(Duration::from_secs(10));
    let body = json!({"address": "a@example.com", "expiresAt": soon});
    assert_eq!(add(&server, &ann.key, &body).await.status, 201);
    assert_eq!(state(&server, &ann.key, "a@example.com").await, "suppressed");
    let over = || async {
        let shown = ask(&server, Method::GET, &ann.key, "/a@example.com").await;
        (shown.status == 404).then_some(())
    };
    until_async("it is over", Duration::from_mins(1), over).await;
    assert_eq!(state(&server, &ann.key, "a@example.com").await, "queued");
    let list = ask(&server, Method::GET, &ann.key, "").await;
    assert_eq!(list.body, json!({"data": [], "hasMore": false}));
}

#[tokio::test]
async fn a_batch_takes_what_is_right_and_says_of_each_what_is_wrong() {
    let server = Server::dev();
    let ann = holder(&server);
    let body = json!({"data": [
        {"address": "b@example.com"}, {"address": "nobody"}, {"address": "a/slash@example.com", "colour": 1},
        {"address": "b@example.com", "expiresAt": "2020-01-01T00:00:00Z"}, 7,
    ]});
    let answer = server.post("/v1/suppressions/batch", &ann.key, &body, &[]).await;
    assert_eq!((answer.status, &answer.body["success"]), (200, &json!(false)));
    let results = answer.body["data"].as_array().expect("results");
    assert_eq!(results.len(), 5);
    for wrong in [1, 3, 4] {
        assert_problem(&results[wrong], 400);
    }
    assert_eq!(results[2]["warnings"].as_array().map(Vec::len), Some(1));
    let list = ask(&server, Method::GET, &ann.key, "").await.body;
    assert_eq!(addresses(&list), ["a/slash@example.com", "b@example.com"]);
    let gone = ask(&server, Method::DELETE, &ann.key, "/a%2Fslash@example.com").await;
    assert_eq!(gone.status, 200);

    let many: Vec<Value> =
        (0..1_000).map(|n| json!({"address": format!("n{n:04}@example.com")})).collect();
    let answer = server.post("/v1/suppressions/batch", &ann.key, &json!({"data": many}), &[]).await;
    assert_eq!((answer.status, &answer.body["success"]), (200, &json!(true)));
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = ask(&server, Method::GET, &ann.key, &format!("?limit=300{after}")).await.body;
        found.extend(addresses(&page).into_iter().map(str::to_owned));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(found.len(), 1_001);
    assert!(found.is_sorted());
    for faulty in [json!({"data": []}), json!([]), json!({"data": vec![json!({}); 1_001]})] {
        let answer = server.post("/v1/suppressions/batch", &ann.key, &faulty, &[]).await;
        answer.assert_faults(&["data"]);
    }
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_filters_take_what_they_say() {
    let server = Server::dev();
    let ann = holder(&server);
    for (body, fields) in [
        (json!({}), &["address"][..]),
        (
            json!({"address": 5, "reason": 7, "expiresAt": "soon"}),
            &["address", "reason", "expiresAt"],
        ),
        (json!({"address": "a@example.com", "reason": "x".repeat(501)}), &["reason"]),
        (json!([]), &[""]),
    ] {
        add(&server, &ann.key, &body).await.assert_faults(fields);
    }
    let plain = server.request(Method::POST, "/v1/suppressions").header("x-api-key", &ann.key);
    server.answer(plain.body("x")).await.assert_refused(415, "UNSUPPORTED_MEDIA_TYPE");
    add(&server, &ann.key, &json!({"address": "a@example.com"})).await;
    add(&server, &ann.key, &json!({"address": "b@example.com"})).await;
    let list = async |query: &str| ask(&server, Method::GET, &ann.key, query).await;
    assert_eq!(addresses(&list("?kind=manual").await.body), ["a@example.com", "b@example.com"]);
    assert!(addresses(&list("?kind=bounce").await.body).is_empty());
    assert_eq!(addresses(&list("?address=B@EXAMPLE.com").await.body), ["b@example.com"]);
    assert!(addresses(&list("?address=c@example.com").await.body).is_empty());
    assert_eq!(addresses(&list("?after=a@example.com").await.body), ["b@example.com"]);
    list("?kind=anger").await.assert_faults(&["kind"]);
    list("?address=x").await.assert_faults(&["address"]);
    list("?colour=red").await.assert_refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn a_list_is_its_accounts_own_and_that_of_the_whole_account() {
    let server = Server::dev();
    let (ann, bob) = (holder(&server), holder(&server));
    add(&server, &ann.key, &json!({"address": "a@example.com"})).await;
    assert!(addresses(&ask(&server, Method::GET, &bob.key, "").await.body).is_empty());
    for method in [Method::GET, Method::DELETE] {
        let answer = ask(&server, method, &bob.key, "/a@example.com").await;
        answer.assert_refused(404, "NOT_FOUND");
    }
    assert_eq!(state(&server, &bob.key, "a@example.com").await, "queued");
    let (_, sends) = server.make_key(&ann.id, &["--scope", "send"]);
    let (_, some) = server.make_key(&ann.id, &["--scope", "admin", "--domain", "sandbox.test"]);
    for key in [&sends, &some] {
        for (method, below) in
            [(Method::GET, ""), (Method::GET, "/a@example.com"), (Method::DELETE, "/a@example.com")]
        {
            ask(&server, method, key, below).await.assert_refused(403, "FORBIDDEN");
        }
        let body = json!({"address": "b@example.com"});
        add(&server, key, &body).await.assert_refused(403, "FORBIDDEN");
    }
    assert_eq!(state(&server, &ann.key, "a@example.com").await, "suppressed");
}

#[tokio::test]
async fn the_command_line_does_the_same() {
    let server = Server::dev();
    let ann = holder(&server);
    let of = |verb: &'static str| ["suppression", verb, "--account", &ann.id].map(str::to_owned);
    let cli = |verb: &'static str, further: &[&str]| {
        let all = of(verb);
        let all: Vec<&str> =
            all.iter().map(String::as_str).chain(further.iter().copied()).collect();
        server.cli(&all)
    };
    let added = cli("add", &["Ada@example.com", "--reason", "asked for it"]);
    assert_eq!(
        (&added["address"], &added["reason"]),
        (&json!("ada@example.com"), &json!("asked for it"))
    );
    let over_http = ask(&server, Method::GET, &ann.key, "/ada@example.com").await;
    assert_eq!(over_http.body, added);
    assert_eq!(cli("list", &[]), json!([added]));
    assert_eq!(cli("list", &["--kind", "bounce"]), json!([]));
    assert_eq!(cli("show", &["ADA@example.com"]), added);
    assert_eq!(state(&server, &ann.key, "ada@example.com").await, "suppressed");
    assert_eq!(cli("remove", &["ada@example.com"])["deleted"], true);
    assert_eq!(state(&server, &ann.key, "ada@example.com").await, "queued");
    let arguments = of("remove");
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.push("ada@example.com");
    assert!(server.cli_fails(&arguments).contains("no suppression"));
}
