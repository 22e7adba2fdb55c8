//! Lists and files.

use waxwing_tests::Launch;

use super::*;

#[tokio::test]
async fn lists_come_newest_first_in_pages_and_every_filter_takes_what_it_says() {
    let server = Server::dev();
    let ann = holder(&server, 100);
    let mut sent = Vec::new();
    for n in 0..5 {
        let to = format!("n{}@example.com", n % 2);
        let tagged = with(message(&to), "tags", json!([format!("t{n}"), "all"]));
        sent.insert(0, server.send(&ann.key, &tagged).await.message_id());
        until_state(&server, &ann.key, &sent[0], "delivered").await;
    }
    sent.insert(0, send_tomorrow(&server, &ann.key, "later@example.com").await);
    for limit in [1, 2, 5, 6, 500] {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let page = get(&server, &ann.key, &format!("?limit={limit}{after}")).await;
            found.extend(ids(&page).into_iter().map(str::to_owned));
            assert_eq!(page["hasMore"], page.get("next").is_some(), "{page}");
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
        }
        assert_eq!(found, sent, "{limit} a page");
    }
    let list = async |query: &str| -> Vec<String> {
        ids(&get(&server, &ann.key, query).await).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(list("?to=n1%40EXAMPLE.com").await, [sent[2].as_str(), &sent[4]]);
    assert_eq!(list("?to=N1%40example.com").await, [""; 0], "a local part is as it is written");
    assert_eq!(list("?state=scheduled").await, [sent[0].as_str()]);
    assert_eq!(list("?state=scheduled,delivered").await, sent);
    assert_eq!(list("?state=bounced").await, [""; 0]);
    assert_eq!(list("?tag=t3").await, [sent[2].as_str()]);
    assert_eq!(list("?tag=all&to=n0@example.com").await.len(), 3);
    assert_eq!(list("?template=verification-code").await, sent);
    assert_eq!(list("?template=welcome").await, [""; 0]);
    assert_eq!(list("?from=hello@sandbox.test&limit=2").await, sent[..2]);
    assert_eq!(list("?subject=481%20902").await, sent);
    assert_eq!(list("?subject=nowhere").await, [""; 0]);
    let third = get(&server, &ann.key, &format!("/{}", sent[2])).await;
    let moment = third["createdAt"].as_str().expect("a moment").to_owned();
    assert_eq!(list(&format!("?since={moment}")).await, sent[..3]);
    assert_eq!(list(&format!("?until={moment}")).await, sent[3..]);
}

#[tokio::test]
async fn a_query_that_is_wrong_is_refused_and_says_why() {
    let server = Server::dev();
    let refused = async |query: &str| ask(&server, Method::GET, server.key(), query).await;
    for (query, field) in [
        ("?to=nobody", "to"),
        ("?from=a@b@c", "from"),
        ("?state=lost", "state"),
        ("?state=", "state"),
        ("?since=yesterday", "since"),
        ("?until=2026-01-01", "until"),
        ("?after=dom_01ARZ3NDEKTSV4RRFFQ69G5FAV", "after"),
    ] {
        refused(query).await.assert_faults(&[field]);
    }
    refused("?to=nobody&state=lost&since=x").await.assert_faults(&["to", "state", "since"]);
    for (query, field) in
        [("?colour=red", "colour"), ("?limit=many", "limit"), ("?limit=-1", "limit")]
    {
        refused(query).await.assert_faults(&[field]);
    }
    refused("?limit=0").await.assert_faults(&["limit"]);
    server.send(server.key(), &message("a@example.com")).await.message_id();
    let page = get(&server, server.key(), "?limit=100000").await;
    assert!(!ids(&page).is_empty(), "as many as there may be");
}

#[tokio::test]
async fn a_file_tells_all_and_a_line_of_the_list_is_a_part_of_it() {
    let server = Server::dev();
    let ann = holder(&server, 10);
    let mut body = with(message("ada@example.com"), "tags", json!(["code"]));
    body["metadata"] = json!({"order": "7"});
    let id = server.send(&ann.key, &body).await.message_id();
    let file = until_state(&server, &ann.key, &id, "delivered").await;
    assert_eq!((&file["tags"], &file["metadata"]), (&json!(["code"]), &json!({"order": "7"})));
    assert_eq!((&file["credits"], &file["refunded"]), (&json!(1), &json!(0)));
    assert_eq!((&file["channel"], &file["keyId"]), (&json!("api"), &json!(ann.key_id)));
    assert_eq!(
        (&file["accountId"], &file["template"]),
        (&json!(ann.id), &json!("verification-code"))
    );
    assert_eq!((&file["resentFrom"], &file["complainedAt"]), (&Value::Null, &Value::Null));
    assert_eq!(file["decisions"].as_array().map(Vec::len), Some(3));
    assert!(file["size"].as_u64().is_some_and(|it| it > 500), "{file}");
    assert_eq!(types(&file["events"]), ["message.queued", "message.sending", "message.delivered"]);
    let attempt = &file["attempts"][0];
    assert_eq!((&attempt["number"], &attempt["outcome"]), (&json!(1), &json!("delivered")));
    assert_eq!(attempt["route"], "sandbox");
    assert!(attempt["reply"].as_str().is_some_and(|it| it.starts_with("250")), "{attempt}");

    let list = get(&server, &ann.key, "").await;
    for (field, value) in list["data"][0].as_object().expect("a line") {
        assert_eq!(&file[field], value, "{field}");
    }
    for part in ["events", "attempts"] {
        let list = get(&server, &ann.key, &format!("/{id}/{part}")).await;
        assert_eq!((&list["data"], &list["hasMore"]), (&file[part], &json!(false)));
    }
    let shown = server.cli(&["message", "show", &id]);
    assert_eq!(shown, file, "the command line shows the same");
    let text = server.cli_text(&["message", "show", &id]);
    assert!(text.contains("message.delivered") && text.contains("attempt 1"), "{text}");
    assert_eq!(server.cli(&["message", "events", &id]), file["events"]);
    assert_eq!(server.cli(&["message", "attempts", &id]), file["attempts"]);
    let filtered = ["message", "list", "--account", &ann.id, "--state", "queued,delivered"];
    assert_eq!(server.cli(&filtered), list["data"]);
    let filtered = ["message", "list", "--account", &ann.id, "--tag", "other"];
    assert_eq!(server.cli(&filtered), json!([]));
}

#[tokio::test]
async fn a_deferred_message_shows_each_attempt_and_when_the_next_one_is() {
    let down = Launch::dev().with("inbox", "enabled", "false");
    let server = Server::start(down.with("delivery", "retry_pauses_s", "[600]"));
    let id = server.send(server.key(), &message("a@example.com")).await.message_id();
    let file = until_state(&server, server.key(), &id, "deferred").await;
    assert!(file["nextAttemptAt"].is_string(), "{file}");
    let attempt = &file["attempts"][0];
    assert_eq!((&attempt["outcome"], &attempt["code"]), (&json!("deferred"), &Value::Null));
    assert!(attempt["reply"].as_str().is_some_and(|it| it.len() > 5), "{attempt}");
}
