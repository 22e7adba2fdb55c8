//! Pages of whoever runs the server: what they do, and that nobody else finds them.

use std::time::Duration;

use serde_json::{Value, json};
use waxwing_guests::component;
use waxwing_tests::{Launch, Server, until_async};

use super::{Browser, Page};
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
        format!("/ops/accounts/{}/delete", account.id),
        "/ops/plans".to_owned(),
        "/ops/queue".to_owned(),
        "/ops/plugins".to_owned(),
        "/ops/audit".to_owned(),
        "/ops/decisions".to_owned(),
        format!("/ops/plugins/{PLAN}/settings"),
        format!("/ops/plugins/{PLAN}"),
        format!("/ops/plugins/{PLAN}/rollback"),
        "/ops/nothing".to_owned(),
    ];
    let posts = [
        "/ops/check".to_owned(),
        "/ops/accounts".to_owned(),
        format!("/ops/accounts/{}/grant", account.id),
        format!("/ops/accounts/{}/plan", account.id),
        format!("/ops/accounts/{}/suspend", account.id),
        format!("/ops/accounts/{}/resume", account.id),
        format!("/ops/accounts/{}/delete", account.id),
        format!("/ops/accounts/{}/act", account.id),
        "/ops/queue/example.org/try".to_owned(),
        format!("/ops/plugins/{PLAN}/rollback"),
        format!("/ops/plugins/{PLAN}/activate"),
        format!("/ops/plugins/{PLAN}/disable"),
        format!("/ops/plugins/{PLAN}/settings"),
        format!("/ops/plugins/{PLAN}/shadow"),
        "/ops/decisions/dec_01ARZ3NDEKTSV4RRFFQ69G5FAV/replay".to_owned(),
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
    let rows = super::audit::rows(&server).await;
    let count = |action: &str| rows.iter().filter(|it| it.0 == "user" && it.1 == action).count();
    assert_eq!(count("create_account"), 1, "{rows:?}");
    assert_eq!(count("grant_credits"), 1, "{rows:?}");
    assert_eq!(count("change_account"), 3, "{rows:?}");
}

#[tokio::test]
async fn an_operator_deletes_a_suspended_account_by_typing_its_name() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let account = server.open_account("pro", 10);
    let path = format!("/ops/accounts/{}", account.id);
    let delete = format!("{path}/delete");
    assert!(!browser.get(&path).await.html.contains("Delete…"), "an active account has no button");
    assert!(browser.get(&delete).await.html.contains("Suspend the account first"));
    let early = browser.submit(&delete, &[("name", "Test")]).await;
    assert!(early.status == 409 && early.html.contains("only a suspended one"), "{}", early.html);
    browser.submit(&format!("{path}/suspend"), &[]).await;
    assert!(browser.get(&path).await.html.contains("Delete…"));
    let wrong = browser.submit(&delete, &[("name", "Tset")]).await;
    assert!(wrong.status == 422 && wrong.html.contains("Nothing was deleted"), "{}", wrong.html);
    let done = browser.submit(&delete, &[("name", "Test")]).await;
    assert_eq!(done.to, Some(format!("{path}?done=deleting")), "{}", done.html);
    let api = format!("/v1/accounts/{}", account.id);
    let gone = async || (server.get_as(server.key(), &api).await.status == 404).then_some(());
    until_async("the account is gone", Duration::from_mins(1), gone).await;
    assert_eq!(browser.get(&path).await.status, 404);
    let page = browser.get("/ops/accounts").await;
    assert_eq!(page.html.matches("/ops/accounts/acc_").count(), 1, "{}", page.html);
    let rows = super::audit::rows(&server).await;
    assert!(rows.iter().any(|it| it.0 == "user" && it.1 == "delete_account"), "{rows:?}");
}

/// Reads the page of an order to a plugin, and gives the order.
async fn order(browser: &mut Browser<'_>, page: &str) -> Page {
    let seen = browser.get(page).await.value("seen");
    browser.submit(page, &[("seen", &seen)]).await
}

#[tokio::test]
async fn a_plugin_is_activated_and_rolled_back_by_page() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let path = format!("/ops/plugins/{PLAN}");
    let page = browser.get(&path).await;
    assert!(page.html.contains("built in") && page.html.contains(">plans "));
    assert!(!page.html.contains("Roll back…"), "nothing was before the built-in one");
    let refused = order(&mut browser, &format!("{path}/rollback")).await;
    assert!(
        refused.status == 409 && refused.html.contains("nothing to roll back"),
        "{}",
        refused.html
    );
    let asked = browser.get(&format!("{path}/rollback")).await;
    assert!(asked.html.contains("There is nothing to roll back to."), "{}", asked.html);
    assert!(!asked.html.contains("button main danger"), "no button leads there: {}", asked.html);
    let before = browser.get(&format!("{path}/activate")).await.value("seen");
    let old = browser.get(&format!("{path}/settings")).await.value("seen");
    server.install(PLAN, "?impact=ask", &component("price-one")).await;
    let waits = async || {
        let slot = server.slot(PLAN).await;
        slot["candidate"]["waits"].as_str().map(str::to_owned)
    };
    until_async("the component waits", Duration::from_mins(2), waits).await;
    let page = browser.get(&path).await;
    assert!(page.html.contains("Waits for you"), "{}", page.html);
    browser.submit("/ops/check", &[]).await;
    let health = browser.get("/ops").await;
    assert!(health.html.contains("a component waits for you"), "{}", health.html);
    assert!(health.html.contains(&format!("<a href=\"{path}\">{PLAN}</a>")), "{}", health.html);
    let page = browser.get(&format!("{path}/activate")).await;
    assert!(page.html.contains("With the next call price-one"), "{}", page.html);
    let other = browser.submit(&format!("{path}/activate"), &[("seen", &before)]).await;
    assert!(other.status == 409 && other.html.contains("has changed since"), "{}", other.html);
    let typed = [("seen", old.as_str()), ("s.plans.0.name", "mine")];
    let other = browser.submit(&format!("{path}/settings"), &typed).await;
    assert!(other.status == 409 && other.html.contains("has changed since"), "{}", other.html);
    assert!(other.html.contains("waits in this slot"), "{}", other.html);
    let shadow = [("seen", before.as_str()), ("calls", "1")];
    let other = browser.submit(&format!("{path}/shadow"), &shadow).await;
    assert!(other.status == 409 && other.html.contains("Waits for you"), "{}", other.html);
    let done = order(&mut browser, &format!("{path}/activate")).await;
    assert_eq!(done.to, Some(format!("{path}?done=activated")), "{}", done.html);
    let page = browser.get(&path).await;
    assert!(page.html.contains("price-one") && page.html.contains("Roll back…"), "{}", page.html);
    let asked = browser.get(&format!("{path}/rollback")).await;
    assert!(asked.html.contains("the built-in plugin answers"), "{}", asked.html);
    let done = order(&mut browser, &format!("{path}/rollback")).await;
    assert_eq!(done.to, Some(format!("{path}?done=rolled-back")), "{}", done.html);
    let page = browser.get(&path).await;
    assert!(page.html.contains("The operator rolled it back."), "{}", page.html);
    assert_eq!(server.slot(PLAN).await["active"]["builtin"], json!(true));
    assert_eq!(browser.get(&format!("{path}/install")).await.status, 404);
    let rows = super::audit::rows(&server).await;
    for action in ["activate_plugin", "roll_back_plugin"] {
        assert!(rows.iter().any(|it| it.0 == "user" && it.1 == action), "{action}: {rows:?}");
    }
}

#[tokio::test]
async fn settings_of_a_plugin_are_typed_proven_and_rolled_back() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let path = format!("/ops/plugins/{PLAN}");
    let form = browser.get(&format!("{path}/settings")).await;
    assert!(form.html.contains("name=\"s.plans.0.name\" value=\"free\""), "{}", form.html);
    let seen = form.value("seen");
    let fields = [
        ("seen", seen.as_str()),
        ("s.plans.0.name", "free"),
        ("s.plans.0.dailyLimit", "ten"),
        ("s.plans.1.name", "gold"),
        ("s.plans.1.creditsPerRecipient", "2"),
    ];
    let faulty = browser.submit(&format!("{path}/settings"), &fields).await;
    assert!(faulty.status == 422 && faulty.html.contains("“ten” is no number"), "{}", faulty.html);
    assert!(faulty.html.contains("value=\"ten\"") && faulty.html.contains("value=\"gold\""));
    let mut below = fields;
    below[2].1 = "0";
    let faulty = browser.submit(&format!("{path}/settings"), &below).await;
    assert!(faulty.status == 422 && faulty.html.contains("minimum"), "by schema: {}", faulty.html);
    let mut good = fields;
    good[2].1 = "10";
    let saved = browser.submit(&format!("{path}/settings"), &good).await;
    assert_eq!(saved.to, Some(format!("{path}?done=configured")), "{}", saved.html);
    let at_once = browser.submit(&format!("{path}/settings"), &good).await;
    let is_refused =
        ["being proven", "has changed since"].iter().any(|it| at_once.html.contains(it));
    assert!(at_once.status == 409 && is_refused, "{}", at_once.html);
    let names = async || {
        let plans = server.get_as(server.key(), "/v1/plans").await.body;
        let plans = plans["data"].as_array().cloned().unwrap_or_default();
        plans.iter().filter_map(|it| it["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let are = async |wanted: &[&str]| (names().await == wanted).then_some(());
    let wait = Duration::from_mins(1);
    until_async("the settings are live", wait, async || are(&["free", "gold"]).await).await;
    // The page is told of it a moment after the plans.
    let settled = |it: &Value| {
        (it["candidate"].is_null() && it["active"]["settingsRevision"] == 1).then_some(())
    };
    server.until_slot(PLAN, "the settings are shown", settled).await;
    let shown = browser.get(&path).await;
    assert!(shown.html.contains("gold") && shown.html.contains("Roll back…"), "{}", shown.html);
    if server.store_url().is_none() {
        let file = format!("{}/{PLAN}.toml", server.dev_output("pluginsDir"));
        let file = std::fs::read_to_string(file).expect("written");
        assert!(file.contains("kind = \"plan\""), "{file}");
        assert!(file.contains("[[settings.plans]]"), "{file}");
    }
    let late = browser.submit(&format!("{path}/settings"), &good).await;
    assert!(late.status == 409 && late.html.contains("has changed since"), "{}", late.html);
    assert!(late.html.contains("value=\"gold\""), "the settings as they are now: {}", late.html);
    assert_ne!(late.value("seen"), seen, "and this form may be saved");
    order(&mut browser, &format!("{path}/rollback")).await;
    let before = ["free", "starter", "pro", "business", "enterprise"];
    until_async("the ones before are live", wait, async || are(&before).await).await;
    let rows = super::audit::rows(&server).await;
    let configured = rows.iter().filter(|it| it.0 == "user" && it.1 == "configure_plugin").count();
    assert_eq!(configured, 1, "{rows:?}");
}

#[tokio::test]
async fn settings_of_a_plugin_are_put_over_http() {
    let server = Server::dev();
    let path = format!("/v1/plugins/{PLAN}/settings");
    let put = async |key: &str, path: &str, body: serde_json::Value| {
        let request = server.request(reqwest::Method::PUT, path).header("x-api-key", key);
        server.answer(request.json(&body)).await
    };
    let key = server.key();
    put(key, &path, json!({"plans": [{"name": "free", "dailyLimit": 0}]}))
        .await
        .assert_faults(&["settings"]);
    put(key, &path, json!([])).await.assert_refused(400, "BAD_REQUEST");
    put(key, "/v1/plugins/nothing/settings", json!({})).await.assert_refused(404, "NOT_FOUND");
    let account = server.open_account("pro", 0);
    let (_, admin) = server.make_key(&account.id, &["--scope", "admin"]);
    put(&admin, &path, json!({})).await.assert_refused(403, "FORBIDDEN");
    let settings = json!({"plans": [{"name": "free"}, {"name": "gold", "dailyLimit": null}]});
    let put = put(key, &path, settings).await;
    assert_eq!((put.status, &put.body["slot"]), (202, &json!(PLAN)), "{}", put.body);
    let is_live = async || {
        let plans = server.get_as(key, "/v1/plans").await.body;
        (plans["data"][1]["name"] == "gold").then_some(())
    };
    until_async("the settings are live", Duration::from_mins(1), is_live).await;
}

#[tokio::test]
async fn decisions_are_found_shown_with_their_input_and_made_again() {
    let server = Server::start(Launch::dev().with("plugins", "sample_every", "1"));
    let mut browser = Browser::of_dev(&server).await;
    assert!(browser.get("/ops/decisions").await.html.contains("Nothing was decided yet"));
    let account = server.open_account("free", 10);
    let sent = server.send(&account.key, &message("ada@example.com")).await.message_id();
    let recorded = async || {
        let path = format!("/v1/decisions/{sent}");
        let decision = server.get_as(server.key(), &path).await.body;
        let is_recorded = decision["recorded"].as_array().is_some_and(|it| it.len() > 1);
        is_recorded.then(|| decision["id"].as_str().expect("an id").to_owned())
    };
    let id = until_async("the calls are recorded", Duration::from_secs(30), recorded).await;
    let list = browser.get(&format!("/ops/decisions?q={}+plugin:{PLAN}", account.id)).await;
    assert!(list.html.contains(&id) && list.html.contains("accepted"), "{}", list.html);
    for (query, found) in [
        ("plugin:nothing", false),
        ("outcome:FORBIDDEN", false),
        ("liquid-renderer", true),
        ("account:nobody", false),
    ] {
        let page = browser.get(&format!("/ops/decisions?q={query}")).await;
        assert_eq!(page.html.contains(&id), found, "{query}: {}", page.html);
    }
    assert!(!browser.get("/ops/decisions?only=refused").await.html.contains(&id));
    let shown = server.get_as(server.key(), &format!("/v1/accounts/{}", account.id)).await.body;
    let name = shown["name"].as_str().expect("a name").to_owned();
    let named = format!("href=\"/ops/accounts/{}\"", account.id);
    assert!(list.html.contains(&named) && list.html.contains(&name), "{}", list.html);
    let jump = browser.get(&format!("/ops/decisions?q={sent}")).await;
    assert_eq!(jump.to, Some(format!("/ops/decisions/{sent}")), "{}", jump.html);
    let path = format!("/ops/decisions/{id}");
    let page = browser.get(&path).await;
    for part in [sent.as_str(), account.id.as_str(), "What went in", "verification-code", PLAN] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    let calls = server.get_as(server.key(), &format!("/v1/decisions/{id}/calls")).await.body;
    let calls = calls["data"].as_array().expect("calls");
    assert!(calls.len() > 1, "{calls:?}");
    for call in calls {
        let slot = call["slot"].as_str().expect("a slot");
        assert!(!call["input"].is_null() && !call["answer"].is_null(), "{call}");
        assert!(page.html.contains(slot), "{slot}: {}", page.html);
    }
    let again = browser.submit(&format!("{path}/replay"), &[]).await;
    assert!(again.status == 200 && again.html.contains("the same answer"), "{}", again.html);
    assert!(!again.html.contains("another answer"), "{}", again.html);
    assert_eq!(browser.get("/ops/decisions/dec_01ARZ3NDEKTSV4RRFFQ69G5FAV").await.status, 404);
    let token = browser.send(&format!("{path}/replay"), &[]).await;
    assert_eq!(token.status, 403, "without the form's token");
}

#[tokio::test]
async fn a_component_that_waits_answers_live_calls_in_the_shadow() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let path = format!("/ops/plugins/{PLAN}");
    server.install(PLAN, "?impact=ask", &component("price-one")).await;
    let waits = async || {
        let slot = server.slot(PLAN).await;
        slot["candidate"]["waits"].as_str().map(str::to_owned)
    };
    until_async("the component waits", Duration::from_mins(2), waits).await;
    assert!(browser.get(&path).await.html.contains("Live calls in the shadow"));
    let refused = browser.submit(&format!("{path}/shadow"), &[("calls", "0")]).await;
    assert_eq!(refused.status, 400, "{}", refused.html);
    let seen = browser.get(&path).await.value("seen");
    let calls = [("seen", seen.as_str()), ("calls", "2")];
    let begun = browser.submit(&format!("{path}/shadow"), &calls).await;
    assert_eq!(begun.to, Some(format!("{path}?done=shadowed")), "{}", begun.html);
    for to in ["a@example.com", "b@example.com"] {
        server.send(server.key(), &message(to)).await.message_id();
    }
    let shadowed = async || {
        let page = browser.client.get(browser.url(&path));
        let cookie = format!("__Host-waxwing={}", browser.cookie.as_deref().unwrap_or_default());
        let html = page.header("cookie", cookie).send().await.expect("a page").text().await;
        html.expect("a text").contains("Live calls, in the shadow").then_some(())
    };
    until_async("the page shows what the shadow said", Duration::from_mins(1), shadowed).await;
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
    let rows = super::audit::rows(&server).await;
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
    let settings = server.get_as(server.key(), "/v1/settings").await.body;
    let set = json!({"section": "limits", "key": "failed_logins", "value": "77",
                     "source": "WAXWING_LIMITS__FAILED_LOGINS"});
    assert!(settings["data"].as_array().is_some_and(|it| it.contains(&set)), "{settings}");
    assert!(!settings.to_string().contains("hunter2"), "{settings}");
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
