//! Credits, suppressions and brand on the pages: what bounds and shapes the mail of an account.

use reqwest::Method;
use serde_json::json;
use waxwing_tests::{Launch, Receiver, Server};

use super::{Browser, audit};
use crate::fixture::message;

#[tokio::test]
async fn the_ledger_goes_on_from_page_to_page_and_is_the_accounts_own() {
    let server = Server::dev();
    let (own, other) = (server.open_account("pro", 0), server.open_account("pro", 10));
    let mut browser = Browser::invited(&server, "ann@example.com", &own.id, "read-only").await;
    let page = browser.get("/app/credits").await;
    assert!(page.html.contains("There are no credits left"), "{}", page.html);
    assert!(page.html.contains("Nothing was granted or spent yet"), "{}", page.html);
    let page = browser.get("/app").await;
    assert!(page.html.contains("The operator of this server grants credits"), "{}", page.html);
    let grant = ["credits", "grant", "--account", &own.id, "1000", "--reason", "<i>first"];
    drop(server.cli(&grant));
    for _ in 0..51 {
        server.grant(&own.id, 1_000);
    }
    server.send(&own.key, &message("ada@example.com")).await.message_id();
    let page = browser.get("/app/credits").await;
    assert!(page.html.contains("51\u{202f}999"), "{}", page.html);
    assert!(page.html.contains("10+ years") && page.html.contains("1 message"));
    let links = page.html.split("href=\"").filter_map(|it| it.split('"').next());
    let next = links.filter(|it| it.contains("after=")).last().expect("a next page").to_owned();
    let second = browser.get(&next).await;
    assert_eq!(second.html.matches("<tr>").count(), 4, "a heading and three rows: {}", second.html);
    assert!(second.html.contains("&#60;i&#62;first") && second.html.contains("← Newest"));
    let mut foreign = Browser::invited(&server, "eve@example.com", &other.id, "owner").await;
    let page = foreign.get(&next).await;
    assert!(!page.html.contains("&#60;i&#62;"), "another's cursor shows nothing of its ledger");
}

#[tokio::test]
async fn an_operator_without_credits_is_led_to_where_they_are_granted() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let mut operator = Browser::of_dev(&server).await;
    let granting = format!("/ops/accounts/{}", account.id);
    assert_eq!(operator.submit(&format!("{granting}/act"), &[]).await.status, 303);
    let page = operator.get("/app").await;
    let link = format!("<a class=\"strong\" href=\"{granting}\">There are no credits left</a>");
    assert!(page.html.contains(&link), "{}", page.html);
    assert_eq!(operator.get(&granting).await.status, 200);
}

#[tokio::test]
async fn an_owner_says_below_which_balance_webhooks_are_told() {
    let (receiver, server) = (Receiver::start().await, Server::start(Launch::posting_here()));
    let account = server.open_account("pro", 10);
    let (_, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
    let mut owner = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    let mut member = Browser::invited(&server, "bo@example.com", &account.id, "member").await;
    let path = "/app/credits";
    let page = member.get(path).await;
    assert!(page.html.contains("falls below 100, as for every account"), "{}", page.html);
    assert!(!page.html.contains("name=\"low\""), "{}", page.html);
    assert_eq!(member.submit(path, &[("low", "5")]).await.status, 403);
    for bad in ["-1", "many", "1000000000001"] {
        let page = owner.submit(path, &[("low", bad)]).await;
        assert!(page.status == 422 && page.html.contains("from 0 to"), "{bad}: {}", page.html);
        assert!(page.html.contains(&format!("value=\"{bad}\"")), "it is kept: {}", page.html);
    }
    let changed = owner.submit(path, &[("low", "10")]).await;
    assert_eq!(changed.to.as_deref(), Some("/app/credits?done=threshold"), "{}", changed.html);
    let page = owner.get(path).await;
    assert!(page.html.contains("falls below 10</dd>"), "{}", page.html);
    assert_eq!(server.get_as(&key, "/v1/account").await.body["creditsLow"], 10);
    server.make_webhook(&key, &receiver, &["credits.low"]).await;
    server.send(&key, &message("ada@example.com")).await.message_id();
    let told = receiver.event("credits.low").await.event();
    assert_eq!(told["data"]["threshold"], 10, "{told}");
    assert_eq!(owner.submit(path, &[("low", "")]).await.status, 303);
    assert_eq!(server.get_as(&key, "/v1/account").await.body["creditsLow"], json!(null));
    let shown = server.cli(&["account", "update", &account.id, "--credits-low", "3"]);
    assert_eq!(shown["creditsLow"], 3, "{shown}");
    let shown = server.cli(&["account", "update", &account.id, "--credits-low", "default"]);
    assert_eq!(shown["creditsLow"], json!(null), "{shown}");
    let patched = server.request(Method::PATCH, "/v1/account").header("x-api-key", &key);
    let patched = server.answer(patched.json(&json!({"creditsLow": -1, "name": 7}))).await;
    patched.assert_refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn suppressions_are_added_found_and_taken_off() {
    let server = Server::dev();
    let account = server.open_account("pro", 100);
    let mut browser = Browser::invited(&server, "ann@example.com", &account.id, "member").await;
    assert!(browser.get("/app/suppressions").await.html.contains("Nobody is on the list"));
    let path = "/app/suppressions";
    let faulty = browser.submit(path, &[("address", "ada"), ("reason", "a\nb")]).await;
    assert!(faulty.status == 422 && faulty.html.contains("value=\"ada\""), "{}", faulty.html);
    assert!(faulty.html.contains("The address") && faulty.html.contains("The reason"));
    for number in 0..52 {
        let address = format!("n{number:02}@example.com");
        let fields = [("address", address.as_str()), ("reason", "<b>asked")];
        let added = browser.submit(path, &fields).await;
        assert_eq!(added.to.as_deref(), Some("/app/suppressions?done=added"), "{}", added.html);
    }
    let again = browser.submit(path, &[("address", "N00@Example.com")]).await;
    assert_eq!(again.to.as_deref(), Some("/app/suppressions?done=stood"), "{}", again.html);
    let page = browser.get(path).await;
    assert_eq!(page.html.matches("name=\"address\" value=\"n").count(), 50, "{}", page.html);
    assert!(page.html.contains("&#60;b&#62;asked"), "{}", page.html);
    let links = page.html.split("href=\"").filter_map(|it| it.split('"').next());
    let next = links.filter(|it| it.contains("after=")).last().expect("a next page").to_owned();
    let second = browser.get(&next).await;
    assert!(second.html.contains("n51@example.com") && !second.html.contains("n49@"));
    let found = browser.get("/app/suppressions?q=N51@example.com").await;
    assert!(found.html.contains("n51@example.com") && !found.html.contains("n50@"));
    let found = browser.get("/app/suppressions?q=n4").await;
    assert_eq!(found.html.matches("name=\"address\" value=\"n").count(), 10, "{}", found.html);
    assert!(browser.get("/app/suppressions?kind=bounce").await.html.contains("No address matches"));

    let sent = server.send(&account.key, &message("n00@example.com")).await;
    assert_eq!(sent.body["state"], "suppressed", "{}", sent.body);
    let chosen = [("address", "n00@example.com"), ("address", "n01@example.com")];
    let removed = browser.submit("/app/suppressions/remove", &chosen).await;
    assert!(removed.html.contains("2 addresses are off the list"), "{}", removed.html);
    let sent = server.send(&account.key, &message("n00@example.com")).await;
    assert_eq!(sent.body["state"], "queued", "{}", sent.body);
    let removed = browser.submit("/app/suppressions/remove", &chosen).await;
    assert_eq!(removed.to.as_deref(), Some("/app/suppressions?done=none"), "{}", removed.html);
    let rows = audit::rows(&server).await;
    let count = |action: &str| rows.iter().filter(|it| it.0 == "user" && it.1 == action).count();
    assert_eq!((count("add_suppression"), count("delete_suppression")), (53, 2), "{rows:?}");

    let mut reader = Browser::invited(&server, "bo@example.com", &account.id, "read-only").await;
    let other = server.open_account("pro", 0);
    let mut foreign = Browser::invited(&server, "eve@example.com", &other.id, "owner").await;
    let one = [("address", "n02@example.com")];
    assert!(!reader.get(path).await.html.contains("Take the chosen off"));
    assert_eq!(reader.submit(path, &one).await.status, 403);
    assert_eq!(reader.submit("/app/suppressions/remove", &one).await.status, 403);
    let removed = foreign.submit("/app/suppressions/remove", &one).await;
    assert_eq!(removed.to.as_deref(), Some("/app/suppressions?done=none"), "{}", removed.html);
    for path in [path, "/app/suppressions/remove"] {
        assert_eq!(browser.send_from("cross-site", path, &one).await.status, 403, "{path}");
        assert_eq!(browser.send(path, &one).await.status, 403, "{path} without the form's token");
    }
    assert!(browser.get("/app/suppressions?q=n02").await.html.contains("n02@example.com"));
}

#[tokio::test]
async fn what_was_taken_off_the_list_is_put_back_as_it_was() {
    let server = Server::dev();
    let (account, other) = (server.open_account("pro", 100), server.open_account("pro", 0));
    let mut browser = Browser::invited(&server, "ann@example.com", &account.id, "member").await;
    let (_, admin) = server.make_key(&account.id, &["--scope", "admin"]);
    let body = json!({"address": "ada@example.com", "reason": "<b>by telephone",
                      "expiresAt": "2099-01-01T00:00:00Z"});
    let added = server.post("/v1/suppressions", &admin, &body, &[]).await;
    assert_eq!(added.status, 201, "{}", added.body);
    let before = async || server.get_as(&admin, "/v1/suppressions/ada@example.com").await.body;
    let stood = before().await;
    let chosen = [("address", "ada@example.com")];
    let removed = browser.submit("/app/suppressions/remove", &chosen).await;
    assert!(removed.html.contains("ada@example.com is off the list"), "{}", removed.html);
    let undo = removed.value("removed");
    let sealed = [("removed", undo.as_str())];
    let mut foreign = Browser::invited(&server, "eve@example.com", &other.id, "owner").await;
    assert_eq!(foreign.submit("/app/suppressions/undo", &sealed).await.status, 400);
    assert_eq!(browser.send("/app/suppressions/undo", &sealed).await.status, 403);
    assert_eq!(browser.submit("/app/suppressions/undo", &[("removed", "x")]).await.status, 400);
    let mut reader = Browser::invited(&server, "bo@example.com", &account.id, "read-only").await;
    assert_eq!(reader.submit("/app/suppressions/undo", &sealed).await.status, 403);
    let undone = browser.submit("/app/suppressions/undo", &sealed).await;
    assert_eq!(undone.to.as_deref(), Some("/app/suppressions?done=undone"), "{}", undone.html);
    let stands = before().await;
    for member in ["address", "kind", "reason", "messageId", "expiresAt"] {
        assert_eq!(stands[member], stood[member], "{member}: {stands}");
    }
    let rows = audit::rows(&server).await;
    let of = |action: &str| rows.iter().filter(|it| it.0 == "user" && it.1 == action).count();
    assert_eq!((of("delete_suppression"), of("restore_suppressions")), (1, 1), "{rows:?}");
}

#[tokio::test]
async fn a_brand_is_changed_checked_and_warned_of() {
    let server = Server::dev();
    let account = server.open_account("pro", 100);
    let mut browser = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    let faulty =
        [("product_name", "Plover"), ("product_url", "https://a\"b"), ("brand_color", "red")];
    let page = browser.submit("/app/brand", &faulty).await;
    assert_eq!(page.status, 422, "{}", page.html);
    assert!(page.html.contains("value=\"Plover\"") && page.html.contains("a URL of http or https"));
    assert!(page.html.contains("a colour in hexadecimal") && page.html.contains("https://a&#34;b"));
    let good = [("product_name", "Plover & Sons"), ("brand_color", "#FFFFFF")];
    let changed = browser.submit("/app/brand", &good).await;
    assert_eq!(changed.to.as_deref(), Some("/app/brand?done=changed"), "{}", changed.html);
    let page = browser.get("/app/brand").await;
    assert!(page.html.contains("has a contrast of 1.0:1 with white"), "{}", page.html);
    browser.submit("/app/brand", &[("product_name", "Plover"), ("brand_color", "#23695e")]).await;
    let page = browser.get("/app/brand").await;
    assert!(!page.html.contains("contrast") && page.html.contains("fill=\"#23695e\""));
    server.send(&account.key, &message("ada@example.com")).await.message_id();
    let mail = server.wait_for_mail_to("ada@example.com").await;
    assert!(mail.subject.contains("Plover"), "{}", mail.subject);
    let rows = audit::rows(&server).await;
    assert_eq!(rows.iter().filter(|it| it.1 == "change_brand").count(), 2, "{rows:?}");

    let mut member = Browser::invited(&server, "bo@example.com", &account.id, "member").await;
    assert!(member.get("/app/brand").await.html.contains("Plover"));
    assert_eq!(member.submit("/app/brand", &good).await.status, 403);
    assert_eq!(browser.send_from("cross-site", "/app/brand", &good).await.status, 403);
    assert_eq!(browser.send("/app/brand", &good).await.status, 403);
}
