//! The page of the addresses that tests really go to.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Launch, Server};

use super::Browser;
use super::audit::rows;

const PAGE: &str = "/app/test-recipients";

#[tokio::test]
async fn a_test_recipient_is_asked_shown_and_removed_on_the_page() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let empty = browser.get(PAGE).await;
    assert!(empty.html.contains("Nobody is on the list"), "{}", empty.html);
    let page = browser.submit(PAGE, &[("address", "Ada@Example.com")]).await;
    let to = page.to.expect("the list");
    let message = to.split("message=").nth(1).expect("the mail that asks").to_owned();
    let page = browser.get(&to).await;
    assert!(page.html.contains("ada@example.com was asked by"), "{}", page.html);
    assert!(page.html.contains(&format!("/app/messages/{message}")), "{}", page.html);
    assert!(page.html.contains("not confirmed yet") && page.html.contains("Ask again"));
    let of_api = server.get_as(server.key(), "/v1/test-recipients").await;
    assert_eq!(of_api.body["data"][0]["address"], "ada@example.com", "{}", of_api.body);
    let mails = server.wait_for_mails(1).await;
    assert!(mails[0].subject.contains("tests of its e-mails"), "{}", mails[0].subject);

    for wrong in ["", "ada"] {
        let page = browser.submit(PAGE, &[("address", wrong)]).await;
        assert!(page.status == 422 && page.html.contains("must be whole"), "{}", page.html);
    }
    let page = browser.submit(&format!("{PAGE}/remove"), &[("address", "ada@example.com")]).await;
    assert_eq!(page.to.as_deref(), Some("/app/test-recipients?done=removed"), "{}", page.html);
    let of_api = server.get_as(server.key(), "/v1/test-recipients").await;
    assert_eq!(of_api.body["data"], json!([]));
    let gone = browser.submit(&format!("{PAGE}/remove"), &[("address", "ada@example.com")]).await;
    assert_eq!(gone.status, 404);
    let written = rows(&server).await.into_iter().map(|it| it.1);
    let written: Vec<String> = written.collect();
    for action in ["add_test_recipient", "delete_test_recipient"] {
        assert!(written.iter().any(|it| it == action), "{written:?}");
    }
}

#[tokio::test]
async fn a_suppressed_address_is_not_asked_and_the_page_says_why() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    browser.submit("/app/suppressions", &[("address", "ada@example.com")]).await;
    let page = browser.submit(PAGE, &[("address", "ada@example.com")]).await;
    assert!(page.status == 422 && page.html.contains("suppress"), "{}", page.html);
    assert!(page.html.contains("value=\"ada@example.com\""), "it is kept: {}", page.html);
}

#[tokio::test]
async fn a_reader_sees_test_recipients_and_changes_none() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let mut browser = Browser::invited(&server, "ro@example.com", &account.id, "read-only").await;
    let page = browser.get(PAGE).await;
    assert!(page.status == 200 && !page.html.contains("Ask the holder"), "{}", page.html);
    for path in [PAGE.to_owned(), format!("{PAGE}/remove")] {
        let page = browser.submit(&path, &[("address", "ada@example.com")]).await;
        assert_eq!(page.status, 403, "{path}");
    }
}

#[tokio::test]
async fn the_link_to_a_test_recipient_begins_with_the_configured_name() {
    let server = Server::start(Launch::dev().with("people", "url", "https://mail.test"));
    let mut browser = Browser::of_dev(&server).await;
    let page = browser.submit(PAGE, &[("address", "ada@example.com")]).await;
    assert_eq!(page.status, 303, "{}", page.html);
    let of_api = json!({"address": "bea@example.com"});
    let of_api = server.post("/v1/test-recipients", server.key(), &of_api, &[]).await;
    assert_eq!(of_api.status, 201, "{}", of_api.body);
    for mail in server.wait_for_mails(2).await {
        let request = server.request(Method::GET, &format!("/inbox/{}", mail.id));
        let shown = request.header("accept", "application/json").send().await.expect("an answer");
        let shown: Value = shown.json().await.expect("JSON");
        let text = shown["text"].as_str().expect("a text");
        assert!(text.contains("\nhttps://mail.test/test-recipients/"), "{text}");
    }
}
