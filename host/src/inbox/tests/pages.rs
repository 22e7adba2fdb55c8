//! The pages and their JSON, asked as a browser or a test would.

use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, HOST};
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::Inbox;
use crate::inbox::web::router;

const RICH: &str = "From: \"Waxwing\" <hello@sandbox.example>
To: Grace <grace@example.com>
Subject: Hello
X-Long: one
 two
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=m

--m
Content-Type: multipart/alternative; boundary=a

--a
Content-Type: text/plain; charset=utf-8

Hello Grace
--a
Content-Type: text/html; charset=utf-8

<p>Hello <b>Grace</b><img src=\"cid:dot\"><script>alert(1)</script></p>
--a--
--m
Content-Type: image/gif
Content-ID: <dot>
Content-Disposition: inline; filename=dot.gif
Content-Transfer-Encoding: base64

R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=
--m
Content-Type: text/html
Content-Disposition: attachment; filename*=utf-8''r%C3%A9sum%C3%A9.html

<h1>hi</h1>
--m--
";

async fn ask(inbox: &Inbox, path: &str, accept: &str) -> Response<Body> {
    ask_host(inbox, path, accept, "127.0.0.1:8080").await
}

async fn ask_host(inbox: &Inbox, path: &str, accept: &str, host: &str) -> Response<Body> {
    let request = Request::get(path).header(HOST, host).header(ACCEPT, accept);
    let request = request.body(Body::empty()).expect("a request");
    router(inbox.store.clone()).oneshot(request).await.expect("the router never fails")
}

async fn text(response: Response<Body>) -> String {
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(body.to_vec()).expect("UTF-8")
}

async fn data(inbox: &Inbox, path: &str) -> Value {
    let response = ask(inbox, path, "application/json").await;
    serde_json::from_str(&text(response).await).expect("JSON")
}

fn header(response: &Response<Body>, name: impl axum::http::header::AsHeaderName) -> &str {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[tokio::test]
async fn the_list_is_json_of_the_promised_shape() {
    let inbox = Inbox::open().await;
    assert_eq!(data(&inbox, "/inbox").await, json!({"data": [], "hasMore": false}));
    inbox.keep("Grace@example.com", RICH).await;
    assert_eq!(
        data(&inbox, "/inbox?to=grace%40example.com").await,
        json!({"data": [{
            "id": "in_1",
            "to": "Grace@example.com",
            "from": "hello@sandbox.example",
            "subject": "Hello",
            "receivedAt": "2026-11-21T12:00:00Z",
        }], "hasMore": false})
    );
    assert_eq!(data(&inbox, "/inbox?to=ada%40example.com").await["data"], json!([]));
}

#[tokio::test]
async fn paging_walks_over_every_message_once() {
    let inbox = Inbox::open().await;
    for number in 1..=5 {
        inbox.keep("grace@example.com", &format!("Subject: {number}\n\n")).await;
    }
    let mut seen = Vec::new();
    let mut path = "/inbox?limit=2".to_owned();
    loop {
        let page = data(&inbox, &path).await;
        let rows = page["data"].as_array().expect("rows");
        seen.extend(rows.iter().filter_map(|row| row["subject"].as_str().map(str::to_owned)));
        assert_eq!(page["hasMore"], page.get("next").is_some(), "{page}");
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/inbox?limit=2&after={next}");
    }
    assert_eq!(seen, ["5", "4", "3", "2", "1"]);
}

#[tokio::test]
async fn a_query_that_makes_no_sense_is_refused() {
    let inbox = Inbox::open().await;
    for query in ["limit=0", "limit=201", "limit=x", "after=17", "after=in_x", "to=a&to=b"] {
        let response = ask(&inbox, &format!("/inbox?{query}"), "application/json").await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{query}");
        assert!(text(response).await.contains("BAD_REQUEST"));
    }
}

#[tokio::test]
async fn a_message_is_json_with_all_that_is_inside() {
    let inbox = Inbox::open().await;
    inbox.keep("grace@example.com", RICH).await;
    let message = data(&inbox, "/inbox/in_1").await;
    assert_eq!(message["to"], "grace@example.com");
    assert_eq!(message["envelopeFrom"], "bounces@sandbox.example");
    assert_eq!(message["text"], "Hello Grace");
    assert!(message["html"].as_str().is_some_and(|html| html.contains("<b>Grace</b>")));
    assert_eq!(message["headers"][3], json!(["X-Long", "one two"]));
    assert_eq!(message["raw"], "/inbox/in_1/raw");
    assert_eq!(
        message["attachments"],
        json!([
            {"filename": "dot.gif", "contentType": "image/gif", "size": 29},
            {"filename": "résumé.html", "contentType": "text/html", "size": 11},
        ])
    );
    let raw = ask(&inbox, "/inbox/in_1/raw", "*/*").await;
    assert_eq!(header(&raw, "content-type"), "text/plain; charset=utf-8");
    assert_eq!(text(raw).await, RICH.replace('\n', "\r\n"));
}

#[tokio::test]
async fn markup_in_a_subject_is_escaped() {
    let inbox = Inbox::open().await;
    let raw =
        "From: \"<i>x</i>\" <a@sandbox.example>\nSubject: <script>alert(1)</script>\n\n<b>hi</b>\n";
    inbox.keep("\"<u>\"@example.com", raw).await;
    for path in ["/inbox", "/inbox/in_1", "/inbox?to=%3Cscript%3E"] {
        let response = ask(&inbox, path, "text/html").await;
        assert_eq!(response.status(), StatusCode::OK);
        assert!(header(&response, CONTENT_SECURITY_POLICY).starts_with("default-src 'none';"));
        assert_eq!(header(&response, "cache-control"), "no-store");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff");
        let page = text(response).await;
        assert!(!["<script>", "<i>x", "<u>", "<b>hi"].iter().any(|it| page.contains(it)), "{page}");
    }
}

#[tokio::test]
async fn a_page_shows_no_name_or_subject_that_turns_text_around() {
    let inbox = Inbox::open().await;
    let raw = "From: \"moc\u{202e}x\" <a@sandbox.example>\nSubject: Re\u{202e}ceipt\n\nhi\n";
    inbox.keep("ada@example.com", raw).await;
    for path in ["/inbox", "/inbox/in_1"] {
        let page = text(ask(&inbox, path, "text/html").await).await;
        // The source that the page shows below is as it was received.
        let page = page.split("<pre").next().unwrap_or_default();
        assert!(!page.contains('\u{202e}'), "{path}: {page}");
        assert!(
            page.contains("Re\u{fffd}ceipt") && page.contains("moc\u{fffd}x"),
            "{path}: {page}"
        );
    }
}

#[tokio::test]
async fn the_html_part_is_sandboxed_and_brings_its_own_images() {
    let inbox = Inbox::open().await;
    inbox.keep("grace@example.com", RICH).await;
    let page = text(ask(&inbox, "/inbox/in_1", "text/html").await).await;
    assert!(page.contains("<iframe src=\"/inbox/in_1/html\" sandbox "));
    let part = ask(&inbox, "/inbox/in_1/html", "text/html").await;
    assert_eq!(
        header(&part, CONTENT_SECURITY_POLICY),
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
         frame-ancestors 'self'"
    );
    assert!(text(part).await.contains("<img src=\"data:image/gif;base64,R0lGOD"));
}

#[tokio::test]
async fn an_attachment_is_saved_and_never_shown() {
    let inbox = Inbox::open().await;
    inbox.keep("grace@example.com", RICH).await;
    let file = ask(&inbox, "/inbox/in_1/attachments/1", "*/*").await;
    assert_eq!(header(&file, CONTENT_SECURITY_POLICY), "sandbox; default-src 'none'");
    assert_eq!(
        header(&file, CONTENT_DISPOSITION),
        "attachment; filename*=UTF-8''r%C3%A9sum%C3%A9.html"
    );
    assert_eq!(text(file).await, "<h1>hi</h1>");
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let inbox = Inbox::open().await;
    inbox.keep("grace@example.com", "Subject: plain\n\nhi\n").await;
    for path in [
        "/inbox/in_2",
        "/inbox/17",
        "/inbox/in_1/html",
        "/inbox/in_1/attachments/0",
        "/inbox/in_1/attachments/x",
        "/inbox/in_2/raw",
    ] {
        let response = ask(&inbox, path, "application/json").await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        let body: Value = serde_json::from_str(&text(response).await).expect("JSON");
        assert_eq!((&body["success"], &body["code"]), (&json!(false), &json!("NOT_FOUND")));
        let page = ask(&inbox, path, "text/html").await;
        assert!(text(page).await.contains("<h1>404</h1>"));
    }
}

#[tokio::test]
async fn a_web_site_that_rebinds_its_name_reads_nothing() {
    let inbox = Inbox::open().await;
    inbox.keep("grace@example.com", RICH).await;
    for path in ["/inbox", "/inbox/in_1", "/inbox/in_1/raw", "/inbox/in_1/html"] {
        let response = ask_host(&inbox, path, "application/json", "evil.example:8080").await;
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{path}");
        assert!(!text(response).await.contains("Grace"));
    }
}

#[tokio::test]
async fn an_empty_inbox_says_how_to_fill_it() {
    let inbox = Inbox::open().await;
    let page = text(ask(&inbox, "/inbox", "text/html").await).await;
    assert!(page.contains("curl http://127.0.0.1:8080/messages/send"));
}

#[tokio::test]
async fn the_list_is_kept_up_to_date_without_being_loaded_anew() {
    let inbox = Inbox::open().await;
    inbox.keep("grace@example.com", RICH).await;
    let list = ask(&inbox, "/inbox", "text/html").await;
    let policy = header(&list, CONTENT_SECURITY_POLICY).to_owned();
    assert!(policy.contains("script-src 'self'; connect-src 'self';"), "{policy}");
    let page = text(list).await;
    // Only where scripts are off: loading anew loses the focus.
    assert!(page.contains("<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"));
    assert!(page.contains("<li data-id=\"in_1\">"), "a row is known again: {page}");
    assert!(page.contains("<script src=\"/inbox/list.js\" defer></script>"));
    let script = ask(&inbox, "/inbox/list.js", "*/*").await;
    assert_eq!(header(&script, "content-type"), "text/javascript; charset=utf-8");
    let message = ask(&inbox, "/inbox/in_1", "text/html").await;
    assert!(!header(&message, CONTENT_SECURITY_POLICY).contains("script-src"), "mail runs none");
}
