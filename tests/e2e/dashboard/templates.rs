//! Templates: written, checked, published, rolled back and archived on the pages.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use waxwing_tests::{Launch, Server, until_async};

use super::{Browser, Page};
use crate::fixture::message;
use crate::wire::{head, read_until};

const MINE: &str = "/app/templates/mine";

async fn post(browser: &mut Browser<'_>, rest: &str, fields: &[(&str, &str)]) -> Page {
    let edition = browser.get(MINE).await.value("edition");
    let mut all = vec![("edition", edition.as_str())];
    all.extend(fields);
    browser.submit(&format!("{MINE}/{rest}"), &all).await
}

async fn edit(browser: &mut Browser<'_>, rest: &str, markup: &str) -> Page {
    let fields = [
        ("subject", "Hello"),
        ("language", "html"),
        ("markup", markup),
        ("example", r#"{"name": "Ada", "city": "Bern"}"#),
    ];
    post(browser, rest, &fields).await
}

/// Puts a template of the account there that is published.
pub async fn publish_mine(browser: &mut Browser<'_>) {
    let new = [("slug", "mine"), ("starter", "verification-code")];
    let page = browser.submit("/app/templates", &new).await;
    assert_eq!((page.status, page.to.as_deref()), (303, Some(MINE)), "{}", page.html);
    let page = post(browser, "publish", &[]).await;
    assert_eq!(page.status, 303, "{}", page.html);
}

#[tokio::test]
async fn an_author_who_was_overtaken_sees_by_what_and_saves_over_it_or_not() {
    let server = Server::dev();
    let mut ann = Browser::of_dev(&server).await;
    publish_mine(&mut ann).await;
    let account = server.dev_account().id;
    let mut bo = Browser::invited(&server, "bo@example.com", &account, "member").await;
    let opened = ann.get(MINE).await.value("edition");
    assert_eq!(edit(&mut bo, "draft", "<p>of bo</p>").await.status, 303);
    let mut typed = vec![
        ("edition", opened.as_str()),
        ("subject", "Hello"),
        ("language", "html"),
        ("markup", "<p>of ann</p>"),
        ("example", r#"{"name": "Ada", "city": "Bern"}"#),
    ];
    let page = ann.submit(&format!("{MINE}/draft"), &typed).await;
    assert_eq!(page.status, 409, "{}", page.html);
    for part in ["by bo@example.com", "of ann", "-&#60;p&#62;of bo", "+&#60;p&#62;of ann"] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    assert!(!page.html.contains(">+Hello"), "only what differs: {}", page.html);
    let over = page.value("over");
    assert_eq!(edit(&mut bo, "draft", "<p>of bo again</p>").await.status, 303);
    typed.push(("over", &over));
    let page = ann.submit(&format!("{MINE}/draft"), &typed).await;
    assert!(page.status == 409 && page.html.contains("of bo again"), "{}", page.html);
    let over = page.value("over");
    typed.pop();
    typed.push(("over", &over));
    let page = ann.submit(&format!("{MINE}/draft"), &typed).await;
    assert_eq!((page.status, page.to.as_deref()), (303, Some(MINE)), "{}", page.html);
    assert!(ann.get(MINE).await.html.contains("of ann"));
}

#[tokio::test]
async fn a_template_is_written_published_and_rolled_back_on_the_pages() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let new = [("slug", "mine"), ("starter", "")];
    let page = browser.submit("/app/templates", &new).await;
    assert_eq!((page.status, page.to.as_deref()), (303, Some(MINE)), "{}", page.html);
    let page = browser.submit("/app/templates", &new).await;
    assert_eq!(page.status, 422, "the slug is taken: {}", page.html);

    let broken = "<p>\r\n{{ name | upcas }}<script>1</script></p>";
    let page = edit(&mut browser, "check", broken).await;
    assert_eq!(page.status, 200, "{}", page.html);
    assert!(page.html.contains("html, line 2, column"), "{}", page.html);
    assert!(!page.html.contains("<script>1"), "{}", page.html);
    assert_eq!(edit(&mut browser, "draft", broken).await.status, 303);
    let page = post(&mut browser, "publish", &[]).await;
    assert!(page.status == 422 && page.html.contains("line 2"), "{}", page.html);

    assert_eq!(edit(&mut browser, "draft", "<p>{{ name }}</p>").await.status, 303);
    let page = edit(&mut browser, "preview", "<p>{{ name }}</p>").await;
    assert!(page.status == 200 && page.html.contains("Ada"), "{}", page.html);
    assert!(page.policy.starts_with("sandbox; default-src 'none'"), "{}", page.policy);
    let page = post(&mut browser, "publish", &[("note", "The first")]).await;
    assert_eq!(page.status, 303, "{}", page.html);

    let stale = [("edition", "0"), ("subject", "Kept"), ("markup", "typed")];
    let page = browser.submit(&format!("{MINE}/draft"), &stale).await;
    assert!(page.status == 409 && page.html.contains("value=\"Kept\""), "{}", page.html);
    for part in ["Save mine over it", "class=\"added\">+Kept", "class=\"removed\">-Hello"] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    let again = browser.submit(&format!("{MINE}/draft"), &stale).await;
    assert_eq!(again.status, 409, "only the button that says so saves over it: {}", again.html);

    assert_eq!(edit(&mut browser, "draft", "<p>{{ name }} {{ city }}</p>").await.status, 303);
    let page = post(&mut browser, "publish", &[("note", "With a \"city\"")]).await;
    assert!(page.status == 409 && page.html.contains("would break senders"), "{}", page.html);
    let note = "name=\"note\" value=\"With a &#34;city&#34;\"";
    assert_eq!(page.html.matches(note).count(), 1, "it is kept: {}", page.html);
    assert_eq!(post(&mut browser, "publish", &[("force", "yes")]).await.status, 303);
    let page = browser.get(&format!("{MINE}/diff?from=1&to=2")).await;
    assert!(page.html.contains("{{ city }}"), "{}", page.html);
    let page = post(&mut browser, "rollback", &[("revision", "1")]).await;
    assert_eq!(page.status, 303, "{}", page.html);
    let page = browser.get(&format!("{MINE}/versions")).await;
    assert!(page.html.contains("The first"), "{}", page.html);
    assert_eq!(post(&mut browser, "archive", &[]).await.status, 303);
    assert!(browser.get("/app/templates").await.html.contains("archived"));
}

#[tokio::test]
async fn a_test_is_sent_from_the_page_which_links_to_its_message() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    publish_mine(&mut browser).await;
    let page = browser.get(MINE).await;
    assert!(page.html.contains("Send a test of the saved draft"), "{}", page.html);
    let to = "ada@example.com, bo@example.com";
    let page = browser.submit(&format!("{MINE}/test"), &[("to", to)]).await;
    assert_eq!(page.status, 200, "{}", page.html);
    assert!(page.html.contains("The test was sent") && page.html.contains(to), "{}", page.html);
    assert_eq!(page.html.matches("is no confirmed test recipient").count(), 2, "{}", page.html);
    let links = page.html.split("href=\"").filter_map(|it| it.split('"').next());
    let links: Vec<&str> = links.filter(|it| it.starts_with("/app/messages/msg_")).collect();
    assert_eq!(links.len(), 2, "{}", page.html);
    let message = browser.get(links[0]).await;
    assert!(message.status == 200 && message.html.contains("ada@example.com"), "{}", message.html);
    server.wait_for_mail_to("bo@example.com").await;

    for (to, why) in [("", "1 to 10"), ("ada", "no e-mail address")] {
        let page = browser.submit(&format!("{MINE}/test"), &[("to", to)]).await;
        assert!(page.status == 422 && page.html.contains(why), "{why}: {}", page.html);
    }
    assert_eq!(edit(&mut browser, "draft", "<p>{{ name | upcas }}</p>").await.status, 303);
    let page = browser.submit(&format!("{MINE}/test"), &[("to", to)]).await;
    assert!(page.status == 422 && page.html.contains("Nothing was sent"), "{}", page.html);
    let rows = super::audit::rows(&server).await;
    let made = rows.iter().filter(|it| it.0 == "user" && it.1 == "create_key").count();
    assert_eq!(made, 1, "{rows:?}");
    // One key stands for all of them, and nobody can switch it off: there would be no other.
    let keys = browser.get("/app/keys").await;
    let rows: Vec<&str> =
        keys.html.split("<tr>").skip(1).filter(|it| it.contains("Dashboard")).collect();
    assert_eq!(rows.len(), 1, "{}", keys.html);
    assert!(!rows[0].contains("/deactivate") && rows[0].contains("for tests"), "{}", rows[0]);
    let listed = server.get_as(server.key(), "/v1/keys").await.body;
    let mut listed = listed["data"].as_array().expect("keys").iter();
    let key = listed.find(|it| it["name"] == "Dashboard").expect("the dashboard's");
    let key = key["id"].as_str().expect("an identifier").to_owned();
    let path = format!("/app/keys/{key}/deactivate");
    assert!(browser.get(&path).await.html.contains("the dashboard's own key"));
    let refused = browser.submit(&path, &[]).await;
    assert!(
        refused.status == 409 && refused.html.contains("the dashboard's own key"),
        "{}",
        refused.html
    );
    let path = format!("/v1/keys/{key}/deactivate?force=true");
    let refused = server.post(&path, server.key(), &json!({}), &[]).await;
    refused.assert_refused(409, "CONFLICT");
    assert_eq!(edit(&mut browser, "draft", "<p>Hello</p>").await.status, 303);
    let page = browser.submit(&format!("{MINE}/test"), &[("to", to)]).await;
    assert_eq!(page.status, 200, "{}", page.html);
}

#[tokio::test]
async fn a_version_says_by_which_key_it_was_published() {
    let server = Server::dev();
    let account = server.dev_account();
    let (id, key) = server.make_key(&account.id, &["--name", "Deploy", "--scope", "templates"]);
    let new = json!({"slug": "mine", "draft": {"subject": "s", "html": "<p>Hello</p>"}});
    let made = server.post("/v1/templates", &key, &new, &[]).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let published = server.post("/v1/templates/mine/publish", &key, &json!({}), &[]).await;
    assert!(matches!(published.status, 200 | 201), "{}", published.body);
    let mut browser = Browser::of_dev(&server).await;
    for path in [MINE.to_owned(), format!("{MINE}/versions")] {
        let page = browser.get(&path).await;
        assert!(page.html.contains("Deploy <span class=\"badge off\">key"), "{}", page.html);
        assert!(!page.html.contains(&id), "{path}: {}", page.html);
    }
}

#[tokio::test]
async fn a_check_of_the_editor_answers_the_findings_alone() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    publish_mine(&mut browser).await;
    let page = browser.get(MINE).await;
    let (edition, form) = (page.value("edition"), page.value("form"));
    let fields =
        format!("form={form}&edition={edition}&language=html&markup=%7B%7B+a+%7C+upcas+%7D%7D");
    let request = browser.client.post(browser.url(&format!("{MINE}/check")));
    let request = request.header("sec-fetch-site", "same-origin").header("x-live", "1");
    let page = browser.answer(request.body(fields)).await;
    assert!(page.html.starts_with("<div id=\"findings\">"), "{}", page.html);
    assert!(page.html.contains("data-part=\"html\" data-line=\"1\""), "{}", page.html);
}

#[tokio::test]
async fn a_preview_shows_what_is_typed_and_saves_nothing() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    publish_mine(&mut browser).await;
    let saved = browser.get(&format!("{MINE}/preview")).await;
    assert!(saved.status == 200 && saved.policy.starts_with("sandbox;"), "{}", saved.policy);
    let page = edit(&mut browser, "preview", "<p>typed for {{ name }}</p>").await;
    assert!(page.html.contains("typed for Ada"), "{}", page.html);
    assert!(page.policy.starts_with("sandbox; default-src 'none'"), "{}", page.policy);
    let page = edit(&mut browser, "preview", "<script>1</script>{{ name | upcas }}").await;
    assert!(page.status == 422 && page.policy.starts_with("sandbox;"), "{}", page.html);
    assert!(!page.html.contains("<script>1"), "{}", page.html);
    assert!(!browser.get(MINE).await.html.contains("typed for"));
    assert_eq!(browser.get(&format!("{MINE}/preview")).await.html, saved.html);

    let asked = serde_json::json!({"draft": {"subject": "s", "html": "<p>of a draft {{ a }}</p>"}, "data": {"a": "1"}});
    let path = "/v1/templates/mine/preview";
    let answer = server.post(path, server.key(), &asked, &[]).await;
    assert!(answer.body.to_string().contains("of a draft 1"), "{}", answer.body);
    let asked = serde_json::json!({"draft": {"subject": "s", "html": "x"}, "of": "published"});
    assert_eq!(server.post(path, server.key(), &asked, &[]).await.status, 400);
}

#[tokio::test]
async fn a_reader_changes_no_template() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let mut browser = Browser::invited(&server, "ro@example.com", &account.id, "read-only").await;
    let mut owner = Browser::invited(&server, "owner@example.com", &account.id, "owner").await;
    publish_mine(&mut owner).await;
    for path in [
        "",
        "/draft",
        "/check",
        "/preview",
        "/test",
        "/publish",
        "/archive",
        "/duplicate",
        "/rollback",
        "/delete",
    ] {
        let fields = [("slug", "copy"), ("edition", "1"), ("revision", "1")];
        let path =
            if path.is_empty() { "/app/templates".to_owned() } else { format!("{MINE}{path}") };
        assert_eq!(browser.submit(&path, &fields).await.status, 403, "{path}");
    }
    for path in ["", "/versions", "/diff?from=1&to=1"] {
        let page = browser.get(&format!("{MINE}{path}")).await;
        assert_eq!(page.status, 200, "{path}: {}", page.html);
        assert!(
            !page.html.contains("action=\"/app/templates/mine/publish"),
            "{path}: {}",
            page.html
        );
    }
    for path in ["/app/new-template", "/app/templates/mine/delete"] {
        assert_eq!(browser.get(path).await.status, 403, "{path}");
    }
    assert_eq!(browser.get("/app/templates").await.status, 200);
}

#[tokio::test]
async fn a_source_is_as_large_as_the_api_takes_and_no_larger() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    publish_mine(&mut browser).await;
    let large = "<p>{{ name }}</p>\n".repeat(10_000);
    assert_eq!(edit(&mut browser, "draft", &large).await.status, 303);
    assert!(browser.get(MINE).await.html.len() > large.len());
    let larger = "a".repeat(600_000);
    let page = edit(&mut browser, "draft", &larger).await;
    assert!(page.status == 422 && page.html.contains("524288"), "{}", page.status);
    let page = edit(&mut browser, "check", &"a".repeat(4 << 20)).await;
    assert_eq!(page.status, 413, "as a form it has three times as many bytes, and bodies 10 MiB");
}

#[tokio::test]
async fn a_check_shares_its_memory_with_the_bodies_of_its_account() {
    let launch = Launch::dev().with("limits", "body_bytes", "100000");
    let launch =
        launch.with("limits", "body_memory_bytes", "100000").with("limits", "body_seconds", "600");
    let server = Server::start(launch);
    let mut browser = Browser::of_dev(&server).await;
    publish_mine(&mut browser).await;
    let large = "a".repeat(20_000);
    assert_eq!(edit(&mut browser, "check", &large).await.status, 200);
    let mut body = TcpStream::connect(server.address()).await.expect("connected");
    let head = head(&server, server.key(), 90_000, "Expect: 100-continue\r\n");
    body.write_all(head.as_bytes()).await.expect("written");
    read_until(&mut body, "100 Continue").await;
    body.write_all(b"{").await.expect("written");
    let page = edit(&mut browser, "check", &large).await;
    assert!(page.status == 503 && page.html.contains("memory for large requests"), "{}", page.html);
    drop(body);
    assert_eq!(edit(&mut browser, "check", &large).await.status, 200);
}

#[tokio::test]
async fn the_list_says_how_many_sends_of_a_template_were_refused() {
    let server = Server::dev();
    let account = server.open_account("pro", 1);
    let (_, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
    let mut browser = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    let page = browser.get("/app/templates").await;
    assert!(page.html.contains("<span class=\"soft\">none</span>"), "{}", page.html);
    server.send(&key, &message("ada@example.com")).await.message_id();
    let refused = server.send(&key, &message("bo@example.com")).await;
    refused.assert_refused(402, "INSUFFICIENT_BALANCE");
    let counted = async || {
        let listed = server.get_as(&key, "/v1/templates").await.body;
        let row = listed["data"].as_array()?.iter().find(|it| it["slug"] == "verification-code")?;
        assert_eq!((&row["sentLast30Days"], &row["failedLast30Days"]), (&json!(1), &json!(0)));
        (row["refusedLast30Days"] == 1).then_some(())
    };
    until_async("the refusal is counted", Duration::from_secs(30), counted).await;
    let page = browser.get("/app/templates").await;
    assert!(page.html.contains("<a href=\"/app/refusals\">1 refused</a>"), "{}", page.html);
}

#[tokio::test]
async fn further_data_sets_are_added_previewed_and_removed() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    browser.submit("/app/templates", &[("slug", "mine"), ("starter", "")]).await;
    let draft = [
        ("subject", "For {{ name }}"),
        ("language", "html"),
        ("markup", "<p>Hello</p>\n<p>{{ name }}</p>"),
        ("example", r#"{"name": "Ada"}"#),
    ];
    let long = r#"{"name": "Maximilian"}"#;
    let with = |more: &[(&'static str, &'static str)]| [&draft[..], more].concat();
    let new = [("new-set-name", "long"), ("new-set", long)];
    let unnamed = post(&mut browser, "draft", &with(&[("new-set", long)])).await;
    assert!(unnamed.status == 422 && unnamed.html.contains("has no name"), "{}", unnamed.html);
    assert!(unnamed.html.contains("Maximilian"), "what was typed is kept: {}", unnamed.html);
    assert_eq!(post(&mut browser, "draft", &with(&new)).await.status, 303);
    let page = browser.get(MINE).await;
    for part in [
        "Data set <b>long</b>",
        "<option>long</option>",
        "<code>name</code></td><td class=\"tight\">required",
        "subject, line 1; html, line 2",
    ] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    let sets = [("set-name", "long"), ("set", long)];
    let chosen = with(&[sets[0], sets[1], ("data", "long")]);
    let page = post(&mut browser, "preview", &chosen).await;
    assert!(page.html.contains("Maximilian") && !page.html.contains("Ada"), "{}", page.html);
    let page = post(&mut browser, "preview", &with(&sets)).await;
    assert!(page.html.contains("Ada") && !page.html.contains("Maximilian"), "{}", page.html);
    let page = browser.submit(&format!("{MINE}/test"), &[("to", "x@y.zz"), ("data", "long")]).await;
    assert_eq!(page.status, 200, "{}", page.html);
    let mail = server.wait_for_mail_to("x@y.zz").await;
    assert!(format!("{mail:?}").contains("Maximilian"), "{mail:?}");
    let same = with(&[sets[0], sets[1], new[0], new[1]]);
    let page = post(&mut browser, "draft", &same).await;
    assert!(page.status == 422 && page.html.contains("name of another one"), "{}", page.html);
    let broken = with(&[sets[0], ("set", "{")]);
    let page = post(&mut browser, "draft", &broken).await;
    assert!(page.status == 422 && page.html.contains("is no JSON object"), "{}", page.html);
    // What a form does not name stays.
    assert_eq!(post(&mut browser, "draft", &draft).await.status, 303);
    let examples = async || {
        let shown = server.get_as(server.key(), "/v1/templates/mine").await;
        shown.body["draft"]["examples"].clone()
    };
    assert_eq!(
        examples().await,
        json!({"default": {"name": "Ada"}, "long": {"name": "Maximilian"}})
    );
    let removed = with(&[sets[0], sets[1], ("remove", "long")]);
    assert_eq!(post(&mut browser, "draft", &removed).await.status, 303);
    assert_eq!(examples().await, json!({"default": {"name": "Ada"}}));
    edit(&mut browser, "draft", "<p>{{ name | upcas }}</p>").await;
    let page = browser.get(MINE).await;
    assert!(page.html.contains("cannot be told while the draft has faults"), "{}", page.html);
}
