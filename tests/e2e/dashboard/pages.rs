//! What the pages show: the same as the API.

use std::time::Duration;

use futures_util::future::join_all;
use waxwing_tests::{Server, until_async};

use super::Browser;
use crate::fixture::{change, message};

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
    assert!(page.html.contains("href=\"/app/messages\">Remove the filters"), "{}", page.html);
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

#[tokio::test]
async fn a_message_is_sent_again_once_for_each_page() {
    let server = Server::dev();
    let sent = server.send(server.key(), &message("ada@example.com")).await.message_id();
    server.wait_for_mail_to("ada@example.com").await;
    let mut browser = Browser::of_dev(&server).await;
    let path = format!("/app/messages/{sent}");
    let delivered = async || {
        let shown = server.get_as(server.key(), &format!("/v1/messages/{sent}")).await;
        (shown.body["state"] == "delivered").then_some(())
    };
    until_async("the message is delivered", Duration::from_secs(30), delivered).await;
    let page = browser.get(&path).await;
    assert!(page.html.contains("Send again"), "{}", page.html);
    let once = page.value("once");
    let fields = [("once", once.as_str())];
    let first = browser.submit(&format!("{path}/resend"), &fields).await.to.expect("the new one");
    let second = browser.submit(&format!("{path}/resend"), &fields).await.to;
    assert_eq!(second.as_deref(), Some(first.as_str()), "a second click sends nothing");
    let once = browser.get(&path).await.value("once");
    let mut clicks = Vec::new();
    for _ in 0..6 {
        let mut browser = Browser::of_dev(&server).await;
        let token = browser.form_token().await;
        clicks.push((browser, token));
    }
    let (resend, once) = (&format!("{path}/resend"), &once);
    let led = join_all(clicks.iter_mut().map(|(browser, token)| async move {
        let fields = [("form", token.as_str()), ("once", once.as_str())];
        browser.send(resend, &fields).await.to.expect("a page")
    }))
    .await;
    let waiting = "/app/messages?q=ada%40example.com&done=resent";
    let mut made: Vec<&String> = led.iter().filter(|it| *it != waiting).collect();
    made.dedup();
    assert!(made.len() == 1 && made[0].starts_with("/app/messages/msg_"), "{led:?}");
    let page = browser.get(waiting).await;
    assert!(page.html.contains("is being sent once more"), "{}", page.html);
    let page = browser.get(&first).await;
    assert!(page.html.contains("Sends again") && page.html.contains(&sent), "{}", page.html);
    let account = server.dev_account().id;
    let (_, test) = server.make_key(&account, &["--test", "--scope", "send"]);
    let tested = server.send(&test, &message("bo@example.com")).await.message_id();
    let page = browser.submit(&format!("/app/messages/{tested}/resend"), &fields).await;
    assert!(page.status == 400 && page.html.contains("was a test"), "{}", page.html);
}

#[tokio::test]
async fn a_list_of_messages_is_a_file_too() {
    let server = Server::dev();
    for to in ["ada@example.com", "bo@example.com"] {
        server.send(server.key(), &message(to)).await.message_id();
    }
    let mut browser = Browser::of_dev(&server).await;
    let file = browser.get("/app/messages.csv?q=ada@example.com").await.html;
    let lines: Vec<&str> = file.lines().collect();
    assert_eq!(lines.len(), 2, "{file}");
    assert!(lines[0].starts_with("id,state,accepted,to") && lines[1].contains("ada@example.com"));
    assert_eq!(browser.get("/app/messages.csv?q=to:ada").await.status, 400);
}

#[tokio::test]
async fn what_was_refused_stands_beside_what_was_sent() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let (_, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
    let refused = server.send(&key, &message("ada@example.com")).await;
    let code = refused.body["code"].as_str().expect("a code").to_owned();
    let listed = async || {
        let answer = server.get_as(&key, &format!("/v1/refusals?outcome={code}")).await;
        answer.body["data"][0]["id"].as_str().map(str::to_owned)
    };
    let id = until_async("the refusal is written", Duration::from_secs(30), listed).await;
    let mut browser = Browser::invited(&server, "ro@example.com", &account.id, "read-only").await;
    let page = browser.get("/app/refusals").await;
    assert!(page.html.contains(&id) && page.html.contains(&code), "{}", page.html);
    assert!(browser.get("/app/refusals?q=FORBIDDEN").await.html.contains("No refusal matches"));
    let mut others = Browser::of_dev(&server).await;
    assert!(!others.get("/app/refusals").await.html.contains(&id));
    assert!(others.get("/app/messages").await.html.contains("href=\"/app/refusals\""));
}

#[tokio::test]
async fn the_overview_counts_by_the_hour_as_the_api_does() {
    let server = Server::dev();
    server.send(server.key(), &message("ada@example.com")).await.message_id();
    let counted = async || {
        let hours = server.get_as(server.key(), "/v1/traffic?hours=2").await.body;
        let of = |name: &str| {
            let data = hours["data"].as_array().expect("hours");
            data.iter().map(|it| it[name].as_u64().unwrap_or(0)).sum::<u64>()
        };
        (of("accepted") == 1 && of("delivered") == 1 && of("underWay") == 0).then_some(())
    };
    until_async("it is counted as delivered", Duration::from_secs(30), counted).await;
    let page = Browser::of_dev(&server).await.get("/app").await;
    for part in ["Messages by the hour", "1 accepted, 1 delivered", "since%3A20", "As numbers"] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    assert_eq!(server.get_as(server.key(), "/v1/traffic?hours=721").await.status, 400);
}

#[tokio::test]
async fn a_message_says_when_its_content_was_dropped_and_by_what() {
    let server = Server::dev();
    let sent = server.send(server.key(), &message("ada@example.com")).await.message_id();
    server.wait_for_mail_to("ada@example.com").await;
    let mut browser = Browser::of_dev(&server).await;
    let path = format!("/app/messages/{sent}");
    // As retention does it.
    change(&server, "DELETE FROM bodies").await;
    change(&server, "UPDATE messages SET content_dropped_at = 1790000000000").await;
    let page = browser.get(&path).await;
    for part in ["on 21 Sep 2026, 14:13:20 UTC", "content_days</code>, which is 7 now"] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    let shown = server.get_as(server.key(), &format!("/v1/messages/{sent}")).await;
    assert_eq!(shown.body["contentDroppedAt"], "2026-09-21T14:13:20Z", "{}", shown.body);
}

#[tokio::test]
async fn an_empty_list_of_messages_has_the_command_that_sends_one() {
    let server = Server::dev();
    let account = server.open_account("pro", 1);
    let mut browser = Browser::invited(&server, "ann@example.com", &account.id, "owner").await;
    let page = browser.get("/app/messages").await;
    for part in [
        "Nothing was sent yet",
        &format!("{}/messages/send", server.url()),
        "x-api-key: YOUR_KEY",
        "verification-code",
        "ann@example.com",
    ] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    let filtered = browser.get("/app/messages?q=ada@example.com").await;
    assert!(!filtered.html.contains("YOUR_KEY"), "{}", filtered.html);
}
