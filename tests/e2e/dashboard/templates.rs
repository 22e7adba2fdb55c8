//! Templates: written, checked, published, rolled back and archived on the pages.

use waxwing_tests::Server;

use super::{Browser, Page};

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

#[tokio::test]
async fn a_template_is_written_published_and_rolled_back_on_the_pages() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let new = [("slug", "mine"), ("starter", "verification-code")];
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
    let page = post(&mut browser, "publish", &[]).await;
    assert!(page.status == 409 && page.html.contains("would break senders"), "{}", page.html);
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
async fn a_reader_changes_no_template_and_sees_none_of_others() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let mut browser = Browser::invited(&server, "ro@example.com", &account.id, "read-only").await;
    for path in ["/app/templates", "/app/templates/mine/draft", "/app/templates/mine/publish"] {
        let fields = [("slug", "mine"), ("edition", "1")];
        assert_eq!(browser.submit(path, &fields).await.status, 403, "{path}");
    }
    assert_eq!(browser.get("/app/templates").await.status, 200);
    assert_eq!(browser.get("/app/templates/verification-code").await.status, 404);
}
