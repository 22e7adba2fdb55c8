//! What keeps others out: other sites, other accounts, lesser roles, ended sessions.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{HalfSent, Server};

use super::templates::publish_mine;
use super::{Browser, PASSWORD, dev_person};
use crate::fixture::{change, message};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[tokio::test]
async fn a_form_of_another_site_or_session_changes_nothing() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let token = browser.form_token().await;
    let fields = [("form", token.as_str()), ("name", "Stolen"), ("scope", "send")];
    for site in ["cross-site", "same-site", "none"] {
        let page = browser.send_from(site, "/app/keys", &fields).await;
        assert_eq!(page.status, 403, "{site}");
        assert!(page.html.contains("was not sent from the dashboard"), "{}", page.html);
    }
    let mut other = Browser::of_dev(&server).await;
    for foreign in ["", "x", other.form_token().await.as_str()] {
        let fields = [("form", foreign), ("name", "Stolen"), ("scope", "send")];
        assert_eq!(browser.send("/app/keys", &fields).await.status, 403, "{foreign}");
    }
    assert!(!browser.get("/app/keys").await.html.contains("Stolen"));
    assert_eq!(browser.send("/app/keys", &fields).await.status, 200, "its own form works");
}

#[tokio::test]
async fn a_role_that_is_too_low_is_refused_every_write() {
    let server = Server::dev();
    let account = server.open_account("pro", 100);
    let mut owner = Browser::invited(&server, "owner@example.com", &account.id, "owner").await;
    let sent = server.send(&account.key, &message("ada@example.com")).await.message_id();
    let key = format!("/app/keys/{}/deactivate", account.key_id);
    let [cancel, retry, resend] =
        ["cancel", "retry", "resend"].map(|it| format!("/app/messages/{sent}/{it}"));
    let new_key = [("name", "Mine"), ("scope", "send")];
    for (role, refused) in [
        ("read-only", [403, 403, 403, 403]),
        // A message that has left is nobody's to change: 400.
        ("member", [403, 403, 400, 400]),
    ] {
        let email = format!("{role}@example.com");
        let mut browser = Browser::invited(&server, &email, &account.id, role).await;
        let statuses = [
            browser.submit("/app/keys", &new_key).await.status,
            browser.submit(&key, &[]).await.status,
            browser.submit(&cancel, &[]).await.status,
            browser.submit(&retry, &[]).await.status,
        ];
        assert_eq!(statuses, refused, "{role}");
        let again = browser.submit(&resend, &[]).await.status;
        assert_eq!(again == 403, role == "read-only", "{role}: {again}");
        for page in [
            "/app",
            "/app/messages",
            "/app/messages.csv",
            "/app/refusals",
            "/app/keys",
            "/app/templates",
            "/app/test-recipients",
            "/app/inbox",
            "/app/domains",
            "/app/webhooks",
            "/app/credits",
            "/app/suppressions",
            "/app/brand",
            "/app/team",
            "/app/audit",
            "/app/profile",
            "/app/accounts",
        ] {
            assert_eq!(browser.get(page).await.status, 200, "{role} reads {page}");
        }
        assert_eq!(browser.get("/app/keys/new").await.status, 403, "{role}");
    }
    assert_eq!(
        server.get_as(&account.key, "/v1/keys").await.status,
        403,
        "a sender's key still works"
    );
    assert_eq!(owner.submit("/app/keys", &new_key).await.status, 200);
    let operator = [("name", "Mine"), ("scope", "operator")];
    assert_eq!(
        owner.submit("/app/keys", &operator).await.status,
        422,
        "no log-in gives the server away"
    );
}

#[tokio::test]
async fn the_pages_of_a_suspended_account_change_nothing() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let mut owner = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    let mut operator = Browser::of_dev(&server).await;
    let page_of_operators = format!("/ops/accounts/{}", account.id);
    assert!(!owner.get("/app/keys").await.html.contains("The account is suspended"));
    assert_eq!(operator.submit(&format!("{page_of_operators}/suspend"), &[]).await.status, 303);
    assert_eq!(operator.submit(&format!("{page_of_operators}/act"), &[]).await.status, 303);
    let key = format!("/app/keys/{}/deactivate", account.key_id);
    for browser in [&mut owner, &mut operator] {
        for (path, fields) in [
            ("/app/keys", &[("name", "Mine"), ("scope", "send")][..]),
            (key.as_str(), &[]),
            ("/app/team", &[("email", "bo@example.com"), ("role", "member")]),
            ("/app/webhooks", &[("url", "https://a.example")]),
            ("/app/domains", &[("name", "a.example")]),
            ("/app/domains/sender", &[("sender", "")]),
            ("/app/brand", &[("product_name", "Plover")]),
            ("/app/suppressions", &[("address", "ada@example.com")]),
            ("/app/templates", &[("slug", "mine"), ("starter", "")]),
            ("/app/templates/verification-code/draft", &[("edition", "1")]),
            ("/app/test-recipients", &[("address", "ada@example.com")]),
            ("/app/credits", &[("low", "1")]),
        ] {
            let page = browser.submit(path, fields).await;
            assert_eq!(page.status, 403, "{path}: {}", page.html);
            assert!(page.html.contains("The account is suspended"), "{path}: {}", page.html);
        }
        for path in ["/app", "/app/keys", "/app/templates", "/app/team", "/app/brand"] {
            let page = browser.get(path).await;
            assert!(page.status == 200 && page.html.contains("The account is suspended"), "{path}");
        }
    }
    // What is the person's own is not the account's.
    let left = owner.submit(&format!("/app/accounts/{}/leave", account.id), &[]).await;
    assert!(left.status == 422 && left.html.contains("at least one owner"), "{}", left.html);
    let wrong = [("before", "x"), ("after", "another horse battery staple")];
    assert_eq!(owner.submit("/app/profile/password", &wrong).await.status, 422);
    assert_eq!(operator.submit("/app/acting/end", &[]).await.status, 303);
    assert_eq!(operator.submit(&format!("{page_of_operators}/resume"), &[]).await.status, 303);
    let made = owner.submit("/app/keys", &[("name", "Mine"), ("scope", "send")]).await;
    assert_eq!(made.status, 200, "{}", made.html);
}

#[tokio::test]
async fn what_is_anothers_is_not_there() {
    let server = Server::dev();
    let (own, other) = (server.open_account("pro", 10), server.open_account("pro", 10));
    let sent = server.send(&other.key, &message("ada@example.com")).await.message_id();
    let mut others = Browser::invited(&server, "other@example.com", &other.id, "owner").await;
    publish_mine(&mut others).await;
    let mut browser = Browser::invited(&server, "own@example.com", &own.id, "owner").await;
    for path in [
        format!("/app/messages/{sent}"),
        format!("/app/messages/{sent}/html"),
        format!("/app/messages/{sent}/raw"),
        format!("/app/keys/{}/deactivate", other.key_id),
        "/app/templates/mine".to_owned(),
        "/app/templates/mine/versions".to_owned(),
        "/app/templates/mine/preview".to_owned(),
        "/app/templates/mine/diff".to_owned(),
        "/app/templates/mine/delete".to_owned(),
        "/app/messages/msg_x".to_owned(),
        "/app/nothing".to_owned(),
    ] {
        let page = browser.get(&path).await;
        assert_eq!(page.status, 404, "{path}: {}", page.html);
    }
    for path in [
        format!("/app/messages/{sent}/cancel"),
        format!("/app/messages/{sent}/retry"),
        format!("/app/messages/{sent}/resend"),
        format!("/app/keys/{}/deactivate", other.key_id),
        "/app/profile/sessions/ses_01ARZ3NDEKTSV4RRFFQ69G5FAV/end".to_owned(),
        "/app/templates/mine/draft".to_owned(),
        "/app/templates/mine/check".to_owned(),
        "/app/templates/mine/preview".to_owned(),
        "/app/templates/mine/publish".to_owned(),
        "/app/templates/mine/archive".to_owned(),
        "/app/templates/mine/duplicate".to_owned(),
        "/app/templates/mine/rollback".to_owned(),
        "/app/templates/mine/delete".to_owned(),
    ] {
        let fields = [("edition", "1"), ("slug", "copy"), ("revision", "1")];
        let page = browser.submit(&path, &fields).await;
        assert_eq!(page.status, 404, "{path}: {}", page.html);
    }
    let page = browser.submit("/app/account", &[("account", other.id.as_str())]).await;
    assert_eq!(page.status, 404);
    server.send(&other.key, &message("ada@example.com")).await.message_id();
}

#[tokio::test]
async fn a_session_that_is_ended_elsewhere_is_over_with_its_next_request() {
    let server = Server::dev();
    let (mut one, mut other) = (Browser::of_dev(&server).await, Browser::of_dev(&server).await);
    let page = one.get("/app/profile").await;
    let ends: Vec<&str> = page
        .html
        .split("action=\"")
        .filter_map(|it| it.split('"').next())
        .filter(|it| it.ends_with("/end"))
        .collect();
    assert_eq!(ends.len(), 1, "its own session has no such form: {}", page.html);
    assert_eq!(one.submit(ends[0], &[]).await.status, 303);
    assert_eq!(other.get("/app").await.to.as_deref(), Some("/login"));
    assert_eq!(one.get("/app").await.status, 200);
}

#[tokio::test]
async fn a_form_is_decided_on_what_holds_when_it_has_come_whole() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let mut owner = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    let mut other = Browser::invited(&server, "bo@example.com", &account.id, "owner").await;
    publish_mine(&mut other).await;
    let ann = "user_id = (SELECT id FROM users WHERE email = 'ann@example.com')";
    let role = |role: &str| format!("UPDATE memberships SET role = '{role}' WHERE {ann}");
    let id = server.in_sql(&account.id);
    let state = |state: &str| format!("UPDATE accounts SET state = '{state}' WHERE id = {id}");
    for (before, after) in
        [(role("read-only"), role("owner")), (state("suspended"), state("active"))]
    {
        let forms = begun(&mut owner).await;
        change(&server, &before).await;
        assert_end(forms, "HTTP/1.1 403 ").await;
        change(&server, &after).await;
    }

    let forms = begun(&mut owner).await;
    let maintenance = async |body: Value| {
        let request = server.request(Method::PUT, "/v1/maintenance");
        let request = request.header("x-api-key", server.key()).json(&body);
        assert_eq!(server.answer(request).await.status, 200);
    };
    maintenance(json!({"readOnly": true, "reason": "A new disk."})).await;
    assert_end(forms, "HTTP/1.1 503 ").await;
    maintenance(json!({"readOnly": false})).await;

    let forms = begun(&mut owner).await;
    change(&server, &format!("DELETE FROM sessions WHERE {ann}")).await;
    assert_end(forms, "HTTP/1.1 303 ").await;
    assert_eq!(owner.get("/app").await.to.as_deref(), Some("/login"));
    for page in ["/app/keys", "/app/templates/mine"] {
        let page = other.get(page).await;
        assert!(page.status == 200 && !page.html.contains("Too late"), "{}", page.html);
    }
}

/// A form of each kind whose body is on its way.
async fn begun(browser: &mut Browser<'_>) -> [HalfSent; 2] {
    let draft = [("edition", "1"), ("subject", "Too late"), ("markup", "<p>Too late</p>")];
    [
        browser.begin("/app/keys", &[("name", "Too late"), ("scope", "send")]).await,
        browser.begin("/app/templates/mine/draft", &draft).await,
    ]
}

async fn assert_end(forms: [HalfSent; 2], status: &str) {
    for form in forms {
        let answer = form.end().await;
        assert!(answer.starts_with(status), "{answer}");
    }
}

#[tokio::test]
async fn the_address_of_a_form_leads_to_its_page_also_over_a_log_in() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    publish_mine(&mut browser).await;
    for (address, page) in [
        ("/app/", "/app"),
        ("/ops/", "/ops"),
        ("/login/", "/login"),
        ("/login/code", "/login"),
        ("/logout", "/app"),
        ("/app/account", "/app"),
        ("/app/acting/end", "/app"),
        ("/app/accounts/acc_x/accept", "/app/accounts"),
        ("/app/templates/mine/draft", "/app/templates/mine"),
        ("/app/templates/mine/rollback", "/app/templates/mine"),
        ("/app/domains/sender", "/app/domains"),
        ("/app/profile/password", "/app/profile"),
        ("/app/profile/factor/remove", "/app/profile/factor"),
        ("/app/profile/sessions/ses_x/end", "/app/profile"),
        ("/app/team/usr_x/again", "/app/team"),
        ("/app/suppressions/undo", "/app/suppressions"),
        ("/app/test-recipients/remove", "/app/test-recipients"),
        ("/app/webhooks/whk_x/deliveries/evt_x/replay", "/app/webhooks/whk_x"),
        ("/ops/plugins/plan-policy/shadow", "/ops/plugins/plan-policy"),
        ("/ops/check", "/ops"),
    ] {
        let led = browser.get(address).await;
        assert_eq!((led.status, led.to.as_deref()), (303, Some(page)), "{address}: {}", led.html);
        assert_eq!(led.policy, POLICY, "{address}");
        // The webhook is made up, and whoever is logged in needs no log-in.
        if !page.contains("whk_") && page != "/login" {
            assert_eq!(browser.get(page).await.status, 200, "{page}");
        }
    }
    let refused = browser.submit("/app/messages", &[]).await;
    assert!(refused.status == 405 && refused.html.contains("takes no form"), "{}", refused.html);

    let (mut guest, draft) = (Browser::new(&server), "/app/templates/mine/draft");
    let over = guest.send(draft, &[("edition", "1")]).await;
    assert_eq!(over.to.as_deref(), Some("/login?next=%2Fapp%2Ftemplates%2Fmine%2Fdraft"));
    assert_eq!(guest.send("/logout", &[]).await.to.as_deref(), Some("/login"));
    let (email, password) = dev_person(&server);
    let fields = [("email", email.as_str()), ("password", password.as_str()), ("next", draft)];
    assert_eq!(guest.send("/login", &fields).await.to.as_deref(), Some(draft));
    assert_eq!(guest.get(draft).await.to.as_deref(), Some("/app/templates/mine"));
}

#[tokio::test]
async fn a_new_password_ends_all_other_sessions() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let mut one = Browser::invited(&server, "di@example.com", &account.id, "owner").await;
    let mut other = Browser::new(&server);
    other.log_in("di@example.com", PASSWORD).await;
    let wrong = [("before", "x"), ("after", "another horse battery staple")];
    assert_eq!(one.submit("/app/profile/password", &wrong).await.status, 422);
    let right = [("before", PASSWORD), ("after", "another horse battery staple")];
    assert_eq!(one.submit("/app/profile/password", &right).await.status, 303);
    assert_eq!(other.get("/app").await.status, 303);
    assert_eq!(one.get("/app").await.status, 200);
}

#[tokio::test]
async fn every_page_has_the_policy_and_no_script_style_or_handler_of_its_own() {
    let server = Server::dev();
    let sent = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let mut browser = Browser::of_dev(&server).await;
    publish_mine(&mut browser).await;
    let mut pages = Vec::new();
    for path in [
        "/app",
        "/app/messages",
        "/app/messages?q=zzz",
        "/app/refusals",
        "/app/keys",
        "/app/keys/new",
        "/app/profile",
        "/app/accounts",
        "/app/templates",
        "/app/new-template",
        "/app/test-recipients",
        "/app/templates/mine",
        "/app/templates/mine/versions",
        "/app/templates/mine/diff?from=1&to=1",
        "/app/templates/mine/delete",
        "/app/templates/none",
        "/app/profile/factor",
        "/app/verify",
        "/app/inbox",
        "/app/domains",
        "/app/webhooks",
        "/app/webhooks/new",
        "/app/credits",
        "/app/suppressions",
        "/app/brand",
        "/app/team",
        "/app/audit",
        "/app/nothing",
        "/forgotten",
        "/ops",
        "/ops/accounts",
        "/ops/accounts/new",
        "/ops/plans",
        "/ops/queue",
        "/ops/plugins",
        "/ops/plugins/plan-policy",
        "/ops/audit",
        "/ops/nothing",
        "/login",
        "/setup/x",
        "/invite/x",
        "/reset/x",
        "/login/x",
    ] {
        pages.push((path.to_owned(), browser.get(path).await));
    }
    let path = format!("/app/messages/{sent}");
    pages.push((path.clone(), browser.get(&path).await));
    pages.push(("login".to_owned(), Browser::new(&server).get("/login").await));
    pages.push(("foreign form".to_owned(), browser.send_from("cross-site", "/logout", &[]).await));
    let made = browser.submit("/app/keys", &[("name", "k"), ("scope", "send")]).await;
    assert!(made.html.contains("wx_live_"), "{}", made.html);
    pages.push(("key made".to_owned(), made));
    let made = browser.submit("/app/webhooks", &[("url", "https://a.example")]).await;
    let webhook = made.html.split("/app/webhooks/whk_").nth(1).expect("a webhook");
    let webhook = webhook.split('"').next().expect("an identifier");
    let webhook = format!("/app/webhooks/whk_{webhook}");
    assert!(made.html.contains("whsec_"), "{}", made.html);
    pages.push(("webhook made".to_owned(), made));
    let added = browser.submit("/app/domains", &[("name", "a.example")]).await.to;
    let domain = added.expect("its page").replace("?done=added", "");
    for path in [&domain, &format!("{domain}/remove"), &webhook, &format!("{webhook}/remove")] {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.html);
        pages.push((path.clone(), page));
    }
    for path in ["/app/brand", "/app/domains", "/app/suppressions"] {
        let faulty = [("name", "<script>"), ("address", "<script>"), ("product_url", "<script>")];
        let page = browser.submit(path, &faulty).await;
        assert_eq!(page.status, 422, "{path}: {}", page.html);
        assert!(page.html.contains("&#60;script&#62;"), "{path}: {}", page.html);
        pages.push((format!("{path} refused"), page));
    }
    for (path, page) in &pages {
        assert_eq!(page.policy, POLICY, "{path}");
        assert_eq!(page.caching, "no-store", "{path}");
        // Its scripts are files of the dashboard.
        let html = page.html.replace("<script type=\"module\" src=\"/assets/", "");
        for forbidden in
            ["<script", "<style", " style=\"", " onclick", "javascript:", "http-equiv", "hx-on"]
        {
            assert!(!html.contains(forbidden), "{path} has {forbidden}");
        }
    }
    let (mine, token) = ("/app/templates/mine/preview", browser.form_token().await);
    let typed = [("subject", "s"), ("markup", "<p>typed</p>")];
    let framed = [
        browser.get(&format!("{path}/html")).await,
        browser.send(mine, &[("form", token.as_str()), ("edition", "1"), typed[0], typed[1]]).await,
        browser.get(mine).await,
    ];
    for preview in framed {
        assert!(preview.policy.starts_with("sandbox; default-src 'none'"), "{}", preview.policy);
        assert!(preview.policy.contains("frame-ancestors 'self'") && preview.status == 200);
    }
}

#[tokio::test]
async fn hostile_names_are_shown_as_text() {
    let server = Server::dev();
    let hostile = "<img src=x onerror=alert(1)>\"'&";
    let made = server.cli(&["account", "create", "--name", hostile]);
    let account = made["id"].as_str().expect("an account").to_owned();
    let mut browser = Browser::invited(&server, "eve@example.com", &account, "owner").await;
    let made = browser.submit("/app/keys", &[("name", hostile), ("scope", "send")]).await;
    let mut html = vec![made.html];
    for path in [
        "/app",
        "/app/keys",
        "/app/messages?q=%3Cimg%20src=x%3E",
        "/app/messages?state=%3Cimg%20src=x%3E",
    ] {
        html.push(browser.get(path).await.html);
    }
    let dev = server.dev_account();
    let body = json!({"to": "ada@example.com", "type": "EMAIL", "template": "verification-code",
                      "data": {"code": hostile, "subject": hostile}, "tags": ["<img src=x>"]});
    let sent = server.send(&dev.key, &body).await.message_id();
    let mut browser = Browser::of_dev(&server).await;
    html.push(browser.get(&format!("/app/messages/{sent}")).await.html);
    for page in html {
        assert!(!page.contains("<img src=x"), "{page}");
        assert!(page.contains("&#60;img src=x"), "{page}");
    }
}
