//! People and their accounts: an account has nobody who was not asked, people leave by themselves, a log-in opens the
//! account that was used last, and no account loses its last owner.

use reqwest::Method;
use serde_json::json;
use waxwing_tests::{Launch, Server};

use super::people::{link, mail_to, member};
use super::{Browser, PASSWORD, audit};
use crate::fixture::{change, message};

const MEMBER: [(&str, &str); 2] = [("email", "bea@example.com"), ("role", "member")];

/// An account of that name, without a key.
fn account(server: &Server, name: &str) -> String {
    let made = server.cli(&["account", "create", "--name", name]);
    made["id"].as_str().expect("an account").to_owned()
}

/// The identifier of a user.
fn user(server: &Server, email: &str) -> String {
    let users = server.cli(&["user", "list"]);
    let mut users = users.as_array().expect("users").iter();
    let user = users.find(|it| it["email"] == email).expect("a user");
    user["id"].as_str().expect("an identifier").to_owned()
}

#[tokio::test]
async fn an_invited_person_reads_nothing_of_the_account_before_accepting() {
    let server = Server::dev();
    let (own, asking) = (account(&server, "Tern"), server.open_account("pro", 10));
    let sent = server.send(&asking.key, &message("ada@example.com")).await.message_id();
    let mut bea = Browser::invited(&server, "bea@example.com", &own, "owner").await;
    let mut ann = Browser::invited(&server, "ann@example.com", &asking.id, "owner").await;
    let invited = ann.submit("/app/team", &MEMBER).await;
    assert_eq!(invited.to.as_deref(), Some("/app/team?done=waits"), "{}", invited.html);
    let list = ann.get("/app/team").await;
    assert!(list.html.contains("bea@example.com") && list.html.contains("</i>invited"));
    let again = ann.submit("/app/team", &MEMBER).await;
    assert!(again.status == 422 && again.html.contains("in this account already"));

    // Every page tells it, and still shows the person's own account.
    let page = bea.get("/app").await;
    assert!(page.html.contains("The account <b>Test</b> invites you"), "{}", page.html);
    assert!(page.html.contains("<b title=\"Tern\">"), "{}", page.html);
    let page = bea.get("/app/accounts").await;
    assert!(page.html.contains("An invitation") && page.html.contains("with the role member"));
    let shown = bea.submit("/app/account", &[("account", &asking.id)]).await;
    assert_eq!(shown.status, 404, "it cannot be switched to: {}", shown.html);
    let of_it = format!("/app/messages/{sent}");
    let leave = format!("/app/accounts/{}/leave", asking.id);
    for path in [&of_it, &leave] {
        assert_eq!(bea.get(path).await.status, 404, "{path}");
    }
    assert_eq!(bea.submit(&leave, &[]).await.status, 404);
    let roles = server.cli(&["user", "list"]).to_string();
    assert!(roles.contains("\"accepted\":false"), "{roles}");

    let accept = format!("/app/accounts/{}/accept", asking.id);
    let accepted = bea.submit(&accept, &[]).await;
    assert_eq!(accepted.to.as_deref(), Some("/app"), "{}", accepted.html);
    assert_eq!(bea.get(&of_it).await.status, 200, "the account is shown from then on");
    assert_eq!(bea.submit(&accept, &[]).await.status, 404, "an invitation is taken once");
    let log = ann.get("/app/audit?q=accept").await;
    assert!(log.html.contains("bea@example.com"), "the account's log has it: {}", log.html);
    let list = ann.get("/app/team").await;
    assert!(!list.html.contains("</i>invited"), "{}", list.html);
}

#[tokio::test]
async fn a_declined_invitation_is_gone_and_stands_in_the_audit_log() {
    let server = Server::dev();
    let (own, asking) = (account(&server, "Tern"), account(&server, "Crow"));
    let mut bea = Browser::invited(&server, "bea@example.com", &own, "owner").await;
    let mut ann = Browser::invited(&server, "ann@example.com", &asking, "owner").await;
    ann.submit("/app/team", &MEMBER).await;
    let decline = format!("/app/accounts/{asking}/decline");
    let declined = bea.submit(&decline, &[]).await;
    let done = Some("/app/accounts?done=declined");
    assert_eq!(declined.to.as_deref(), done, "{}", declined.html);
    assert!(!bea.get("/app").await.html.contains("invites you"));
    for path in [decline, format!("/app/accounts/{asking}/accept")] {
        assert_eq!(bea.submit(&path, &[]).await.status, 404, "{path}");
    }
    assert!(!ann.get("/app/team").await.html.contains("bea@example.com"));
    let log = ann.get("/app/audit?q=decline").await;
    assert!(log.html.contains("bea@example.com"), "{}", log.html);
    let rows = audit::rows(&server).await;
    let row = rows.iter().find(|it| it.1 == "decline_invitation").expect("written down");
    assert_eq!(row.3, None, "the account does not learn from where: {rows:?}");
    // A member is not taken out by what declines an invitation.
    let refused = bea.submit(&format!("/app/accounts/{own}/decline"), &[]).await;
    assert_eq!(refused.status, 404, "{}", refused.html);
    assert_eq!(bea.get("/app").await.status, 200);
}

#[tokio::test]
async fn a_person_with_a_log_in_is_mailed_the_invitation_without_a_secret() {
    let mut server = Server::dev();
    let dev = server.dev_account();
    let (_, key) = server.make_key(&dev.id, &["--scope", "send"]);
    let launch = Launch::dev().with("people", "url", "https://mail.test");
    server.restart_as(launch.with("people", "mail_key", &key));
    let (own, asking) = (account(&server, "Tern"), account(&server, "Crow"));
    drop(Browser::invited(&server, "bea@example.com", &own, "owner").await);
    let mut ann = Browser::invited(&server, "ann@example.com", &asking, "owner").await;
    let invited = ann.submit("/app/team", &MEMBER).await;
    assert_eq!(invited.to.as_deref(), Some("/app/team?done=invited"), "{}", invited.html);
    let text = mail_to(&server, "bea@example.com", "Your invitation to Waxwing").await;
    assert!(text.contains("https://mail.test/app/accounts"), "{text}");
    assert!(text.contains("as member") && !text.contains("/invite/"), "{text}");
    // The pause and the bound hold for them as for new people.
    let bea = member(&ann.get("/app/team").await, "bea@example.com");
    let soon = ann.submit(&format!("/app/team/{bea}/again"), &[]).await;
    assert!(soon.status == 422 && soon.html.contains("invited a moment ago"), "{}", soon.html);
}

#[tokio::test]
async fn the_link_of_an_invitation_accepts_it_and_no_other_link_does() {
    let server = Server::dev();
    let asking = account(&server, "Crow");
    let mut ann = Browser::invited(&server, "ann@example.com", &asking, "owner").await;
    let path = link(&ann.submit("/app/team", &MEMBER).await.html, "invite");
    let mut bea = Browser::new(&server);
    let page = bea.get(&path).await;
    assert!(page.html.contains("the account <b>Crow</b>, with the role member"), "{}", page.html);
    // A log-in that was made another way has agreed to nothing.
    let made = server.cli(&["user", "reset", "bea@example.com"]);
    let other = made["path"].as_str().expect("a link").to_owned();
    let password = [("password", PASSWORD), ("code", "")];
    assert_eq!(bea.send(&other, &password).await.status, 303);
    let page = bea.get("/app").await;
    assert_eq!(page.to.as_deref(), Some("/app/accounts"), "{}", page.html);
    let page = bea.get("/app/accounts").await;
    assert!(page.html.contains("You are in no account") && page.html.contains("An invitation"));

    let asked = [("email", "cy@example.com"), ("role", "read-only")];
    let path = link(&ann.submit("/app/team", &asked).await.html, "invite");
    let mut cy = Browser::new(&server);
    assert_eq!(cy.send(&path, &password).await.to.as_deref(), Some("/app"));
    let page = cy.get("/app").await;
    assert!(page.status == 200 && page.html.contains("<b title=\"Crow\">"), "{}", page.html);
}

#[tokio::test]
async fn whoever_leaves_an_account_sees_it_no_more_and_its_last_owner_stays() {
    let server = Server::dev();
    let shared = account(&server, "Tern");
    let mut ann = Browser::invited(&server, "ann@example.com", &shared, "owner").await;
    let mut bea = Browser::invited(&server, "bea@example.com", &shared, "read-only").await;
    let leave = format!("/app/accounts/{shared}/leave");
    let asked = bea.get(&leave).await;
    assert!(asked.status == 200 && asked.html.contains("Leave “Tern”?"), "{}", asked.html);
    assert!(bea.get("/app/team").await.html.contains(&leave), "the page Team leads there");

    let kept = ann.submit(&leave, &[]).await;
    assert!(kept.status == 422 && kept.html.contains("at least one owner"), "{}", kept.html);
    assert!(kept.html.contains(&format!("an owner of Tern ({shared}) first")), "{}", kept.html);
    // An owner who was invited, and has not accepted, owns nothing yet.
    let own = account(&server, "Crow");
    drop(Browser::invited(&server, "cy@example.com", &own, "owner").await);
    ann.submit("/app/team", &[("email", "cy@example.com"), ("role", "owner")]).await;
    assert_eq!(ann.submit(&leave, &[]).await.status, 422);

    let left = bea.submit(&leave, &[]).await;
    assert_eq!(left.to.as_deref(), Some("/app/accounts?done=left"), "{}", left.html);
    assert_eq!(bea.get("/app/team").await.to.as_deref(), Some("/app/accounts"));
    let page = bea.get("/app/accounts").await;
    assert!(page.html.contains("You are in no account"), "{}", page.html);
    assert_eq!(bea.get("/app/profile").await.status, 200, "the log-in stays");
    assert!(!ann.get("/app/team").await.html.contains("bea@example.com"));
    let log = ann.get("/app/audit?q=leave").await;
    assert!(log.html.contains("bea@example.com"), "{}", log.html);
    assert_eq!(bea.submit(&leave, &[]).await.status, 404);
}

#[tokio::test]
async fn a_log_in_opens_the_account_that_was_used_last() {
    let server = Server::dev();
    let (older, newer) = (account(&server, "Older"), account(&server, "Newer"));
    let mut bea = Browser::invited(&server, "bea@example.com", &newer, "owner").await;
    drop(server.cli(&["user", "role", "bea@example.com", "--account", &older, "--role", "member"]));
    let mut other = Browser::new(&server);
    let steps = [(None, "Newer"), (Some(&older), "Older"), (Some(&newer), "Newer")];
    for (switched_to, name) in steps {
        if let Some(id) = switched_to {
            let shown = bea.submit("/app/account", &[("account", id.as_str())]).await;
            assert_eq!(shown.to.as_deref(), Some("/app"), "{}", shown.html);
        }
        let page = other.log_in("bea@example.com", PASSWORD).await;
        assert_eq!(page.to.as_deref(), Some("/app"), "{}", page.html);
        let page = other.get("/app").await;
        assert!(page.html.contains(&format!("<b title=\"{name}\">")), "{name}: {}", page.html);
    }
    // Whoever leaves the one that is shown goes on in the other.
    drop(Browser::invited(&server, "ann@example.com", &newer, "owner").await);
    let left = bea.submit(&format!("/app/accounts/{newer}/leave"), &[]).await;
    assert_eq!(left.status, 303, "{}", left.html);
    assert!(bea.get("/app").await.html.contains("<b title=\"Older\">"));
    // And stays there, whatever another session of the same person opens.
    let third = account(&server, "Third");
    drop(server.cli(&["user", "role", "bea@example.com", "--account", &third, "--role", "member"]));
    let shown = other.submit("/app/account", &[("account", third.as_str())]).await;
    assert_eq!(shown.to.as_deref(), Some("/app"), "{}", shown.html);
    let newest = "UPDATE memberships SET used_at = used_at + 600000
                  WHERE account_id = (SELECT id FROM accounts WHERE name = 'Third')";
    change(&server, newest).await;
    assert!(bea.get("/app").await.html.contains("<b title=\"Older\">"));
}

#[tokio::test]
async fn no_command_and_no_request_takes_the_last_owner_of_an_account() {
    let server = Server::dev();
    let (one, two) = (account(&server, "Tern"), account(&server, "Crow"));
    drop(Browser::invited(&server, "ann@example.com", &one, "owner").await);
    let of_two = ["user", "role", "ann@example.com", "--account", two.as_str(), "--role", "owner"];
    drop(server.cli(&of_two));
    let both = format!("an owner of Tern ({one}), Crow ({two}) first");
    let said = server.cli_fails(&["user", "remove", "ann@example.com"]);
    assert!(said.contains("at least one owner") && said.contains(&both), "{said}");
    let lower = ["user", "role", "ann@example.com", "--account", two.as_str(), "--role", "member"];
    let said = server.cli_fails(&lower);
    assert!(said.contains(&format!("an owner of Crow ({two}) first")), "{said}");
    let path = format!("/v1/users/{}", user(&server, "ann@example.com"));
    let delete = async || {
        let request = server.request(Method::DELETE, &path).header("x-api-key", server.key());
        server.answer(request).await
    };
    let refused = delete().await;
    refused.assert_refused(409, "CONFLICT");
    assert!(refused.body.to_string().contains(&both), "{}", refused.body);

    // Somebody else owns both: she may go.
    drop(Browser::invited(&server, "di@example.com", &one, "owner").await);
    let other = ["user", "role", "di@example.com", "--account", two.as_str(), "--role", "owner"];
    drop(server.cli(&other));
    let gone = delete().await;
    assert_eq!((gone.status, &gone.body["deleted"]), (200, &json!(true)), "{}", gone.body);
    // An account that never had an owner has none to keep.
    let open = account(&server, "Open");
    drop(Browser::invited(&server, "eve@example.com", &open, "member").await);
    drop(server.cli(&["user", "remove", "eve@example.com"]));
}

#[tokio::test]
async fn a_role_that_the_operator_gives_takes_the_invitation_that_waits() {
    let server = Server::dev();
    let (own, asking) = (account(&server, "Tern"), account(&server, "Crow"));
    let mut bea = Browser::invited(&server, "bea@example.com", &own, "owner").await;
    let mut ann = Browser::invited(&server, "ann@example.com", &asking, "owner").await;
    ann.submit("/app/team", &MEMBER).await;
    let asking_id = asking.as_str();
    let role = ["user", "role", "bea@example.com", "--account", asking_id, "--role", "read-only"];
    let given = server.cli(&role);
    assert!(!given.to_string().contains("\"accepted\":false"), "{given}");
    let page = bea.get("/app").await;
    assert!(!page.html.contains("invites you"), "{}", page.html);
    let shown = bea.submit("/app/account", &[("account", asking_id)]).await;
    assert_eq!(shown.to.as_deref(), Some("/app"), "{}", shown.html);
}
