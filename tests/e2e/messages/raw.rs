//! The message itself.

use super::*;

async fn raw(server: &Server, account: &Account, id: &str) -> (String, Vec<String>) {
    let request = server.request(Method::GET, &format!("/v1/messages/{id}/raw"));
    let answer = request.header("x-api-key", &account.key).send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let header = |name: &str| {
        let value = answer.headers().get(name).and_then(|it| it.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let names = ["content-type", "content-disposition", "x-content-type-options", "cache-control"];
    let headers = names.map(header).to_vec();
    (answer.text().await.expect("UTF-8"), headers)
}

#[tokio::test]
async fn the_message_itself_comes_as_a_file_that_no_browser_shows() {
    let server = Server::dev();
    let ann = holder(&server, 10);
    let id = server.send(&ann.key, &message("ada@example.com")).await.message_id();
    let (text, headers) = raw(&server, &ann, &id).await;
    assert!(text.contains("481 902") && text.contains("\r\n\r\n"), "{text}");
    assert!(
        text.contains(&format!("<{}@sandbox.test>", id.trim_start_matches("msg_").to_lowercase())),
        "{text}"
    );
    let disposition = format!("attachment; filename=\"{id}.eml\"");
    assert_eq!(headers, ["message/rfc822", &disposition, "nosniff", "no-store"]);
    assert_eq!(server.cli(&["message", "raw", &id])["raw"], text.as_str());

    server.wait_for_mail_to("ada@example.com").await;
    until_state(&server, &ann.key, &id, "delivered").await;
    // As time does it.
    assert_eq!(change(&server, "DELETE FROM bodies").await, 1);
    let answer = ask(&server, Method::GET, &ann.key, &format!("/{id}/raw")).await;
    answer.assert_refused(404, "NOT_FOUND");
    assert!(answer.body["message"].as_str().is_some_and(|it| it.contains("no longer kept")));
    let file = get(&server, &ann.key, &format!("/{id}")).await;
    assert_eq!(file["size"], Value::Null);
    assert!(server.cli_fails(&["message", "raw", &id]).contains("no longer kept"));
    let again = post(&server, &ann.key, &format!("/{id}/resend")).await;
    again.assert_refused(409, "CONFLICT");
    assert!(again.body["message"].as_str().is_some_and(|it| it.contains("no longer kept")));
}
