//! `GET /docs`: the page of the API that a browser is shown.

use reqwest::Method;
use waxwing_tests::Server;

#[tokio::test]
async fn anybody_reads_a_page_of_all_operations_that_loads_nothing() {
    let server = Server::dev();
    let answer = server.request(Method::GET, "/docs").send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let header = |name: &str| {
        answer.headers().get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned()
    };
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let html = answer.text().await.expect("a page");
    let document = server.openapi().await.expect("the document");
    for path in document["paths"].as_object().expect("paths").keys() {
        assert!(html.contains(&format!("<code>{path}</code>")), "{path}");
    }
    assert!(!html.contains("src=\"") && !html.contains("<img"), "no asset");
}

#[tokio::test]
async fn the_page_is_small_for_a_client_that_takes_gzip() {
    let server = Server::dev();
    let length = async |coding: &str| {
        let request = server.request(Method::GET, "/docs").header("accept-encoding", coding);
        let answer = request.send().await.expect("an answer");
        let coded = answer.headers().get("content-encoding").is_some();
        (coded, answer.bytes().await.expect("a body").len())
    };
    let ((plain, whole), (coded, small)) = (length("identity").await, length("gzip").await);
    assert!(!plain && coded && small * 4 < whole, "{small} of {whole}");
}
