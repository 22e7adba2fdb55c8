//! Templates: written, checked, published, rolled back and archived on the pages.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use waxwing_tests::{Launch, Server};

use super::{Browser, Page};
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
    let page = post(&mut browser, "preview", &[("example", r#"{"name": "Grace"}"#)]).await;
    assert!(page.status == 200 && page.html.contains("Grace"), "{}", page.html);
    assert!(page.policy.starts_with("sandbox; default-src 'none'"), "{}", page.policy);
    let page = post(&mut browser, "publish", &[("note", "The first")]).await;
    assert_eq!(page.status, 303, "{}", page.html);

    let stale = [("edition", "0"), ("subject", "Kept"), ("markup", "typed")];
    let page = browser.submit(&format!("{MINE}/draft"), &stale).await;
    assert!(page.status == 409 && page.html.contains("value=\"Kept\""), "{}", page.html);

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
    for path in ["/app/templates/new", "/app/templates/mine/delete"] {
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
    assert_eq!(page.status, 400, "as a form it has three times as many bytes, and bodies 10 MiB");
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
