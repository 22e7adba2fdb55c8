//! Pages of whoever runs the server: what they do, and that nobody else finds them.

use std::time::Duration;

use serde_json::json;
use waxwing_guests::component;
use waxwing_tests::{Launch, Server, until_async};

use super::Browser;
use crate::fixture::message;

const PLAN: &str = "plan-policy";

#[tokio::test]
async fn pages_of_operators_are_not_there_for_others() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let paths = [
        "/ops".to_owned(),
        "/ops/accounts".to_owned(),
        "/ops/accounts/new".to_owned(),
        format!("/ops/accounts/{}", account.id),
        format!("/ops/accounts/{}/suspend", account.id),
        "/ops/plans".to_owned(),
        "/ops/queue".to_owned(),
        "/ops/plugins".to_owned(),
        "/ops/audit".to_owned(),
        format!("/ops/plugins/{PLAN}"),
        format!("/ops/plugins/{PLAN}/rollback"),
        "/ops/nothing".to_owned(),
    ];
    let posts = [
        "/ops/accounts".to_owned(),
        format!("/ops/accounts/{}/grant", account.id),
        format!("/ops/accounts/{}/plan", account.id),
        format!("/ops/accounts/{}/suspend", account.id),
        format!("/ops/accounts/{}/resume", account.id),
        format!("/ops/accounts/{}/act", account.id),
        "/ops/queue/example.org/try".to_owned(),
        format!("/ops/plugins/{PLAN}/rollback"),
        format!("/ops/plugins/{PLAN}/activate"),
        format!("/ops/plugins/{PLAN}/disable"),
    ];
    for role in ["read-only", "member", "owner"] {
        let email = format!("{role}@example.com");
        let mut browser = Browser::invited(&server, &email, &account.id, role).await;
        assert!(!browser.get("/app").await.html.contains("href=\"/ops"), "{role}");
        for path in &paths {
            assert_eq!(browser.get(path).await.status, 404, "{role} {path}");
        }
        for path in &posts {
            let fields = [("amount", "5"), ("plan", "business"), ("name", "Mine")];
            assert_eq!(browser.submit(path, &fields).await.status, 404, "{role} {path}");
        }
    }
    assert_eq!(server.balance(&account.id), 10);
    let mut operator = Browser::of_dev(&server).await;
    let page = operator.get("/ops/accounts").await;
    assert_eq!(page.html.matches("/ops/accounts/acc_").count(), 2, "{}", page.html);
    for path in paths.iter().filter(|it| !it.ends_with("nothing")) {
        assert_eq!(operator.get(path).await.status, 200, "{path}");
    }
    assert_eq!(operator.get("/ops/nothing").await.status, 404);
    let page = Browser::new(&server).get("/ops/queue").await;
    assert_eq!(page.to.as_deref(), Some("/login?next=%2Fops%2Fqueue"));
}

#[tokio::test]
async fn an_operator_opens_pays_and_suspends_accounts() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let faulty = browser.submit("/ops/accounts", &[("name", ""), ("plan", "free")]).await;
    assert!(faulty.status == 422 && faulty.html.contains("must be 1 to 200"), "{}", faulty.html);
    let faulty = browser.submit("/ops/accounts", &[("name", "Tern"), ("plan", "fere")]).await;
    assert!(faulty.status == 422 && faulty.html.contains("is not known"), "{}", faulty.html);
    let made = browser.submit("/ops/accounts", &[("name", "Tern"), ("plan", "free")]).await;
    let path = made.to.expect("its page");
    let path = path.split('?').next().expect("a path").to_owned();
    let opened = path.rsplit('/').next().expect("an account").to_owned();

    let form = browser.get(&path).await;
    let once = form.value("once");
    let grant = [("once", once.as_str()), ("amount", "1 500"), ("reason", "Invoice 7")];
    for _ in 0..2 {
        let granted = browser.submit(&format!("{path}/grant"), &grant).await;
        assert_eq!(granted.status, 303, "{}", granted.html);
    }
    assert_eq!(server.balance(&opened), 1_500, "a form that is sent twice grants once");
    let page = browser.get(&path).await;
    assert!(
        page.html.contains("Invoice 7") && page.html.contains("+1\u{202f}500"),
        "{}",
        page.html
    );
    for amount in ["0", "-5", "many", ""] {
        let refused = browser.submit(&format!("{path}/grant"), &[("amount", amount)]).await;
        assert!(refused.status == 422 && refused.html.contains("must be from 1"), "{amount}");
    }
    let changed = browser.submit(&format!("{path}/plan"), &[("plan", "business")]).await;
    assert_eq!(changed.status, 303, "{}", changed.html);
    assert!(browser.get(&path).await.html.contains("value=\"business\""));

    let account = server.open_account("pro", 10);
    let path = format!("/ops/accounts/{}", account.id);
    assert!(browser.get(&format!("{path}/suspend")).await.html.contains("Suspend “Test”?"));
    browser.submit(&format!("{path}/suspend"), &[]).await;
    let refused = server.send(&account.key, &message("ada@example.com")).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert!(browser.get(&path).await.html.contains("suspended"));
    browser.submit(&format!("{path}/resume"), &[]).await;
    server.send(&account.key, &message("ada@example.com")).await.message_id();

    let log = server.cli(&["user", "list"]);
    assert_eq!(log.as_array().map(Vec::len), Some(1), "no user was made: {log}");
    let rows = super::audit::rows(&server);
    let count = |action: &str| rows.iter().filter(|it| it.0 == "user" && it.1 == action).count();
    assert_eq!(count("create_account"), 1, "{rows:?}");
    assert_eq!(count("grant_credits"), 1, "{rows:?}");
    assert_eq!(count("change_account"), 3, "{rows:?}");
}

#[tokio::test]
async fn a_plugin_is_activated_and_rolled_back_by_page() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let path = format!("/ops/plugins/{PLAN}");
    let page = browser.get(&path).await;
    assert!(page.html.contains("built in") && page.html.contains(">plans "));
    assert!(!page.html.contains("Roll back…"), "nothing was before the built-in one");
    let refused = browser.submit(&format!("{path}/rollback"), &[]).await;
    assert!(
        refused.status == 409 && refused.html.contains("nothing before it"),
        "{}",
        refused.html
    );
    server.install(PLAN, "?impact=ask", &component("price-one")).await;
    let waits = async || {
        let slot = server.slot(PLAN).await;
        slot["candidate"]["waits"].as_str().map(str::to_owned)
    };
    until_async("the component waits", Duration::from_mins(2), waits).await;
    let page = browser.get(&path).await;
    assert!(page.html.contains("Waits for you"), "{}", page.html);
    assert!(browser.get("/ops").await.html.contains("a component waits for you"));
    let page = browser.get(&format!("{path}/activate")).await;
    assert!(page.html.contains("With the next call price-one"), "{}", page.html);
    let done = browser.submit(&format!("{path}/activate"), &[]).await;
    assert_eq!(done.to, Some(format!("{path}?done=activated")), "{}", done.html);
    let page = browser.get(&path).await;
    assert!(page.html.contains("price-one") && page.html.contains("Roll back…"), "{}", page.html);
    let asked = browser.get(&format!("{path}/rollback")).await;
    assert!(asked.html.contains("the built-in plugin answers"), "{}", asked.html);
    let done = browser.submit(&format!("{path}/rollback"), &[]).await;
    assert_eq!(done.to, Some(format!("{path}?done=rolled-back")), "{}", done.html);
    let page = browser.get(&path).await;
    assert!(page.html.contains("The operator rolled it back."), "{}", page.html);
    assert_eq!(server.slot(PLAN).await["active"]["builtin"], json!(true));
    assert_eq!(browser.get(&format!("{path}/install")).await.status, 404);
    let rows = super::audit::rows(&server);
    for action in ["activate_plugin", "roll_back_plugin"] {
        assert!(rows.iter().any(|it| it.0 == "user" && it.1 == action), "{action}: {rows:?}");
    }
}

#[tokio::test]
async fn the_queue_says_what_waits_and_tries_now() {
    let down = Launch::dev().with("inbox", "enabled", "false");
    let server = Server::start(down.with("delivery", "retry_pauses_s", "[600]"));
    let mut browser = Browser::of_dev(&server).await;
    assert!(browser.get("/ops/queue").await.html.contains("Nothing waits"));
    let sent = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let is_deferred = async || {
        let shown = server.get_as(server.key(), &format!("/v1/messages/{sent}")).await;
        (shown.body["state"] == "deferred").then_some(())
    };
    until_async("the message is deferred", Duration::from_secs(30), is_deferred).await;
    let page = browser.get("/ops/queue").await;
    assert!(page.html.contains("href=\"/ops/queue/sandbox\""), "{}", page.html);
    assert!(browser.get("/ops/queue?q=sand").await.html.contains("/ops/queue/sandbox"));
    assert!(browser.get("/ops/queue?q=zz").await.html.contains("No destination matches"));
    let page = browser.get("/ops/queue/sandbox").await;
    assert!(page.html.contains("1 message") && page.html.contains("Last error"), "{}", page.html);
    let tried = browser.submit("/ops/queue/sandbox/try", &[]).await;
    assert_eq!(tried.to.as_deref(), Some("/ops/queue/sandbox?tried=1"), "{}", tried.html);
    let page = browser.get("/ops/queue/sandbox?tried=1").await;
    assert!(page.html.contains("One message is due now."), "{}", page.html);
    assert_eq!(browser.get("/ops/queue/nobody.example").await.status, 404);
    let rows = super::audit::rows(&server);
    assert!(rows.iter().any(|it| it.1 == "retry_destination" && it.2 == "sandbox"), "{rows:?}");
}

#[tokio::test]
async fn health_names_settings_with_their_source_and_no_secret() {
    let smarthost =
        "[{ name = \"post\", host = \"127.0.0.1\", user = \"u\", password = \"hunter2-x\" }]";
    let launch = Launch::dev().with("limits", "failed_logins", "77");
    let server = Server::start(launch.with("delivery", "smarthosts", smarthost));
    let mut browser = Browser::of_dev(&server).await;
    let page = browser.get("/ops").await;
    assert_eq!(page.status, 200, "{}", page.html);
    for part in ["Certificate", "Sends can be accepted.", "WAXWING_LIMITS__FAILED_LOGINS", ">77<"] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    assert!(!page.html.contains("hunter2"), "{}", page.html);
}

#[tokio::test]
async fn hostile_names_are_text_on_pages_of_operators() {
    let server = Server::dev();
    let hostile = "<script>alert(1)</script>\"'&";
    let mut browser = Browser::of_dev(&server).await;
    let made = browser.submit("/ops/accounts", &[("name", hostile), ("plan", "free")]).await;
    let path = made.to.expect("its page");
    let path = path.split('?').next().expect("a path").to_owned();
    let grant = [("amount", "5"), ("reason", hostile)];
    browser.submit(&format!("{path}/grant"), &grant).await;
    let plan = browser.submit(&format!("{path}/plan"), &[("plan", hostile)]).await;
    let suspend = browser.get(&format!("{path}/suspend")).await;
    let (list, one) = (browser.get("/ops/accounts").await, browser.get(&path).await);
    let queue = browser.get("/ops/queue?q=%3Cscript%3Ealert(1)").await;
    for page in [plan, suspend, list, one, queue] {
        assert!(!page.html.contains("<script>"), "{}", page.html);
        assert!(page.html.contains("&#60;script&#62;alert(1)"), "{}", page.html);
    }
}
