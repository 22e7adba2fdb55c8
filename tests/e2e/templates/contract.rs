//! What a template and its senders rely on: formats, data that nothing reads, and the schema that says it all.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Answer, Port, Server, Smtp};

use super::{api, create, publish};

const TEMPLATE: &str = "/v1/templates/order";

/// An order with a date, a link, an amount and lines.
fn draft() -> Value {
    json!({
        "name": "Order", "description": "When it was paid.",
        "subject": "Order of {{ on | date: '%Y' }}",
        "text": "{{ total | money: currency }} {{ user.mail }}{% if link %} {{ link }}{% endif %}\
                 {% for it in items %} {{ it.price | money: currency }}{% endfor %}{{ tags | join: ', ' }}",
        "variables": [
            {"path": "on", "format": "date", "description": "When it was paid."},
            {"path": "total", "type": "number", "format": "money"},
            {"path": "currency", "format": "currency"},
            {"path": "user", "type": "object"}, {"path": "user.mail", "format": "email"},
            {"path": "link", "format": "url"},
            {"path": "items", "type": "array"}, {"path": "items[].price", "format": "money"},
            {"path": "tags", "type": "array"}, {"path": "tags[]", "type": "string"},
        ],
        "examples": {"default": good()},
    })
}

fn good() -> Value {
    json!({
        "on": "2026-12-24", "total": 1299, "currency": "EUR", "user": {"mail": "ada@example.com"},
        "link": "https://example.com/7", "items": [{"price": 1200}, {"price": 99}], "tags": ["new"],
    })
}

async fn send(server: &Server, data: &Value) -> Answer {
    let message =
        json!({"to": "ada@example.com", "type": "EMAIL", "template": "order", "data": data});
    server.send(server.key(), &message).await
}

async fn published(server: &Server) {
    create(server, "/v1/templates", "order", draft()).await;
    assert_eq!(publish(server, TEMPLATE, json!({})).await["warnings"], json!([]));
}

#[tokio::test]
async fn data_of_another_format_is_refused_with_every_fault_over_http_and_smtp() {
    let server = Server::dev();
    published(&server).await;
    send(&server, &good()).await.message_id();
    let bad = json!({
        "on": "soon", "total": 12.99, "currency": "euro", "user": {"mail": "Ada <ada@example.com>"},
        "link": "javascript:alert(1)", "items": [{"price": 1}, {"price": "2"}, {"price": 0.5}], "tags": ["a", 1],
    });
    let fields = [
        "data.on",
        "data.total",
        "data.currency",
        "data.user.mail",
        "data.link",
        "data.items[1].price",
        "data.items[2].price",
        "data.tags[1]",
    ];
    let refused = send(&server, &bad).await;
    refused.assert_faults(&fields);
    let words = refused.body.to_string();
    assert!(words.contains("RFC 3339") && words.contains("minor units"), "{words}");
    // With a fault of the request's own, all faults are still told at once.
    let both = json!({"to": "nobody", "type": "EMAIL", "template": "order", "data": bad});
    let all: Vec<&str> = ["to"].into_iter().chain(fields).collect();
    server.send(server.key(), &both).await.assert_faults(&all);
    let tried = json!({"to": ["a@example.com"], "data": bad});
    let trial = api(&server, Method::POST, &format!("{TEMPLATE}/test"), &tried).await;
    assert_eq!(trial.body["data"][0]["code"], "BAD_REQUEST");

    let from = server.dev_output("from");
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    let message = |data: &Value| {
        format!(
            "From: {from}\r\nX-Waxwing-Template: order\r\nContent-Type: application/json\r\n\r\n{data}\r\n"
        )
    };
    client.send(from, &["c@example.com"], &message(&good())).await.assert(250);
    let reply = client.send(from, &["c@example.com"], &message(&bad)).await;
    reply.assert_begins("554");
    assert!(reply.text.contains("data.on"), "{}", reply.text);
}

#[tokio::test]
async fn data_that_nothing_reads_is_a_warning() {
    let server = Server::dev();
    published(&server).await;
    let mut data = good();
    data["user"]["nmae"] = json!("Ada");
    data["items"][0]["qty"] = json!(1);
    data["items"][1]["qty"] = json!(2);
    data["colour"] = json!("red");
    let sent = send(&server, &data).await;
    sent.message_id();
    assert_eq!(
        sent.body["warnings"],
        json!([
            "nothing in the template reads `data.user.nmae`",
            "nothing in the template reads `data.items[].qty`",
            "nothing in the template reads `data.colour`"
        ])
    );
    let preview =
        api(&server, Method::POST, &format!("{TEMPLATE}/preview"), &json!({"data": data})).await;
    assert_eq!(
        preview.body["unused"],
        json!(["user.nmae", "items[].qty", "colour"]),
        "{}",
        preview.body
    );
    assert!(send(&server, &good()).await.body.get("warnings").is_none());
    // Of very many the first are named.
    let mut many = good();
    for it in 0..100 {
        many[format!("n{it}")] = json!(it);
    }
    let warnings = send(&server, &many).await.body["warnings"].clone();
    assert_eq!(warnings.as_array().map(Vec::len), Some(21), "{warnings}");

    let patch = json!({"strict": true, "examples": {"default": {"colour": "red"}}});
    api(&server, Method::PATCH, TEMPLATE, &patch).await;
    let found = api(&server, Method::POST, &format!("{TEMPLATE}/validate"), &json!({})).await.body;
    let unread = found["diagnostics"].as_array().expect("a list").iter();
    assert!(unread.clone().any(|it| it["code"] == "unread" && it["path"] == "colour"), "{found}");
    let forced = publish(&server, TEMPLATE, json!({"force": true})).await;
    assert_eq!(forced["breaking"][0]["path"], "link", "what was optional: {forced}");
    send(&server, &data).await.message_id();
}

#[tokio::test]
async fn a_narrower_format_breaks_senders_and_an_unknown_one_is_no_draft() {
    let server = Server::dev();
    let mut before = draft();
    before["variables"][0] = json!({"path": "on", "type": "string"});
    create(&server, "/v1/templates", "order", before).await;
    publish(&server, TEMPLATE, json!({})).await;
    api(&server, Method::PUT, &format!("{TEMPLATE}/draft"), &draft()).await;
    let refused = api(&server, Method::POST, &format!("{TEMPLATE}/publish"), &json!({})).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    let change = &refused.body["breaking"][0];
    assert_eq!((&change["path"], &change["change"]), (&json!("on"), &json!("format")), "{change}");

    let mut wrong = draft();
    wrong["variables"][0]["format"] = json!("uri");
    wrong["variables"][1]["format"] = json!("date");
    let refused = api(&server, Method::PUT, &format!("{TEMPLATE}/draft"), &wrong).await;
    refused.assert_faults(&["variables[0].format", "variables[1].format"]);
    assert!(refused.body.to_string().contains("did you mean `url`"), "{}", refused.body);
    let mut example = draft();
    example["examples"]["default"]["items"][1]["price"] = json!("99");
    let found =
        api(&server, Method::POST, &format!("{TEMPLATE}/validate"), &json!({"draft": example}))
            .await;
    let paths = found.body["diagnostics"].as_array().expect("a list").iter().map(|it| &it["path"]);
    assert!(paths.clone().any(|it| it == "items[1].price"), "{}", found.body);
}

#[tokio::test]
async fn a_plan_or_sender_that_sends_would_be_refused_for_breaks_senders() {
    let server = Server::dev();
    drop(server.cli(&["account", "update", server.dev_output("accountId"), "--plan", "pro"]));
    published(&server).await;
    let publish = format!("{TEMPLATE}/publish");
    for (member, value, breaks) in [
        ("requiredPlan", "paid", false),
        ("requiredPlan", "free", false),
        ("requiredPlan", "enterprise", true),
        ("requiredPlan", "pro", false),
        ("sender", "hello@stranger.example.com", true),
    ] {
        api(&server, Method::PATCH, TEMPLATE, &json!({member: value})).await;
        // A request without a body has all defaults.
        let told = api(&server, Method::POST, &publish, &Value::Null).await;
        assert_eq!(told.status, if breaks { 409 } else { 200 }, "{value}: {}", told.body);
        if breaks {
            assert_eq!(told.body["breaking"][0]["path"], member, "{}", told.body);
        }
    }
}

#[tokio::test]
async fn a_sender_a_plan_and_a_locale_that_mislead_are_warned_of() {
    let server = Server::dev();
    let draft = json!({
        "subject": "S", "text": "t", "sender": "hello@stranger.example.com", "requiredPlan": "busines",
        "locales": {"en": {"text": "u"}},
    });
    create(&server, "/v1/templates", "order", draft).await;
    let told = publish(&server, TEMPLATE, json!({})).await;
    let warnings = told["warnings"].as_array().expect("a list");
    let codes: Vec<&Value> = warnings.iter().map(|it| &it["code"]).collect();
    assert_eq!(codes, ["own_locale", "unverified_sender", "unknown_plan"], "{told}");
    let message = |at: usize| warnings[at]["message"].as_str().unwrap_or_default();
    assert!(message(0).contains("what it says there is sent"), "{told}");
    assert!(message(1).contains("waxwing domain add"), "{told}");
    assert!(message(2).contains("enterprise, paid"), "{told}");
    assert_eq!(warnings[2]["suggestion"], "business", "{told}");
    let good = json!({"sender": null, "requiredPlan": "paid", "locales": null});
    api(&server, Method::PATCH, TEMPLATE, &good).await;
    assert_eq!(publish(&server, TEMPLATE, json!({"force": true})).await["warnings"], json!([]));
}

#[tokio::test]
async fn a_version_that_refuses_what_the_one_before_accepts_breaks_senders() {
    let server = Server::dev();
    for (number, (before, after, breaks)) in [
        ("{% for i in a %}{{ i }}{% endfor %}", "{{ a }}", true),
        ("{% if a %}{{ a.b }}{% endif %}", "{% if a %}{{ a }}{% endif %}", true),
        ("{{ a }}", "{% if a > 3 %}many{% endif %}", true),
        (
            "{% for i in a %}{{ i.b }}{% endfor %}",
            "{{ a.size }}{% for i in a %}{{ i.b }}{% endfor %}",
            false,
        ),
        ("{{ a.b }}", "{{ a | json }}", false),
    ]
    .into_iter()
    .enumerate()
    {
        let slug = format!("trial-{number}");
        let source = |text| json!({"subject": "S", "text": text});
        create(&server, "/v1/templates", &slug, source(before)).await;
        let path = format!("/v1/templates/{slug}");
        publish(&server, &path, json!({})).await;
        api(&server, Method::PUT, &format!("{path}/draft"), &source(after)).await;
        let told = api(&server, Method::POST, &format!("{path}/publish"), &Value::Null).await;
        assert_eq!(told.status, if breaks { 409 } else { 200 }, "{after}: {}", told.body);
    }
    // The example of the version that is published is what senders give.
    let with =
        |text, a: Value| json!({"subject": "S", "text": text, "examples": {"default": {"a": a}}});
    let list = with("{% for i in a %}{{ i }}{% endfor %}", json!(["x"]));
    create(&server, "/v1/templates", "exemplary", list).await;
    publish(&server, "/v1/templates/exemplary", json!({})).await;
    let path = "/v1/templates/exemplary";
    api(&server, Method::PUT, &format!("{path}/draft"), &with("{{ a }}", json!("x"))).await;
    let told = api(&server, Method::POST, &format!("{path}/publish"), &Value::Null).await;
    assert_eq!(
        told.body["breaking"][0]["before"], "accepted with the example default",
        "{}",
        told.body
    );
    // What a partial is given is tried too, and a roll-back says what it breaks.
    create(&server, "/v1/partials", "name", json!({"html": "{{ user.name }}"})).await;
    publish(&server, "/v1/partials/name", json!({})).await;
    let html = "{% render 'name', user: user %}";
    create(&server, "/v1/templates", "made-of", json!({"subject": "S", "html": html})).await;
    publish(&server, "/v1/templates/made-of", json!({})).await;
    let change = json!({"html": "{{ user }}"});
    api(&server, Method::PATCH, "/v1/partials/name", &change).await;
    let told = api(&server, Method::POST, "/v1/partials/name/publish", &Value::Null).await;
    assert_eq!(told.body["breaking"][0]["template"], "made-of", "{}", told.body);
    let first = json!({"revision": 1});
    let back = api(&server, Method::POST, "/v1/templates/trial-4/rollback", &first).await;
    assert_eq!(
        (back.status, &back.body["breaking"][0]["path"]),
        (200, &json!("a.b")),
        "{}",
        back.body
    );
}

#[tokio::test]
async fn the_schema_is_of_the_published_version_of_another_or_of_the_draft() {
    let server = Server::dev();
    let schema = async |query: &str| {
        api(&server, Method::GET, &format!("{TEMPLATE}/schema{query}"), &Value::Null).await
    };
    create(&server, "/v1/templates", "order", draft()).await;
    schema("").await.assert_refused(404, "NOT_FOUND");
    assert_eq!(schema("?of=draft").await.body["$comment"], "template order, draft");
    publish(&server, TEMPLATE, json!({})).await;
    let first = schema("").await.body;
    assert_eq!(first["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(
        (&first["title"], &first["description"]),
        (&json!("Order"), &json!("When it was paid."))
    );
    assert_eq!(first["properties"]["on"]["description"], "When it was paid.");
    assert_eq!(first["properties"]["items"]["items"]["properties"]["price"]["type"], "integer");
    assert_eq!(first["properties"]["tags"]["items"]["type"], json!(["string", "null"]));
    assert_eq!(first["examples"], json!([good()]));
    api(&server, Method::PATCH, TEMPLATE, &json!({"name": "Purchase"})).await;
    publish(&server, TEMPLATE, json!({})).await;
    assert_eq!(schema("").await.body["title"], "Purchase");
    assert_eq!(schema("?of=1").await.body, first);
    schema("?of=7").await.assert_refused(404, "NOT_FOUND");
    schema("?of=newest").await.assert_faults(&["of"]);
}
