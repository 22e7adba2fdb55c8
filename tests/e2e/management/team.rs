//! `/v1/team`: the people of an account, by its own keys and by an operator's, as the pages show them.

use serde_json::{Value, json};
use waxwing_tests::{Launch, Server};

use super::{delete, holder, operator, patch, post, status_of, text};
use crate::dashboard::Browser;
use crate::fixture::change;

/// The addresses of a team.
fn emails(team: &Value) -> Vec<String> {
    team["data"].as_array().expect("people").iter().map(|it| text(&it["email"])).collect()
}

#[tokio::test]
async fn a_key_of_the_account_invites_changes_and_removes_its_people() {
    let server = Server::dev();
    let account = holder(&server);
    let key = account.key.as_str();
    let nobody = json!({"data": [], "hasMore": false});
    assert_eq!(server.get_as(key, "/v1/team").await.body, nobody);
    let asked = json!({"email": "ada@example.com", "role": "owner", "colour": 1});
    let ada = post(&server, key, "/v1/team", asked.clone()).await;
    assert_eq!((ada.status, &ada.body["mailed"]), (201, &json!(false)), "{}", ada.body);
    let warnings = ada.body["warnings"].to_string();
    assert!(warnings.contains("sends no invitations") && warnings.contains("unknown field"));
    let (id, path) = (text(&ada.body["id"]), text(&ada.body["path"]));
    assert!(path.starts_with("/invite/"), "no mail is sent, so the account gets the link: {path}");
    assert_eq!(status_of(&server, &path).await, 200, "the link works");
    let team = server.get_as(key, "/v1/team").await.body;
    let shown = &team["data"][0];
    assert_eq!((&shown["id"], &shown["role"]), (&json!(id), &json!("owner")), "{team}");
    assert_eq!((&shown["hasPassword"], &shown["hasFactor"]), (&json!(false), &json!(false)));
    assert_eq!(shown["accepted"], json!(false), "nobody is in an account unasked: {team}");
    assert!(shown["invitedUntil"].is_string() && shown.get("path").is_none(), "told once: {team}");
    post(&server, key, "/v1/team", asked).await.assert_refused(409, "CONFLICT");

    let member = format!("/v1/team/{id}");
    let again = format!("{member}/invite");
    let soon = post(&server, key, &again, json!({})).await;
    assert!(soon.body.to_string().contains("was invited a moment ago"), "{}", soon.body);
    soon.assert_refused(429, "RATE_LIMITED");
    change(&server, "UPDATE invitations SET created_at = 0").await;
    let invited = post(&server, key, &again, json!({})).await;
    assert_eq!(invited.status, 200, "{}", invited.body);
    assert_ne!(text(&invited.body["path"]), path, "another link");

    let lowered = patch(&server, key, &member, json!({"role": "read-only"})).await;
    assert_eq!((lowered.status, &lowered.body["role"]), (200, &json!("read-only")));
    let removed = delete(&server, key, &member).await;
    let gone = json!({"id": id, "email": "ada@example.com", "removed": true});
    assert_eq!((removed.status, &removed.body), (200, &gone));
    assert_eq!(status_of(&server, &path).await, 410, "the invitation is withdrawn");
    assert_eq!(server.get_as(key, "/v1/team").await.body, nobody);
    delete(&server, key, &member).await.assert_refused(404, "NOT_FOUND");

    let log = server.get_as(key, "/v1/audit?limit=4").await.body;
    let rows = log["data"].as_array().expect("changes");
    let actions: Vec<&str> = rows.iter().filter_map(|it| it["action"].as_str()).collect();
    assert_eq!(actions, ["remove_member", "give_role", "invite_user_again", "invite_user"]);
    let subjects: Vec<&str> = rows.iter().filter_map(|it| it["subject"].as_str()).collect();
    let ada = "ada@example.com";
    let (lowered, owner) = (format!("{ada}: read-only"), format!("{ada}: owner"));
    assert_eq!(subjects, [ada, lowered.as_str(), ada, owner.as_str()]);
}

#[tokio::test]
async fn pages_and_the_api_show_one_team() {
    let server = Server::dev();
    let (key, account) = (server.key(), server.dev_account());
    let mut browser = Browser::of_dev(&server).await;
    let asked = json!({"email": "bo@example.com", "role": "member"});
    let bo = post(&server, key, "/v1/team", asked).await;
    assert_eq!(bo.status, 201, "{}", bo.body);
    let team = server.get_as(key, "/v1/team").await.body;
    let of_account = format!("/ops/accounts/{}", account.id);
    for path in ["/app/team", &of_account] {
        let page = browser.get(path).await;
        for email in emails(&team) {
            assert!(page.html.contains(&email), "{path}, {email}: {}", page.html);
        }
    }
    let owner = text(&team["data"][0]["id"]);
    let last = patch(&server, key, &format!("/v1/team/{owner}"), json!({"role": "member"})).await;
    last.assert_refused(409, "CONFLICT");
    let last = delete(&server, key, &format!("/v1/team/{owner}")).await;
    last.assert_refused(409, "CONFLICT");
    let bo = format!("/v1/team/{}", text(&bo.body["id"]));
    assert_eq!(delete(&server, key, &bo).await.status, 200);
    assert!(!browser.get("/app/team").await.html.contains("bo@example.com"));
}

#[tokio::test]
async fn a_team_is_the_whole_accounts_and_nobody_elses() {
    let server = Server::dev();
    let (own, other, operator) = (holder(&server), holder(&server), operator(&server));
    let asked = json!({"email": "ada@example.com", "role": "owner"});
    let ada = post(&server, &own.key, "/v1/team", asked.clone()).await;
    let member = format!("/v1/team/{}", text(&ada.body["id"]));
    let (_, narrow) = server.make_key(&own.id, &["--scope", "admin", "--template", "receipt"]);
    let (_, test) = server.make_key(&own.id, &["--test", "--scope", "admin"]);
    let (_, sender) = server.make_key(&own.id, &[]);
    let (_, ending) =
        server.make_key(&own.id, &["--scope", "admin", "--expires", "2099-01-01T00:00:00Z"]);
    for role in ["owner", "member"] {
        let asked = json!({"email": "eve@example.com", "role": role});
        post(&server, &ending, "/v1/team", asked).await.assert_refused(403, "FORBIDDEN");
    }
    delete(&server, &ending, &member).await.assert_refused(403, "FORBIDDEN");
    for key in [&narrow, &test, &sender, &operator] {
        server.get_as(key, "/v1/team").await.assert_refused(403, "FORBIDDEN");
        post(&server, key, "/v1/team", asked.clone()).await.assert_refused(403, "FORBIDDEN");
        delete(&server, key, &member).await.assert_refused(403, "FORBIDDEN");
    }
    let role = json!({"role": "member"});
    patch(&server, &other.key, &member, role.clone()).await.assert_refused(404, "NOT_FOUND");
    delete(&server, &other.key, &member).await.assert_refused(404, "NOT_FOUND");
    let foreign = format!("/v1/team?account={}", own.id);
    server.get_as(&other.key, &foreign).await.assert_refused(403, "FORBIDDEN");
    let seen = server.get_as(&operator, &foreign).await.body;
    assert_eq!(seen, server.get_as(&own.key, "/v1/team").await.body, "an operator sees the same");
    let of_operator = format!("{member}?account={}", own.id);
    let changed = patch(&server, &operator, &of_operator, role).await;
    assert_eq!((changed.status, &changed.body["role"]), (200, &json!("member")));
    post(&server, &own.key, "/v1/team", json!({})).await.assert_faults(&["email", "role"]);
    let faulty = json!({"email": "ada", "role": "boss"});
    post(&server, &own.key, "/v1/team", faulty).await.assert_faults(&["email", "role"]);
    patch(&server, &own.key, &member, json!({})).await.assert_faults(&["role"]);
}

/// What an account is told of an invitation, without what is another one's in each.
fn without_names(mut member: Value) -> Value {
    let told = member.as_object_mut().expect("a member");
    for name in ["id", "email", "since", "invitedUntil"] {
        assert!(told.remove(name).is_some_and(|it| it.is_string()), "{name}: {told:?}");
    }
    member
}

#[tokio::test]
async fn an_account_does_not_learn_who_of_those_it_invites_has_a_log_in() {
    let mut server = Server::dev();
    let dev = server.dev_account();
    let (_, mail_key) = server.make_key(&dev.id, &["--scope", "send"]);
    let launch = Launch::dev().with("people", "url", "https://mail.test");
    server.restart_as(launch.with("people", "mail_key", &mail_key));
    let (account, other) = (holder(&server), server.open_account("pro", 0));
    let key = account.key.as_str();
    let mut known = Browser::invited(&server, "known@example.com", &other.id, "owner").await;
    let invite = async |email: &str| {
        let asked = json!({"email": email, "role": "member"});
        let invited = post(&server, key, "/v1/team", asked).await;
        assert_eq!(invited.status, 201, "{}", invited.body);
        invited.body
    };
    let fresh = invite("fresh@example.com").await;
    let has_log_in = invite("known@example.com").await;
    let id = text(&has_log_in["id"]);
    assert_eq!(without_names(fresh), without_names(has_log_in));
    let team = server.get_as(key, "/v1/team").await.body;
    assert_eq!(emails(&team), ["fresh@example.com", "known@example.com"], "in this order");
    assert_eq!(without_names(team["data"][0].clone()), without_names(team["data"][1].clone()));
    let users = server.cli(&["user", "list"]).to_string();
    for it in team["data"].as_array().expect("people") {
        assert!(!users.contains(&text(&it["id"])), "the identifier tells when a user was made");
    }

    let accept = format!("/app/accounts/{}/accept", account.id);
    assert_eq!(known.submit(&accept, &[]).await.status, 303);
    let role = json!({"role": "read-only"});
    let member = patch(&server, key, &format!("/v1/team/{id}"), role).await;
    let changed = (member.status, &member.body["hasPassword"]);
    assert_eq!(changed, (200, &json!(true)), "{}", member.body);
    assert!(users.contains(&text(&member.body["id"])), "from now on it is the user: {users}");
}

#[tokio::test]
async fn an_invitation_over_http_is_mailed_and_its_link_told_to_operators_only() {
    let mut server = Server::dev();
    let dev = server.dev_account();
    let (_, mail_key) = server.make_key(&dev.id, &["--scope", "send"]);
    let launch = Launch::dev().with("people", "url", "https://mail.test");
    server.restart_as(launch.with("people", "mail_key", &mail_key));
    let (account, operator) = (holder(&server), operator(&server));
    let invite = async |key: &str, query: &str, email: &str| {
        let asked = json!({"email": email, "role": "member"});
        post(&server, key, &format!("/v1/team{query}"), asked).await
    };
    let mailed = invite(&account.key, "", "ada@example.com").await;
    assert_eq!((mailed.status, &mailed.body["mailed"]), (201, &json!(true)), "{}", mailed.body);
    assert_eq!(mailed.body["path"], Value::Null, "whoever reads the mail has the link");
    let mail = server.wait_for_mail_to("ada@example.com").await;
    assert_eq!(mail.subject, "Your invitation to Waxwing");

    // Somebody who is no operator could read links in the account of the key: so none is mailed.
    let reader = ["--email", "di@example.com", "--account", &dev.id, "--role", "read-only"];
    drop(server.cli(&[&["user", "add"][..], &reader].concat()));
    let refused = invite(&account.key, "", "bo@example.com").await;
    assert_eq!((refused.status, &refused.body["mailed"]), (201, &json!(false)));
    assert_eq!(refused.body["path"], Value::Null, "the account could take it: {}", refused.body);
    assert!(refused.body["warnings"].to_string().contains("would read the links"));
    let query = format!("?account={}", account.id);
    let told = invite(&operator, &query, "cy@example.com").await;
    assert!(text(&told.body["path"]).starts_with("/invite/"), "{}", told.body);
}
