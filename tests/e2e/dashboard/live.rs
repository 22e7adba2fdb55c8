//! Parts of pages that change by themselves, as the script asks for them.

use std::time::Duration;

use waxwing_tests::{Launch, Server, until_async};

use super::{Browser, Page};
use crate::fixture::{Database, change, message};

/// Where the part of a page asks for itself, and after how many seconds.
fn asks(page: &Page) -> (String, String) {
    let value = |name: &str| {
        let rest = page.html.split_once(&format!("{name}=\"")).map(|(_, rest)| rest);
        rest.and_then(|it| it.split('"').next()).unwrap_or_default().replace("&#38;", "&")
    };
    (value("data-live"), value("data-every"))
}

async fn part(browser: &mut Browser<'_>, path: &str) -> Page {
    let request = browser.client.get(browser.url(path)).header("x-live", "1");
    browser.answer(request).await
}

#[tokio::test]
async fn the_list_says_what_is_new_and_changes_what_it_shows() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let empty = browser.get("/app/messages").await;
    let (path, every) = asks(&empty);
    assert_eq!(every, "60", "{}", empty.html);
    assert_eq!(part(&mut browser, &path).await.status, 204, "nothing has changed");
    let first = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let shown = part(&mut browser, &path).await;
    assert!(shown.status == 200 && shown.html.contains(&first), "{}", shown.html);
    assert!(shown.html.starts_with("<div id=\"live\""), "the part alone: {}", shown.html);
    let is_delivered = async || {
        let message = server.get_as(server.key(), &format!("/v1/messages/{first}")).await;
        (message.body["state"] == "delivered").then_some(())
    };
    until_async("it is delivered", Duration::from_secs(30), is_delivered).await;
    let (path, _) = asks(&browser.get("/app/messages").await);
    assert_eq!(part(&mut browser, &path).await.status, 204);
    for to in ["bo@example.com", "eve@example.com"] {
        server.send(server.key(), &message(to)).await.message_id();
    }
    let shown = part(&mut browser, &path).await;
    assert!(shown.html.contains(">2 new</a>") && shown.html.contains(&first), "{}", shown.html);
    assert!(!shown.html.contains("bo@example.com"), "behind the button: {}", shown.html);
    let (path, _) = asks(&shown);
    assert_eq!(part(&mut browser, &path).await.status, 204, "they are told once");
    let all = browser.get("/app/messages").await;
    assert!(all.html.contains("bo@example.com") && !all.html.contains(" new</a>"), "{}", all.html);
    // Over the filters of the page.
    let (path, _) = asks(&browser.get("/app/messages?q=ada%40example.com").await);
    server.send(server.key(), &message("cy@example.com")).await.message_id();
    assert_eq!(part(&mut browser, &path).await.status, 204);
}

#[tokio::test]
async fn a_message_under_way_is_asked_for_soon() {
    let down = Launch::dev().with("inbox", "enabled", "false");
    let server = Server::start(down.with("delivery", "retry_pauses_s", "[600]"));
    let sent = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let mut browser = Browser::of_dev(&server).await;
    let path = format!("/app/messages/{sent}");
    let is_deferred = async || {
        let shown = server.get_as(server.key(), &format!("/v1/messages/{sent}")).await;
        (shown.body["state"] == "deferred").then_some(())
    };
    until_async("the message is deferred", Duration::from_secs(30), is_deferred).await;
    let page = browser.get(&path).await;
    let (asked, every) = asks(&page);
    assert_eq!(every, "60", "{}", page.html);
    assert_eq!(part(&mut browser, &asked).await.status, 204);
    let canceled = browser.submit(&format!("{path}/cancel"), &[]).await;
    assert_eq!(canceled.status, 303, "{}", canceled.html);
    let shown = part(&mut browser, &asked).await;
    assert!(shown.status == 200 && shown.html.contains("canceled"), "{}", shown.html);
    assert!(!shown.html.contains("<iframe"), "the content stays: {}", shown.html);
    let later = browser.get("/app/messages?state=canceled").await;
    assert!(later.html.contains(&sent), "{}", later.html);
}

#[tokio::test]
async fn a_page_that_asks_by_itself_keeps_no_session() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let (path, _) = asks(&browser.get("/app/messages").await);
    let database = Database::of(&server).await;
    let seen = "SELECT seen_at FROM sessions";
    let earlier = database.number(seen).await - 3_600_000;
    change(&server, &format!("UPDATE sessions SET seen_at = {earlier}")).await;
    assert_eq!(part(&mut browser, &path).await.status, 204);
    assert_eq!(database.number(seen).await, earlier, "nobody looked at it");
    browser.get("/app/messages").await;
    assert!(database.number(seen).await > earlier);
    browser.cookie = None;
    let over = part(&mut browser, &path).await;
    assert_eq!(over.status, 303, "{}", over.html);
}
