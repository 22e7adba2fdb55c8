//! Webhooks on the pages: is the receiver well, and what was posted to it?

use std::time::Duration;

use serde_json::json;
use waxwing_tests::{Conduct, Launch, Receiver, Server, until_async};

use super::{Browser, Page, audit};
use crate::fixture::message;

/// The secret that a page shows.
fn secret(page: &Page) -> String {
    let rest = page.html.split("whsec_").nth(1).expect("a secret");
    format!("whsec_{}", rest.split('<').next().unwrap_or_default())
}

/// Makes a webhook to that URL; answers its path.
async fn made(browser: &mut Browser<'_>, url: &str) -> String {
    let fields = [("url", url), ("description", "Orders"), ("types", "message.*\r\ncredits.low")];
    let made = browser.submit("/app/webhooks", &fields).await;
    assert_eq!(made.status, 200, "{}", made.html);
    let links = made.html.split("href=\"").filter_map(|it| it.split('"').next());
    let mut links = links.filter(|it| it.starts_with("/app/webhooks/whk_"));
    links.next().expect("a link").to_owned()
}

#[tokio::test]
async fn a_webhook_is_made_tested_changed_rotated_stopped_and_removed() {
    let (receiver, server) = (Receiver::start().await, Server::start(Launch::posting_here()));
    let mut browser = Browser::of_dev(&server).await;
    assert!(browser.get("/app/webhooks").await.html.contains("There is no webhook yet"));
    for (url, types, why) in [
        ("ftp://a.example", "", "Must begin with https://"),
        (receiver.url().as_str(), "mesage.*", "no type of event"),
    ] {
        let page = browser.submit("/app/webhooks", &[("url", url), ("types", types)]).await;
        assert!(page.status == 422 && page.html.contains(why), "{why}: {}", page.html);
        assert!(page.html.contains(url) && page.html.contains(types), "the input is kept");
        assert_eq!(page.html.matches("aria-invalid=\"true\"").count(), 1, "{}", page.html);
    }
    let path = made(&mut browser, &receiver.url()).await;
    let page = browser.get(&path).await;
    assert!(page.html.contains("No event was posted to it yet") && !page.html.contains("whsec_"));
    assert!(page.html.contains("message.*\ncredits.low"), "{}", page.html);
    assert!(browser.get("/app/webhooks").await.html.contains("message.*, credits.low"));

    let tested = browser.submit(&format!("{path}/test"), &[]).await;
    assert_eq!(tested.to, Some(format!("{path}?done=accepted")), "{}", tested.html);
    receiver.event("webhook.test").await;
    let page = browser.get(&path).await;
    assert!(page.html.contains("answered 200") && page.html.contains("webhook.test"));
    for count in ["<dd>100\u{202f}%</dd>", "<dt>Waiting now</dt><dd>0</dd>"] {
        assert!(page.html.contains(count), "{count}: {}", page.html);
    }

    let fields = [("url", receiver.url()), ("description", "Bills".to_owned())];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, it)| (*name, it.as_str())).collect();
    assert_eq!(browser.submit(&path, &fields).await.to, Some(format!("{path}?done=changed")));
    assert!(browser.get("/app/webhooks").await.html.contains("Bills"));
    let faulty = browser.submit(&path, &[("url", "nowhere"), ("description", "kept")]).await;
    assert!(faulty.status == 422 && faulty.html.contains("value=\"nowhere\""), "{}", faulty.html);

    let rotated = browser.submit(&format!("{path}/rotate"), &[]).await;
    assert!(rotated.html.contains("the one before it sign until"), "{}", rotated.html);
    let secret = secret(&rotated);
    assert!(!browser.get(&path).await.html.contains(&secret));
    let again = browser.submit(&format!("{path}/rotate"), &[]).await;
    assert!(again.status == 422 && again.html.contains("rotate after that"), "{}", again.html);

    let state = format!("{path}/state");
    let stopped = browser.submit(&state, &[("state", "disabled")]).await;
    assert_eq!(stopped.to, Some(format!("{path}?done=disabled")), "{}", stopped.html);
    assert!(browser.get(&path).await.html.contains("No event is posted to it since"));
    let replay = browser.submit(&format!("{path}/replay"), &[("hours", "24")]).await;
    assert!(replay.status == 422 && replay.html.contains("activate it first"), "{}", replay.html);
    let page = browser.get(&format!("{path}?done=disabled")).await;
    let undo = page.html.split("<form class=\"notice undo\"").nth(1).expect("an undo");
    assert!(undo.contains(&format!("action=\"{state}\"")) && undo.contains("value=\"active\""));
    let undone = browser.submit(&state, &[("state", "active")]).await;
    assert_eq!(undone.to, Some(format!("{path}?done=active")), "{}", undone.html);
    let page = browser.get(&format!("{path}?done=disabled")).await;
    assert!(!page.html.contains("notice undo"), "a link of before undoes nothing: {}", page.html);
    assert!(browser.get(&format!("{path}/remove")).await.html.contains("Remove this webhook?"));
    let removed = browser.submit(&format!("{path}/remove"), &[]).await;
    assert_eq!(removed.to.as_deref(), Some("/app/webhooks?done=removed"), "{}", removed.html);
    assert_eq!(browser.get(&path).await.status, 404);
    let rows = audit::rows(&server).await;
    for action in
        ["create_webhook", "test_webhook", "change_webhook", "rotate_webhook", "delete_webhook"]
    {
        let is_noted = rows.iter().any(|it| it.1 == action && path.ends_with(&it.2));
        assert!(is_noted, "{action}: {rows:?}");
    }
}

#[tokio::test]
async fn what_a_receiver_refused_is_shown_and_posted_once_more() {
    let refusing = Receiver::behaving(|_| Conduct::Answer(500, String::new())).await;
    let server = Server::start(Launch::posting_here());
    let mut browser = Browser::of_dev(&server).await;
    let path = made(&mut browser, &refusing.url()).await;
    let tested = browser.submit(&format!("{path}/test"), &[]).await;
    assert_eq!(tested.to, Some(format!("{path}?done=refused")), "{}", tested.html);
    let page = browser.get(&format!("{path}?state=failed&done=refused")).await;
    assert!(page.html.contains("did not accept the test") && page.html.contains("answered 500"));
    for count in [
        "<dt>Accepted in 24 h</dt><dd>0\u{202f}%</dd>",
        "<dt>Failed for good</dt><dd class=\"danger\">1</dd>",
    ] {
        assert!(page.html.contains(count), "{count}: {}", page.html);
    }
    let id = path.rsplit('/').next().expect("an identifier");
    let shown = server.webhook(server.key(), id).await;
    let figures = json!({"delivered": 0, "failed": 1, "waiting": 0});
    assert_eq!(shown["figures"], figures, "the API says the same");
    let action = page.html.split("action=\"").filter_map(|it| it.split('"').next());
    let replay = action.filter(|it| it.contains("/deliveries/evt_")).last().expect("a form");
    let replayed = browser.submit(replay, &[]).await;
    assert_eq!(replayed.to, Some(format!("{path}?done=replayed")), "{}", replayed.html);
    refusing.until("it came once more", |posted| posted.len() > 1).await;
    let other = format!("{path}/deliveries/evt_01ARZ3NDEKTSV4RRFFQ69G5FAV/replay");
    assert_eq!(browser.submit(&other, &[]).await.status, 404);
    let spans = browser.submit(&format!("{path}/replay"), &[("hours", "1000")]).await;
    assert_eq!(spans.status, 400, "{}", spans.html);
}

#[tokio::test]
async fn webhooks_are_their_owners_and_no_other_accounts() {
    let (receiver, server) = (Receiver::start().await, Server::start(Launch::posting_here()));
    let (own, other) = (server.open_account("pro", 0), server.open_account("pro", 0));
    let mut owner = Browser::invited(&server, "ann@example.com", &own.id, "owner").await;
    let path = made(&mut owner, &receiver.url()).await;
    let mut member = Browser::invited(&server, "bo@example.com", &own.id, "member").await;
    let mut foreign = Browser::invited(&server, "eve@example.com", &other.id, "owner").await;
    assert_eq!(member.get(&path).await.status, 200);
    assert_eq!(member.get("/app/webhooks/new").await.status, 403);
    assert_eq!(foreign.get(&path).await.status, 404);
    let fields = [("url", "https://eve.example"), ("state", "disabled"), ("hours", "24")];
    assert_eq!(member.submit("/app/webhooks", &fields).await.status, 403);
    let delivery = "/deliveries/evt_01ARZ3NDEKTSV4RRFFQ69G5FAV/replay";
    for below in ["", "/state", "/rotate", "/test", "/replay", "/remove", delivery] {
        let path = format!("{path}{below}");
        assert_eq!(member.submit(&path, &fields).await.status, 403, "{below}");
        assert_eq!(foreign.submit(&path, &fields).await.status, 404, "{below}");
        assert_eq!(owner.send_from("cross-site", &path, &fields).await.status, 403, "{below}");
        assert_eq!(
            owner.send(&path, &fields).await.status,
            403,
            "{below} without the form's token"
        );
    }
    assert!(owner.get(&path).await.html.contains("No event was posted to it yet"));
    assert_eq!(receiver.posted().len(), 0);
}

#[tokio::test]
async fn a_message_names_the_receivers_that_were_told_of_it() {
    let refusing = Receiver::behaving(|_| Conduct::Answer(500, String::new())).await;
    let server = Server::start(Launch::posting_here());
    let mut browser = Browser::of_dev(&server).await;
    let quiet = server.send(server.key(), &message("bo@example.com")).await.message_id();
    server.wait_for_mail_to("bo@example.com").await;
    let page = browser.get(&format!("/app/messages/{quiet}")).await;
    assert!(page.html.contains("none was told of it"), "{}", page.html);
    let path = made(&mut browser, &refusing.url()).await;
    let sent = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let told = format!("/v1/messages/{sent}/deliveries");
    let answered = async || {
        let told = server.get_as(server.key(), &told).await.body;
        let all = told["data"].as_array().expect("deliveries");
        let wanted = all.iter().find(|it| it["type"] == "message.delivered")?;
        assert!(path.ends_with(wanted["webhookId"].as_str()?), "{wanted}");
        (wanted["lastAttempt"]["status"] == 500)
            .then(|| wanted["id"].as_str().map(str::to_owned))?
    };
    let event = until_async("it is told", Duration::from_secs(30), answered).await;
    let page = browser.get(&format!("/app/messages/{sent}")).await;
    let link = format!("{path}?delivery={event}");
    for part in
        [refusing.url().as_str(), "message.delivered", "answered 500", "next attempt", &link]
    {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    let page = browser.get(&link).await;
    assert_eq!(page.html.matches("<details class=\"attempt\" open>").count(), 1, "{}", page.html);
    assert!(page.html.contains(&event) && page.html.contains(&sent), "{}", page.html);
    let gone = browser.get(&format!("{path}?delivery=evt_01ARZ3NDEKTSV4RRFFQ69G5FAV")).await;
    assert!(gone.html.contains("This delivery is no longer kept"), "{}", gone.html);
}

#[tokio::test]
async fn what_webhooks_were_told_is_the_whole_accounts() {
    let server = Server::dev();
    let (own, other) = (server.dev_account(), server.open_account("pro", 0));
    let sent = server.send(&own.key, &message("ada@example.com")).await.message_id();
    let told = format!("/v1/messages/{sent}/deliveries");
    let listed = server.get_as(&own.key, &told).await;
    assert_eq!((listed.status, &listed.body["data"]), (200, &serde_json::json!([])));
    let (_, foreign) = server.make_key(&other.id, &["--scope", "admin"]);
    server.get_as(&foreign, &told).await.assert_refused(404, "NOT_FOUND");
    for limit in [&["--domain", "sandbox.test"][..], &["--test"]] {
        let (_, key) = server.make_key(&own.id, &[&["--scope", "admin"], limit].concat());
        server.get_as(&key, &told).await.assert_refused(403, "FORBIDDEN");
    }
}
