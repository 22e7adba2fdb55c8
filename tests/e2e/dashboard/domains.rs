//! Sender domains on the pages: what to publish, what DNS says, and who may change it.

use serde_json::json;
use waxwing_tests::{Launch, Server, name_server};

use super::templates::publish_mine;
use super::{Browser, audit};
use crate::fixture::message;

/// Where the link to a domain leads.
async fn link_of(browser: &mut Browser<'_>, name: &str) -> String {
    let page = browser.get("/app/domains").await;
    let before = page.html.split(&format!("\">{name}</a>")).next().expect("a domain");
    before.rsplit("href=\"").next().expect("a link").to_owned()
}

#[tokio::test]
async fn a_domain_is_added_published_checked_rotated_and_removed() {
    let dns = name_server().await;
    let server = Server::start(Launch::asking(&dns));
    let account = server.open_account("pro", 10);
    let (_, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
    let mut browser = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    for (typed, why) in [("com", "needs a dot"), ("co.uk", "public suffix")] {
        let page = browser.submit("/app/domains", &[("name", typed)]).await;
        assert_eq!(page.status, 422, "{}", page.html);
        assert!(page.html.contains(why) && page.html.contains(typed), "{why}: {}", page.html);
    }
    let added = browser.submit("/app/domains", &[("name", " Shop.Example ")]).await;
    let path = added.to.expect("a redirect");
    let path = path.strip_suffix("?done=added").expect("its page");
    assert_eq!(path, link_of(&mut browser, "shop.example").await);
    let page = browser.get(path).await;
    assert!(page.html.contains("0 of 4 required records are seen"), "{}", page.html);
    let domain = server.domain(&key, "shop.example").await;
    for record in domain.records() {
        assert!(page.html.contains(record.value()), "{}: {}", record.value(), page.html);
    }
    let again = browser.submit("/app/domains", &[("name", "shop.example")]).await;
    assert!(again.status == 422 && again.html.contains("already"), "{}", again.html);

    // What DNS says stands beside what it should say.
    let records = domain.records();
    let spf = records.iter().find(|it| it.value().starts_with("v=spf1")).expect("SPF");
    spf.publish(&dns);
    dns.txt("_waxwing.shop.example", "waxwing-verification=another");
    let checked = browser.submit(&format!("{path}/check"), &[]).await;
    assert_eq!(checked.to, Some(format!("{path}?done=checked")), "{}", checked.html);
    let page = browser.get(path).await;
    assert!(page.html.contains("waxwing-verification=another"), "{}", page.html);
    assert!(page.html.contains("</i>missing") && page.html.contains("</i>seen"), "{}", page.html);

    dns.remove_all("_waxwing.shop.example");
    domain.required().iter().for_each(|it| it.publish(&dns));
    browser.submit(&format!("{path}/check"), &[]).await;
    let page = browser.get(path).await;
    assert!(page.html.contains("Mail is sent from this domain"), "{}", page.html);
    let rotated = browser.submit(&format!("{path}/rotate"), &[]).await;
    assert_eq!(rotated.to, Some(format!("{path}?done=rotated")), "{}", rotated.html);
    assert!(browser.get(path).await.html.contains("next key"));
    let sandbox = link_of(&mut browser, "sandbox.test").await;
    assert!(browser.get(&sandbox).await.html.contains("It needs no records"));
    let refused = browser.submit(&format!("{sandbox}/rotate"), &[]).await;
    assert_eq!(refused.status, 422, "{}", refused.html);
    assert!(refused.html.contains("A sandbox domain has no DKIM keys"), "{}", refused.html);

    let taken = [("name", "sandbox.test"), ("kind", "sandbox")];
    let refused = browser.submit("/app/domains", &taken).await;
    assert!(refused.status == 422 && refused.html.contains("value=\"sandbox\" checked"));
    let more = [("name", "play.example"), ("kind", "sandbox")];
    let added = browser.submit("/app/domains", &more).await;
    let play = added.to.expect("a redirect");
    assert!(play.ends_with("?done=sandbox"), "{play}");
    assert!(browser.get(&play).await.html.contains("only into the sandbox inbox"));
    let mut body = message("ada@example.com");
    body["from"] = json!("me@play.example");
    server.send(&key, &body).await.message_id();

    let remove = format!("{path}/remove");
    assert!(browser.get(&remove).await.html.contains("Remove shop.example?"));
    let wrong = browser.submit(&remove, &[("name", "shop.exampel")]).await;
    assert!(wrong.status == 422 && wrong.html.contains("Nothing was removed"), "{}", wrong.html);
    let removed = browser.submit(&remove, &[("name", "shop.example")]).await;
    assert_eq!(removed.to.as_deref(), Some("/app/domains?done=removed"), "{}", removed.html);
    assert_eq!(browser.get(path).await.status, 404);
    let rows = audit::rows(&server).await;
    for action in ["add_domain", "check_domain", "rotate_domain", "delete_domain"] {
        let is_noted =
            rows.iter().any(|it| it.0 == "user" && it.1 == action && it.2 == "shop.example");
        assert!(is_noted, "{action}: {rows:?}");
    }
}

#[tokio::test]
async fn an_owner_sets_the_default_sender_and_the_first_command_then_works() {
    let server = Server::dev();
    let made = server.cli(&["account", "create", "--name", "Tern", "--plan", "pro"]);
    let account = made["id"].as_str().expect("an account").to_owned();
    server.grant(&account, 100);
    let mut owner = Browser::invited(&server, "ann@example.com", &account, "owner").await;
    let page = owner.get("/app").await;
    assert!(page.html.contains("YOUR_TEMPLATE"), "{}", page.html);
    assert!(page.html.contains("href=\"/app/new-template\""), "{}", page.html);
    assert!(page.html.contains("href=\"/app/domains#sender\""), "{}", page.html);
    publish_mine(&mut owner).await;
    let page = owner.get("/app").await;
    assert!(page.html.contains("&#34;template&#34;:&#34;mine&#34;"), "{}", page.html);
    assert!(page.html.contains("so the command below is refused"), "{}", page.html);

    let trial = "/app/templates/mine/test";
    let page = owner.submit(trial, &[("to", "ada@example.com")]).await;
    assert!(page.status == 422 && page.html.contains("nothing was sent"), "{}", page.html);
    assert!(!page.html.contains("The test was sent"), "{}", page.html);

    let path = "/app/domains/sender";
    for (typed, why) in [("hello", "must be whole"), ("me@sandbox.test", "a verified domain")] {
        let page = owner.submit(path, &[("sender", typed)]).await;
        assert!(page.status == 422 && page.html.contains(why), "{typed}: {}", page.html);
        assert!(page.html.contains(&format!("value=\"{typed}\"")), "{}", page.html);
    }
    owner.submit("/app/domains", &[("name", "sandbox.test"), ("kind", "sandbox")]).await;
    let set = owner.submit(path, &[("sender", " me@sandbox.test ")]).await;
    assert_eq!(set.to.as_deref(), Some("/app/domains?done=sender"), "{}", set.html);
    let page = owner.get("/app/domains").await;
    assert!(page.html.contains("value=\"me@sandbox.test\""), "{}", page.html);
    assert!(page.html.contains("Domains that may send: sandbox.test."), "{}", page.html);
    let (_, admin) = server.make_key(&account, &["--scope", "admin", "--scope", "send"]);
    let shown = server.get_as(&admin, "/v1/account").await;
    assert_eq!(shown.body["sender"], "me@sandbox.test", "{}", shown.body);

    let page = owner.submit(trial, &[("to", "ada@example.com")]).await;
    assert!(page.status == 200 && page.html.contains("The test was sent"), "{}", page.html);
    let page = owner.get("/app").await;
    assert!(!page.html.contains("/app/domains#sender"), "{}", page.html);
    let body = page.html.split("-d &#39;").nth(1).and_then(|it| it.split("&#39;").next());
    let body = body.expect("a command").replace("&#34;", "\"").replace("&#38;", "&");
    let body = serde_json::from_str(&body).expect("JSON");
    server.send(&admin, &body).await.message_id();
    let rows = audit::rows(&server).await;
    assert_eq!(rows.iter().filter(|it| it.1 == "change_account").count(), 1, "{rows:?}");
    assert_eq!(owner.submit(path, &[("sender", "")]).await.status, 303);
    assert_eq!(server.get_as(&admin, "/v1/account").await.body["sender"], json!(null));
}

#[tokio::test]
async fn domains_are_their_owners_and_no_other_accounts() {
    let dns = name_server().await;
    let server = Server::start(Launch::asking(&dns));
    let (own, other) = (server.open_account("pro", 0), server.open_account("pro", 0));
    let mut owner = Browser::invited(&server, "ann@example.com", &own.id, "owner").await;
    owner.submit("/app/domains", &[("name", "shop.example")]).await;
    let path = link_of(&mut owner, "shop.example").await;
    let mut member = Browser::invited(&server, "bo@example.com", &own.id, "member").await;
    let mut foreign = Browser::invited(&server, "eve@example.com", &other.id, "owner").await;
    assert_eq!(member.get(&path).await.status, 200);
    assert_eq!(foreign.get(&path).await.status, 404);
    assert_eq!(member.submit("/app/domains", &[("name", "b.example")]).await.status, 403);
    let sender = [("sender", "hello@shop.example")];
    assert_eq!(member.submit("/app/domains/sender", &sender).await.status, 403);
    assert!(!member.get("/app/domains").await.html.contains("name=\"sender\""));
    for below in ["check", "rotate", "remove"] {
        let (path, fields) = (format!("{path}/{below}"), [("name", "shop.example")]);
        assert_eq!(member.submit(&path, &fields).await.status, 403, "{below}");
        assert_eq!(foreign.submit(&path, &fields).await.status, 404, "{below}");
        let site = owner.send_from("cross-site", &path, &fields).await;
        assert_eq!(site.status, 403, "{below}");
        assert_eq!(
            owner.send(&path, &fields).await.status,
            403,
            "{below} without the form's token"
        );
    }
    assert_eq!(owner.get(&path).await.status, 200);
}
