//! People: who is invited, what each may do, who did what, and how an operator acts as an account.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Launch, Server, until_async};

use super::access::enrol;
use super::{Browser, PASSWORD, Page, audit};
use crate::fixture::{Database, change, message};

/// The path of the link that stands on a page, or in an e-mail.
pub fn link(text: &str, page: &str) -> String {
    let rest = text.split_once(&format!("/{page}/")).map(|(_, rest)| rest);
    let secret =
        rest.and_then(|it| it.split(|it: char| !it.is_alphanumeric() && !"-_".contains(it)).next());
    let secret = secret.filter(|it| it.len() == 43);
    assert!(secret.is_some(), "there is no link: {text}");
    format!("/{page}/{}", secret.unwrap_or_default())
}

/// The identifier of the member with that address, from the list.
pub fn member(page: &Page, email: &str) -> String {
    let row = page.html.split("<tr>").skip(1).find(|it| it.contains(email));
    let id = row.and_then(|it| it.split("/app/team/").nth(1)).and_then(|it| it.split('/').next());
    assert!(id.is_some(), "{email} is not in the list: {}", page.html);
    id.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn an_owner_invites_and_what_is_invited_is_refused_every_write() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let mut owner = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    let faulty = owner.submit("/app/team", &[("email", "nobody"), ("role", "member")]).await;
    assert!(faulty.status == 422 && faulty.html.contains("must be whole"), "{}", faulty.html);
    let asked = [("email", "bea@example.com"), ("role", "read-only")];
    let invited = owner.submit("/app/team", &asked).await;
    assert!(invited.html.contains("No e-mail was sent."), "{}", invited.html);
    let path = link(&invited.html, "invite");
    let again = owner.submit("/app/team", &asked).await;
    assert!(again.status == 422 && again.html.contains("in this account already"));
    let mut guest = Browser::new(&server);
    let taken = guest.send(&path, &[("password", PASSWORD), ("code", "")]).await;
    assert_eq!(taken.to.as_deref(), Some("/app"), "{}", taken.html);
    let bea = member(&owner.get("/app/team").await, "bea@example.com");
    let ann = member(&owner.get("/app/team").await, "ann@example.com");
    let page = guest.get("/app/team").await;
    assert!(page.html.contains("ann@example.com") && !page.html.contains("Invite somebody"));
    for (path, fields) in [
        ("/app/team".to_owned(), vec![("email", "cy@example.com"), ("role", "owner")]),
        (format!("/app/team/{bea}/role"), vec![("role", "owner")]),
        (format!("/app/team/{ann}/again"), vec![]),
        (format!("/app/team/{ann}/remove"), vec![]),
        ("/app/keys".to_owned(), vec![("name", "Mine"), ("scope", "send")]),
    ] {
        assert_eq!(guest.submit(&path, &fields).await.status, 403, "{path}");
    }
    assert_eq!(guest.get(&format!("/app/team/{ann}/remove")).await.status, 403);

    let last = owner.submit(&format!("/app/team/{ann}/role"), &[("role", "member")]).await;
    assert!(last.status == 422 && last.html.contains("at least one owner"), "{}", last.html);
    let last = owner.submit(&format!("/app/team/{ann}/remove"), &[]).await;
    assert_eq!(last.status, 422);
    let raised = owner.submit(&format!("/app/team/{bea}/role"), &[("role", "owner")]).await;
    assert_eq!(raised.status, 303, "{}", raised.html);
    let lowered = guest.submit(&format!("/app/team/{ann}/role"), &[("role", "member")]).await;
    assert_eq!(lowered.status, 303, "the new role holds at once: {}", lowered.html);
    let gone = guest.submit(&format!("/app/team/{ann}/remove"), &[]).await;
    assert_eq!(gone.to.as_deref(), Some("/app/team?done=removed"), "{}", gone.html);
    let page = owner.get("/app/team").await;
    assert_eq!(page.to.as_deref(), Some("/app/accounts"), "and so does the removal");
}

#[tokio::test]
async fn an_invitation_is_revoked_and_gives_no_way_into_other_accounts() {
    let server = Server::dev();
    let (one, two) = (server.open_account("pro", 0), server.open_account("pro", 0));
    let mut owner = Browser::invited(&server, "ann@example.com", &one.id, "owner").await;
    let mut other = Browser::invited(&server, "ben@example.com", &two.id, "owner").await;
    let asked = [("email", "eve@example.com"), ("role", "owner")];
    let path = link(&owner.submit("/app/team", &asked).await.html, "invite");
    // The owner of the first account may have kept the link, and take it later.
    let second = other.submit("/app/team", &asked).await;
    assert!(second.status == 422 && second.html.contains("may not be theirs"), "{}", second.html);
    assert!(!other.get("/app/team").await.html.contains("eve@example.com"));
    let eve = member(&owner.get("/app/team").await, "eve@example.com");
    // Somebody who is in no account any more is gone, with the link.
    let revoked = owner.submit(&format!("/app/team/{eve}/remove"), &[]).await;
    assert_eq!(revoked.status, 303, "{}", revoked.html);
    let over = Browser::new(&server).send(&path, &[("password", PASSWORD), ("code", "")]).await;
    assert_eq!(over.status, 410, "{}", over.html);
    for path in [format!("/app/team/{eve}/again"), "/app/team/usr_x/again".to_owned()] {
        assert_eq!(owner.submit(&path, &[]).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn invitations_and_resets_come_by_mail_and_only_operators_can_read_them() {
    let mut server = Server::dev();
    let dev = server.dev_account();
    let (_, key) = server.make_key(&dev.id, &["--scope", "send"]);
    let launch = Launch::dev().with("people", "url", "https://mail.test");
    server.restart_as(launch.with("people", "mail_key", &key));
    let account = server.open_account("pro", 0);
    let mut operator = Browser::of_dev(&server).await;
    operator.submit(&format!("/ops/accounts/{}/act", account.id), &[]).await;
    let asked = [("email", "bo@example.com"), ("role", "owner")];
    let invited = operator.submit("/app/team", &asked).await;
    assert_eq!(invited.to.as_deref(), Some("/app/team?done=invited"), "{}", invited.html);
    let text = mail_to(&server, "bo@example.com", "Your invitation to Waxwing").await;
    assert!(text.contains("https://mail.test/invite/"), "{text}");
    let mut browser = Browser::new(&server);
    let fields = [("password", PASSWORD), ("code", "")];
    let taken = browser.send(&link(&text, "invite"), &fields).await;
    assert_eq!(taken.to.as_deref(), Some("/app"), "{}", taken.html);
    // The account that asks pays nothing, and does not see the e-mail.
    assert!(!browser.get("/app/messages").await.html.contains("Your invitation"));
    assert!(!browser.get("/app/inbox").await.html.contains("Your invitation"));

    let mut guest = Browser::new(&server);
    for email in ["nobody@example.com", "not an address"] {
        let page = guest.send("/forgotten", &[("email", email)]).await;
        assert!(page.status == 200 && page.html.contains("is on its way"), "{}", page.html);
    }
    // The link of the invitation is older than the pause by then.
    change(&server, "UPDATE one_time_links SET created_at = 0").await;
    guest.send("/forgotten", &[("email", "bo@example.com")]).await;
    let text = mail_to(&server, "bo@example.com", "Choose another password for Waxwing").await;
    let fields = [("password", "another horse battery staple"), ("code", "")];
    let reset = guest.send(&link(&text, "reset"), &fields).await;
    assert_eq!(reset.to.as_deref(), Some("/app"), "{}", reset.html);
    assert_eq!(browser.get("/app").await.status, 303, "its session is over");

    // Somebody who is no operator could read links in the account of the key.
    drop(server.cli(&[
        "user",
        "role",
        "bo@example.com",
        "--account",
        &dev.id,
        "--role",
        "read-only",
    ]));
    let invited = operator.submit("/app/team", &[("email", "di@example.com"), ("role", "member")]);
    let invited = invited.await;
    assert!(invited.html.contains("would read the links"), "{}", invited.html);
    link(&invited.html, "invite");
    // An owner is told why, and sees no link: whoever sees it could take it.
    let invited = guest.submit("/app/team", &[("email", "ed@example.com"), ("role", "member")]);
    let invited = invited.await;
    assert!(invited.status == 503 && invited.html.contains("would read the links"));
    assert!(!invited.html.contains("/invite/"), "{}", invited.html);
}

#[tokio::test]
async fn a_log_in_by_a_link_that_an_owner_saw_opens_no_further_account() {
    let server = Server::dev();
    let (one, two) = (server.open_account("pro", 0), server.open_account("pro", 0));
    let mut attacker = Browser::invited(&server, "eve@example.com", &one.id, "owner").await;
    let mut owner = Browser::invited(&server, "ann@example.com", &two.id, "owner").await;
    let asked = [("email", "carol@example.com"), ("role", "owner")];
    let path = link(&attacker.submit("/app/team", &asked).await.html, "invite");
    let mut taken = Browser::new(&server);
    let page = taken.send(&path, &[("password", "a password of eve"), ("code", "")]).await;
    assert_eq!(page.to.as_deref(), Some("/app"), "{}", page.html);
    enrol(&mut taken).await;

    let refused = owner.submit("/app/team", &asked).await;
    assert!(
        refused.status == 422 && refused.html.contains("may not be theirs"),
        "{}",
        refused.html
    );
    let role =
        ["user", "role", "carol@example.com", "--account", two.id.as_str(), "--role", "owner"];
    let said = server.cli_fails(&role);
    assert!(said.contains("may not be theirs"), "{said}");

    // A link that no owner has seen proves it, and ends what was before: the password, the session and the factor.
    let made = server.cli(&["user", "reset", "carol@example.com"]);
    let path = made["path"].as_str().expect("a link").to_owned();
    let mut carol = Browser::new(&server);
    let page = carol.send(&path, &[("password", PASSWORD)]).await;
    assert_eq!(page.status, 303, "{}", page.html);
    let page = carol.log_in("carol@example.com", PASSWORD).await;
    assert_eq!(page.to.as_deref(), Some("/app"), "{}", page.html);
    assert_eq!(taken.get("/app").await.to.as_deref(), Some("/login"));
    // The address was invited a moment ago, by the other account.
    change(&server, "UPDATE invitations SET created_at = 0").await;
    let added = owner.submit("/app/team", &asked).await;
    assert_eq!(added.to.as_deref(), Some("/app/team?done=waits"), "{}", added.html);
}

#[tokio::test]
async fn an_owner_sees_no_link_of_somebody_who_is_elsewhere_too() {
    let server = Server::dev();
    let (one, two) = (server.open_account("pro", 0), server.open_account("pro", 0));
    let mut owner = Browser::invited(&server, "ann@example.com", &one.id, "owner").await;
    let email = "bo@example.com";
    drop(server.cli(&["user", "add", "--email", email, "--account", &one.id, "--role", "member"]));
    drop(server.cli(&["user", "role", email, "--account", &two.id, "--role", "member"]));
    let bo = member(&owner.get("/app/team").await, email);
    let again = owner.submit(&format!("/app/team/{bo}/again"), &[]).await;
    assert_eq!(again.to.as_deref(), Some("/app/team?done=waits"), "{}", again.html);
}

pub async fn mail_to(server: &Server, to: &str, subject: &str) -> String {
    let arrived = async || {
        let mails = server.inbox().await;
        let mail = mails.into_iter().find(|it| it.to == to && it.subject == subject)?;
        let path = format!("/inbox/{}", mail.id);
        let request = server.request(Method::GET, &path).header("accept", "application/json");
        let shown: Value = request.send().await.ok()?.json().await.ok()?;
        shown["text"].as_str().map(str::to_owned)
    };
    until_async(&format!("“{subject}” to {to}"), Duration::from_secs(30), arrived).await
}

#[tokio::test]
async fn an_operator_acts_as_an_account_under_a_banner_and_each_change_says_so() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let act = format!("/ops/accounts/{}/act", account.id);
    let mut browser = Browser::of_dev(&server).await;
    change(&server, "UPDATE sessions SET verified_at = 0").await;
    let asked = browser.submit(&act, &[]).await;
    assert!(asked.status == 403 && asked.html.contains("step-up-password"), "{}", asked.html);
    let (_, password) = super::dev_person(&server);
    let given = [("step-up-password", password.as_str()), ("next", "/ops")];
    let verified = browser.submit("/app/verify", &given).await;
    assert_eq!(verified.to.as_deref(), Some("/ops"), "{}", verified.html);
    assert_eq!(browser.submit(&act, &[]).await.to.as_deref(), Some("/app"));
    for path in ["/app", "/app/keys", "/app/team", "/app/messages", "/app/audit", "/ops"] {
        let page = browser.get(path).await;
        assert!(page.html.contains("You act as <b>Test</b>"), "{path}: {}", page.html);
    }
    let made = browser.submit("/app/keys", &[("name", "By hand"), ("scope", "send")]).await;
    assert_eq!(made.status, 200, "{}", made.html);
    let page = browser.get("/app/audit?q=create").await;
    assert!(page.html.contains("acting as the account"), "{}", page.html);
    let ended = browser.submit("/app/acting/end", &[]).await;
    assert_eq!(ended.to, Some(format!("/ops/accounts/{}", account.id)));
    let page = browser.get("/app/keys").await;
    assert!(!page.html.contains("You act as") && !page.html.contains("By hand"), "{}", page.html);

    let acting = "SELECT action FROM audit WHERE acting AND actor = 'user'";
    let rows = Database::of(&server).await.texts(acting).await;
    assert_eq!(rows, ["create_key"], "what is done as the account, and only that");
    let rows = audit::rows(&server).await;
    for action in ["act_as", "end_act_as"] {
        assert!(rows.iter().any(|it| it.1 == action && it.2 == account.id), "{action}: {rows:?}");
    }
    // Who is no operator any more acts no more.
    browser.submit(&act, &[]).await;
    change(&server, "UPDATE users SET is_operator = FALSE").await;
    assert!(!browser.get("/app").await.html.contains("You act as"));
}

#[tokio::test]
async fn the_audit_page_is_the_accounts_own_filtered_and_goes_on() {
    let server = Server::dev();
    let (own, other) = (server.open_account("pro", 0), server.open_account("pro", 0));
    let mut browser = Browser::invited(&server, "ann@example.com", &own.id, "owner").await;
    let mut foreign = Browser::invited(&server, "ben@example.com", &other.id, "owner").await;
    foreign.submit("/app/keys", &[("name", "Foreign"), ("scope", "send")]).await;
    for number in 0..60 {
        let name = format!("<b>{number}");
        let body = json!({"name": name});
        assert_eq!(server.post("/v1/keys", server.key(), &body, &[]).await.status, 201);
    }
    browser.submit("/app/keys", &[("name", "Mine"), ("scope", "send")]).await;
    let page = browser.get("/app/audit").await;
    assert!(page.html.contains("ann@example.com") && page.html.contains("create key"));
    assert!(!page.html.contains("ben@example.com"), "{}", page.html);
    assert!(browser.get("/app/audit?q=nothing").await.html.contains("No change matches"));
    let found = browser.get("/app/audit?q=CREATE%20KEY").await;
    assert!(!found.html.contains(">log in<") && found.html.contains("create key"));
    assert_eq!(browser.get("/app/audit?after=forged").await.status, 200);

    let mut operator = Browser::of_dev(&server).await;
    let first = operator.get("/ops/audit").await;
    assert_eq!(first.html.matches("<tr>").count(), 51, "a heading and fifty rows");
    let next = first.html.split("href=\"").filter_map(|it| it.split('"').next());
    let next = next.filter(|it| it.contains("after=")).last().expect("a next page");
    let second = operator.get(&next.replace("&#38;", "&")).await;
    assert!(second.html.contains("ben@example.com"), "{}", second.html);
}

#[tokio::test]
async fn the_inbox_of_the_dashboard_shows_an_accounts_own_mail_alone() {
    let server = Server::dev();
    let (own, other) = (server.open_account("pro", 10), server.open_account("pro", 10));
    let sent = server.send(&own.key, &message("ada@example.com")).await.message_id();
    let foreign = server.send(&other.key, &message("bob@example.com")).await.message_id();
    server.wait_for_mails(2).await;
    let mut browser = Browser::invited(&server, "ann@example.com", &own.id, "read-only").await;
    let is_delivered = async || (server.message(&sent)["state"] == "delivered").then_some(());
    until_async("the message is delivered", Duration::from_secs(20), is_delivered).await;
    let page = browser.get("/app/inbox").await;
    assert!(page.html.contains(&format!("/app/messages/{sent}")), "{}", page.html);
    assert!(!page.html.contains(&foreign) && !page.html.contains("bob@"), "{}", page.html);
    let account = server.open_account("pro", 0);
    let mut empty = Browser::invited(&server, "eve@example.com", &account.id, "owner").await;
    assert!(empty.get("/app/inbox").await.html.contains("The inbox is empty"));
}

#[tokio::test]
async fn two_invitations_of_one_address_at_once_make_one_member() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let mut ann = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    let mut bea = Browser::invited(&server, "bea@example.com", &account.id, "owner").await;
    let asked = [("email", "cy@example.com"), ("role", "member")];
    let both = tokio::join!(ann.submit("/app/team", &asked), bea.submit("/app/team", &asked));
    let pages = [both.0, both.1];
    let refused = |it: &Page| it.status == 422 && it.html.contains("in this account already");
    assert_eq!(pages.iter().filter(|it| refused(it)).count(), 1, "{pages:?}");
    assert_eq!(pages.iter().filter(|it| it.html.contains("/invite/")).count(), 1, "{pages:?}");
}

#[tokio::test]
async fn an_operator_reaches_all_people_of_an_account_and_none_too_many() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let (_, operator) = server.make_key(&account.id, &["--scope", "operator"]);
    let invite = async |number: u32| {
        let user = json!({"email": format!("n{number:03}@example.com"), "account": account.id, "role": "member"});
        server.post("/v1/users", &operator, &user, &[]).await
    };
    for number in 0..200 {
        let made = invite(number).await;
        assert_eq!(made.status, 201, "{}", made.body);
    }
    let full = invite(200).await;
    full.assert_refused(409, "CONFLICT");
    let mut browser = Browser::of_dev(&server).await;
    let first = browser.get(&format!("/ops/accounts/{}", account.id)).await;
    assert!(first.html.contains("n099@") && !first.html.contains("n100@"), "{}", first.html);
    let links = first.html.split("href=\"").filter_map(|it| it.split('"').next());
    let next = links.filter(|it| it.contains("after=")).last().expect("a next page").to_owned();
    let second = browser.get(next.split('#').next().unwrap_or_default()).await;
    assert!(second.html.contains("n100@") && second.html.contains("n199@"), "{}", second.html);
    assert!(!second.html.contains("More people"), "{}", second.html);
}

#[tokio::test]
async fn an_owner_fills_no_mailbox_with_invitations() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let mut owner = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    let asked = [("email", "bo@example.com"), ("role", "member")];
    link(&owner.submit("/app/team", &asked).await.html, "invite");
    let bo = member(&owner.get("/app/team").await, "bo@example.com");
    let again = format!("/app/team/{bo}/again");
    let soon = owner.submit(&again, &[]).await;
    assert!(soon.status == 422 && soon.html.contains("invited a moment ago"), "{}", soon.html);
    // The pause is the address's: it stays when the person goes.
    let revoked = owner.submit(&format!("/app/team/{bo}/remove"), &[]).await;
    assert_eq!(revoked.status, 303, "{}", revoked.html);
    let soon = owner.submit("/app/team", &asked).await;
    assert!(soon.status == 422 && soon.html.contains("invited a moment ago"), "{}", soon.html);
    change(&server, "UPDATE invitations SET created_at = 0").await;
    link(&owner.submit("/app/team", &asked).await.html, "invite");
    let fill = "WITH RECURSIVE numbers (n) AS
                  (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 25)
                INSERT INTO invitations SELECT account_id, 'n' || n, created_at, expires_at
                FROM invitations, numbers WHERE address = 'bo@example.com'";
    assert_eq!(change(&server, fill).await, 50);
    let most = [("email", "cy@example.com"), ("role", "member")];
    let refused = owner.submit("/app/team", &most).await;
    assert!(
        refused.status == 422 && refused.html.contains("at most 50 invitations"),
        "{}",
        refused.html
    );
}

#[tokio::test]
async fn the_last_owner_keeps_the_role_over_http_too() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    drop(Browser::invited(&server, "ann@example.com", &account.id, "owner").await);
    let users = server.cli(&["user", "list"]);
    let mut users = users.as_array().expect("users").iter();
    let ann = users.find(|it| it["email"] == "ann@example.com").expect("a user");
    let id = ann["id"].as_str().expect("an identifier");
    let path = format!("/v1/users/{id}/roles/{}", account.id);
    let put = async |role: &str| {
        let request = server.request(Method::PUT, &path).header("x-api-key", server.key());
        server.answer(request.json(&json!({"role": role}))).await
    };
    let refused = put("member").await;
    refused.assert_refused(409, "CONFLICT");
    assert!(refused.body.to_string().contains("at least one owner"), "{}", refused.body);
    assert_eq!(put("owner").await.status, 200, "it is the same");
    // One who has chosen no password yet cannot log in.
    let (email, id) = ("bo@example.com", account.id.as_str());
    drop(server.cli(&["user", "add", "--email", email, "--account", id, "--role", "owner"]));
    put("read-only").await.assert_refused(409, "CONFLICT");
    drop(Browser::invited(&server, "di@example.com", &account.id, "owner").await);
    let changed = put("read-only").await;
    assert_eq!((changed.status, &changed.body["roles"][0]["role"]), (200, &json!("read-only")));
}
