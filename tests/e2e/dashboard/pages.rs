//! What the pages show: the same as the API.

use std::time::Duration;

use waxwing_tests::{Server, until_async};

use super::Browser;
use crate::fixture::message;

#[tokio::test]
async fn a_message_is_found_by_its_recipient_and_tells_its_story() {
    let server = Server::dev();
    let sent = server.send(server.key(), &message("ada@example.com")).await.message_id();
    server.send(server.key(), &message("bob@example.com")).await.message_id();
    let path = format!("/v1/messages/{sent}");
    let is_delivered = async || {
        let shown = server.get_as(server.key(), &path).await;
        (shown.body["state"] == "delivered").then_some(())
    };
    until_async("the message is delivered", Duration::from_secs(30), is_delivered).await;
    let mut browser = Browser::of_dev(&server).await;
    let page = browser.get("/app/messages?q=ada%40example.com").await;
    assert!(page.html.contains(&sent) && !page.html.contains("bob@example.com"), "{}", page.html);
    assert_eq!(
        browser.get(&format!("/app/messages?q={sent}")).await.to,
        Some(format!("/app/messages/{sent}"))
    );
    let page = browser.get("/app/messages?q=to:ada").await;
    assert!(page.html.contains("no whole e-mail address"), "{}", page.html);
    let page = browser.get("/app/messages?state=bounced,failed").await;
    assert!(page.html.contains("No message matches"), "{}", page.html);
    let page = browser.get(&format!("/app/messages/{sent}")).await;
    for part in [
        "The sandbox inbox has it",
        "What happened",
        "delivered",
        "What plugins decided",
        "iframe sandbox",
        "<span class=\"us\">C: MAIL FROM",
        "<span class=\"them\">S: 250",
    ] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
}

#[tokio::test]
async fn the_list_goes_on_from_page_to_page_and_back() {
    let server = Server::dev();
    for number in 0..52 {
        server.send(server.key(), &message(&format!("n{number}@example.com"))).await.message_id();
    }
    let mut browser = Browser::of_dev(&server).await;
    let first = browser.get("/app/messages").await;
    assert_eq!(first.html.matches("/app/messages/msg_").count(), 50);
    let next = first
        .html
        .split("href=\"")
        .filter_map(|it| it.split('"').next())
        .find(|it| it.contains("after="));
    let second = browser.get(&next.expect("a next page").replace("&#38;", "&")).await;
    assert_eq!(second.html.matches("/app/messages/msg_").count(), 2, "{}", second.html);
    assert!(second.html.contains("← Newest"), "{}", second.html);
}

#[tokio::test]
async fn a_key_that_is_made_on_the_page_sends_and_is_shown_this_once() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let made =
        browser.submit("/app/keys", &[("name", "Shop"), ("mode", "live"), ("scope", "send")]).await;
    assert_eq!(made.status, 200, "{}", made.html);
    let key =
        made.html.split("wx_live_").nth(1).and_then(|it| it.split('<').next()).expect("a key");
    let key = format!("wx_live_{key}");
    server.send(&key, &message("ada@example.com")).await.message_id();
    let listed = browser.get("/app/keys").await;
    assert!(listed.html.contains("Shop") && !listed.html.contains(&key), "{}", listed.html);
    let keys = server.get_as(server.key(), "/v1/keys").await;
    let data = keys.body["data"].as_array().expect("keys");
    let id = data
        .iter()
        .find(|it| it["name"] == "Shop")
        .and_then(|it| it["id"].as_str())
        .expect("the key");
    let path = format!("/app/keys/{id}/deactivate");
    assert!(browser.get(&path).await.html.contains("Deactivate “Shop”?"));
    assert_eq!(browser.submit(&path, &[]).await.to.as_deref(), Some("/app/keys"));
    server.send(&key, &message("ada@example.com")).await.assert_refused(401, "UNAUTHORIZED");
    let faulty = browser.submit("/app/keys", &[("name", ""), ("mode", "live")]).await;
    assert_eq!(faulty.status, 422);
    assert!(faulty.html.contains("must be 1 to 100 characters"), "{}", faulty.html);
}

#[tokio::test]
async fn the_style_sheet_is_kept_for_good_under_a_name_of_its_own() {
    let server = Server::dev();
    let mut browser = Browser::new(&server);
    let login = browser.get("/login").await;
    let path = login
        .html
        .split("href=\"")
        .filter_map(|it| it.split('"').next())
        .find(|it| it.starts_with("/assets/app-"));
    let style = browser.get(path.expect("a style sheet")).await;
    assert_eq!(
        (style.status, style.caching.as_str()),
        (200, "public, max-age=31536000, immutable")
    );
    assert_eq!(browser.get("/assets/app-0000.css").await.status, 404);
}
