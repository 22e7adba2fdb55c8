//! Whose keys may see and do what.

use super::*;

/// Everything that can be asked of a message.
const ALL: [(Method, &str); 7] = [
    (Method::GET, ""),
    (Method::GET, "/events"),
    (Method::GET, "/attempts"),
    (Method::GET, "/raw"),
    (Method::GET, "/why"),
    (Method::POST, "/cancel"),
    (Method::POST, "/resend"),
];

#[tokio::test]
async fn another_accounts_message_is_not_there() {
    let server = Server::dev();
    let (ann, bob) = (holder(&server, 10), holder(&server, 10));
    let id = send_tomorrow(&server, &ann.key, "a@example.com").await;
    let before = get(&server, &ann.key, &format!("/{id}")).await;
    let unknown = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (method, verb) in ALL {
        for which in [id.as_str(), unknown, "rubbish", id.trim_start_matches("msg_")] {
            let answer = ask(&server, method.clone(), &bob.key, &format!("/{which}{verb}")).await;
            answer.assert_refused(404, "NOT_FOUND");
            let text = answer.body["message"].as_str().expect("a message");
            assert_eq!(text, format!("the account has no message `{which}`"));
        }
    }
    assert!(ids(&get(&server, &bob.key, "").await).is_empty());
    assert!(ids(&get(&server, &bob.key, &format!("?after={id}")).await).is_empty());
    assert_eq!(get(&server, &ann.key, &format!("/{id}")).await, before, "nothing has happened");
    assert_eq!((server.balance(&ann.id), server.balance(&bob.id)), (9, 10));
}

#[tokio::test]
async fn only_a_key_of_scope_admin_sees_messages() {
    let server = Server::dev();
    let ann = holder(&server, 10);
    let id = send_tomorrow(&server, &ann.key, "a@example.com").await;
    let (_, sends) = server.make_key(&ann.id, &["--scope", "send"]);
    let (_, operates) = server.make_key(&ann.id, &["--scope", "operator"]);
    let nobody = "wx_live_00000000_00000000000000000000000000000000";
    for (key, status, code) in [
        (sends.as_str(), 403, "FORBIDDEN"),
        (&operates, 403, "FORBIDDEN"),
        ("", 401, "UNAUTHORIZED"),
        (nobody, 401, "UNAUTHORIZED"),
    ] {
        for (method, verb) in ALL {
            let answer = ask(&server, method, key, &format!("/{id}{verb}")).await;
            answer.assert_refused(status, code);
        }
        ask(&server, Method::GET, key, "").await.assert_refused(status, code);
    }
    assert_eq!(get(&server, &ann.key, &format!("/{id}")).await["state"], "scheduled");
}

#[tokio::test]
async fn a_key_for_some_domains_or_templates_passes_over_the_other_messages() {
    let server = Server::dev();
    let ann = holder(&server, 100);
    drop(server.cli(&["domain", "add", "--account", &ann.id, "other.test", "--sandbox"]));
    drop(server.cli(&[
        "template",
        "create",
        "--account",
        &ann.id,
        "--slug",
        "welcome",
        "--starter",
    ]));
    let mine = server.send(&ann.key, &message("a@example.com")).await.message_id();
    let other = with(message("b@example.com"), "from", json!("me@other.test"));
    let other = server.send(&ann.key, &other).await.message_id();
    until_state(&server, &ann.key, &mine, "delivered").await;
    for limits in [["--domain", "sandbox.test"], ["--domain", "other.test"]] {
        let (_, key) = server.make_key(&ann.id, &["--scope", "admin", limits[0], limits[1]]);
        let (seen, hidden) =
            if limits[1] == "sandbox.test" { (&mine, &other) } else { (&other, &mine) };
        assert_eq!(ids(&get(&server, &key, "").await), [seen]);
        drop(get(&server, &key, &format!("/{seen}")).await);
        for (method, verb) in ALL {
            let answer = ask(&server, method, &key, &format!("/{hidden}{verb}")).await;
            answer.assert_refused(403, "FORBIDDEN");
            assert!(!answer.body.to_string().contains("example.com"), "{}", answer.body);
        }
    }
    let (_, key) = server.make_key(&ann.id, &["--scope", "admin", "--template", "welcome"]);
    assert!(ids(&get(&server, &key, "").await).is_empty());
    ask(&server, Method::GET, &key, &format!("/{mine}")).await.assert_refused(403, "FORBIDDEN");
    let code = ["--scope", "admin", "--template", "verification-code"];
    let (_, key) = server.make_key(&ann.id, &code);
    assert_eq!(ids(&get(&server, &key, "").await).len(), 2);
    post(&server, &key, &format!("/{mine}/resend")).await.message_id();
    assert_eq!(server.balance(&ann.id), 97);
}
