//! A query parameter that an operation does not know is refused: one that was ignored would mislead.

use serde_json::json;
use waxwing_tests::Server;

use super::operations::{Operation, Things};

#[tokio::test]
async fn no_operation_ignores_a_query_parameter() {
    let server = Server::dev();
    let things = Things::of(&server, server.key()).await;
    let mut wrong = Vec::new();
    for operation in Operation::all(&server, &things).await {
        // Sends take what later versions will know.
        if !operation.known_as.starts_with("/v1/") {
            continue;
        }
        let asked = operation.with_query("colour=red");
        let answer = asked.with(&server, server.key()).await;
        let errors = answer.body["errors"].as_array().cloned().unwrap_or_default();
        if answer.status != 400 || errors.iter().all(|it| it["field"] != "colour") {
            wrong.push(format!("{asked}: {} {}", answer.status, answer.body));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn an_operator_reads_and_changes_the_brand_of_another_account() {
    let server = Server::dev();
    let other = server.open_account("pro", 0);
    let (_, admin) = server.make_key(&other.id, &["--scope", "admin"]);
    let own = server.get_as(server.key(), "/v1/brand").await.body;
    let path = format!("/v1/brand?account={}", other.id);
    let theirs = server.get_as(server.key(), &path).await.body;
    assert_eq!(theirs["productName"], json!("Test & Co"), "{theirs}");
    let change = json!({"productName": "Plover"});
    let request = server.request(reqwest::Method::PATCH, &path).header("x-api-key", server.key());
    let changed = server.answer(request.json(&change)).await;
    assert_eq!((changed.status, &changed.body["productName"]), (200, &json!("Plover")));
    assert_eq!(server.get_as(&admin, "/v1/brand").await.body["productName"], json!("Plover"));
    assert_eq!(server.get_as(server.key(), "/v1/brand").await.body, own, "its own is as it was");
    server.get_as(&admin, &path).await.assert_refused(403, "FORBIDDEN");
    let nobody = "/v1/brand?account=acc_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    server.get_as(server.key(), nobody).await.assert_refused(404, "NOT_FOUND");
}
