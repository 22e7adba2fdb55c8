//! MJML through HTTP: faults at their lines, preview, publishing, a message, and what would take too much.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::Server;

use super::{api, create, publish};

const PATH: &str = "/v1/templates/order";

fn body(inside: &str) -> String {
    format!(
        "<mjml>\n<mj-head><mj-preview>Thanks, {{{{ name }}}}</mj-preview></mj-head>\n<mj-body><mj-section><mj-column>\n\
         {inside}\n<mj-include path=\"./footer.mjml\" />\n</mj-column></mj-section></mj-body>\n</mjml>"
    )
}

fn draft(inside: &str) -> Value {
    json!({
        "subject": "Order {{ id }}", "mjml": body(inside),
        "examples": {"default": {"name": "Ada & Bo", "id": 7}},
        "messages": {"hi": "Hello"}, "locales": {"de": {"subject": "Bestellung {{ id }}", "messages": {"hi": "Hallo"}}},
    })
}

const GOOD: &str = "<mj-text>{{ 'hi' | t }} {{ name }}{% if id < 9 %}!{% endif %}</mj-text>";

async fn with_footer(server: &Server) {
    let footer = json!({"mjml": "<mj-text css-class=\"foot\">{{ product_name | default: \"Shop\" }}</mj-text>"});
    create(server, "/v1/partials", "footer", footer).await;
    publish(server, "/v1/partials/footer", json!({})).await;
}

fn found<'a>(answer: &'a Value, code: &str) -> &'a Value {
    let all = answer["diagnostics"].as_array().or(answer["warnings"].as_array()).expect("a list");
    let found = all.iter().find(|it| it["code"] == code);
    assert!(found.is_some(), "no {code}: {answer:#}");
    found.expect("asserted")
}

#[tokio::test]
async fn an_authors_day_with_mjml() {
    let server = Server::dev();
    with_footer(&server).await;
    let made = create(&server, "/v1/templates", "order", draft("<mj-txt>x</mj-txt>")).await;
    assert_eq!(made["state"], "draft");
    let call = async |verb: &str, it: Value| {
        api(&server, Method::POST, &format!("{PATH}/{verb}"), &it).await
    };

    // A fault of MJML, and one of Liquid, each at its line of the MJML.
    let refused = call("publish", json!({})).await;
    refused.assert_refused(400, "BAD_REQUEST");
    let fault = found(&refused.body, "unknown_element");
    assert_eq!((&fault["part"], &fault["line"]), (&json!("mjml"), &json!(4)), "{fault}");
    let wrong = draft("<mj-text>é {{ name | upcas }}</mj-text>");
    let told = call("validate", json!({"draft": wrong})).await;
    let fault = found(&told.body, "unknown_filter");
    assert_eq!(
        (&fault["part"], &fault["line"], &fault["suggestion"]),
        (&json!("mjml"), &json!(4), &json!("upcase")),
        "{fault}"
    );
    assert!(fault["column"].as_u64().is_some_and(|it| (12..30).contains(&it)), "{fault}");
    let told =
        call("validate", json!({"draft": draft("<mj-text>{% render 'footer' %}</mj-text>")})).await;
    let fault = found(&told.body, "unknown_partial");
    assert!(
        fault["message"].as_str().is_some_and(|it| it.contains("<mj-include path=\"footer\" />")),
        "{fault}"
    );

    // Seen beside its HTML, with what the compiler and the lint warn of.
    let warned =
        draft(&format!("{GOOD}<mj-image colour=\"red\" src=\"http://a.example/b.png\" />"));
    assert_eq!(api(&server, Method::PUT, &format!("{PATH}/draft"), &warned).await.status, 200);
    let preview = call("preview", json!({})).await;
    assert_eq!(preview.status, 200, "{}", preview.body);
    let html = preview.body["mjml"]["html"].as_str().expect("HTML");
    assert!(html.contains("{{ name }}") && html.contains("class=\"foot\""), "{html}");
    assert_eq!(preview.body["mjml"]["source"], warned["mjml"]);
    assert_eq!(preview.body["parts"]["preheader"], "Thanks, Ada & Bo", "{}", preview.body["parts"]);
    for code in ["unknown_attribute", "image_without_alt", "http_link"] {
        assert_eq!(found(&preview.body, code)["line"], 4);
    }

    // Published without a warning; the same again makes no version.
    assert_eq!(api(&server, Method::PUT, &format!("{PATH}/draft"), &draft(GOOD)).await.status, 200);
    let first = publish(&server, PATH, json!({})).await;
    assert_eq!((&first["revision"], &first["warnings"]), (&json!(1), &json!([])), "{first:#}");
    assert_eq!(publish(&server, PATH, json!({})).await["unchanged"], true);
    let version = api(&server, Method::GET, &format!("{PATH}/versions/1"), &Value::Null).await.body;
    assert_eq!(version["source"]["mjml"], draft(GOOD)["mjml"]);
    assert_eq!(version["partials"][0]["name"], "footer");
    let compiled = &version["compiled"];
    assert!(compiled["compiler"]["digest"].as_str().is_some_and(|it| it.starts_with("sha256:")));
    assert_eq!(compiled["locales"].as_object().map(serde_json::Map::len), Some(1), "{compiled:#}");

    // Sent, in both languages.
    for (locale, subject, hello) in [("en", "Order 7", "Hello"), ("de", "Bestellung 7", "Hallo")] {
        let to = format!("{locale}@example.com");
        let message = json!({"to": to, "type": "EMAIL", "template": "order", "locale": locale,
                             "data": {"name": "Ada & Bo", "id": 7}});
        server.send(server.key(), &message).await.message_id();
        let mail = server.wait_for_mail_to(&to).await;
        assert_eq!(mail.subject, subject);
        let raw = server.raw_mail(&mail).await;
        let raw = String::from_utf8_lossy(&raw).replace("=\r\n", "");
        assert!(
            raw.contains(&format!("{hello} Ada &amp; Bo!")) && raw.contains("Tern &amp; Co"),
            "{raw}"
        );
        assert!(!raw.contains("<mj-"), "{raw}");
    }

    // A partial that changes brings a version of what includes it; back is exact.
    let changed = json!({"mjml": "<mj-text>Other foot</mj-text>"});
    assert_eq!(api(&server, Method::PUT, "/v1/partials/footer/draft", &changed).await.status, 200);
    assert_eq!(
        publish(&server, "/v1/partials/footer", json!({})).await["touched"],
        json!(["order"])
    );
    let preview = call("preview", json!({"of": "published"})).await;
    assert!(preview.body["parts"]["html"].as_str().is_some_and(|it| it.contains("Other foot")));
    assert_eq!(call("rollback", json!({"revision": 1})).await.status, 200);
    let preview = call("preview", json!({"of": "published"})).await;
    assert!(preview.body["parts"]["html"].as_str().is_some_and(|it| it.contains("class=\"foot\"")));
    assert_eq!(
        call("duplicate", json!({"slug": "order-2"})).await.body["draft"]["mjml"],
        draft(GOOD)["mjml"]
    );
    let diff =
        api(&server, Method::PATCH, PATH, &json!({"mjml": body("<mj-text>New</mj-text>")})).await;
    assert_eq!(diff.status, 200, "{}", diff.body);
    let diff = api(&server, Method::GET, &format!("{PATH}/diff"), &Value::Null).await;
    assert_eq!(diff.body["parts"][0]["part"], "mjml", "{}", diff.body);
}

#[tokio::test]
async fn mjml_and_html_are_told_apart() {
    let server = Server::dev();
    let both = json!({"slug": "order", "draft": {"html": "<p>", "mjml": "<mjml></mjml>"}});
    let refused = api(&server, Method::POST, "/v1/templates", &both).await;
    refused.assert_faults(&["draft.mjml"]);
    create(&server, "/v1/templates", "order", json!({"subject": "x", "html": body(GOOD)})).await;
    let told = api(&server, Method::POST, &format!("{PATH}/validate"), &json!({})).await;
    let fault = found(&told.body, "raw_mjml");
    assert!(
        fault["message"].as_str().is_some_and(|it| it.contains("`mjml` in place of `html`")),
        "{fault}"
    );
    let layout = json!({"subject": "x", "mjml": body(GOOD), "layout": "base"});
    let told =
        api(&server, Method::POST, &format!("{PATH}/validate"), &json!({"draft": layout})).await;
    assert_eq!(told.body["valid"], false, "{}", told.body);
}

#[tokio::test]
async fn a_layout_in_mjml_surrounds_html() {
    let server = Server::dev();
    let layout = "<mjml><mj-body><mj-section><mj-column><mj-text>{{ content }}</mj-text></mj-column></mj-section></mj-body></mjml>";
    create(&server, "/v1/layouts", "frame", json!({"mjml": layout})).await;
    publish(&server, "/v1/layouts/frame", json!({})).await;
    create(
        &server,
        "/v1/templates",
        "order",
        json!({"subject": "x", "html": "<p>{{ name }}</p>", "layout": "frame"}),
    )
    .await;
    publish(&server, PATH, json!({})).await;
    let body = json!({"data": {"name": "<Ada>"}});
    let preview = api(&server, Method::POST, &format!("{PATH}/preview"), &body).await;
    let html = preview.body["parts"]["html"].as_str().expect("HTML");
    assert!(html.contains("<p>&lt;Ada&gt;</p>") && html.contains("mj-column-per-100"), "{html}");
}

#[tokio::test]
async fn hostile_mjml_is_refused_with_the_reason() {
    let server = Server::dev();
    with_footer(&server).await;
    create(&server, "/v1/templates", "order", draft(GOOD)).await;
    let deep = format!("<mj-text>{}{}</mj-text>", "<div>".repeat(5_000), "</div>".repeat(5_000));
    for (inside, code, line) in [
        (deep.as_str(), "too_deep", 4),
        (
            "<mj-image width=\"{{ w }}px\" alt=\"\" src=\"https://a.b/c\" />",
            "liquid_in_dimension",
            4,
        ),
        ("<mj-include path=\"/etc/passwd\" type=\"html\" />", "unknown_include", 4),
        ("<mj-text>\n{{ never</mj-text>", "unclosed_tag", 5),
        ("<mj-text><p>a<b>c</p></mj-text>", "unclosed_element", 4),
    ] {
        let told = api(
            &server,
            Method::POST,
            &format!("{PATH}/validate"),
            &json!({"draft": draft(inside)}),
        )
        .await;
        assert_eq!(found(&told.body, code)["line"], line, "{}", told.body);
        assert_eq!(told.body["valid"], false);
    }
    let large = "<mj-text>x</mj-text>".repeat(500_000);
    let refused = api(&server, Method::PUT, &format!("{PATH}/draft"), &draft(&large)).await;
    assert!(matches!(refused.status, 400 | 413), "{}", refused.body);
    assert_eq!(publish(&server, PATH, json!({})).await["revision"], 1);
}

#[test]
fn a_folder_may_have_mjml() {
    let server = Server::dev();
    let folder = server.scratch("order");
    fs::create_dir_all(folder.join("locales/de")).expect("a folder");
    let mjml = |text: &str| {
        format!(
            "<mjml><mj-head><mj-preview>x</mj-preview></mj-head><mj-body><mj-section><mj-column>\
             <mj-text>{text}</mj-text></mj-column></mj-section></mj-body></mjml>"
        )
    };
    for (name, text) in [
        ("template.toml", "name = \"Order\"\ndescription = \"For a test.\"\n".to_owned()),
        ("subject.liquid", "Order".to_owned()),
        ("body.mjml", mjml("Hello")),
        ("locales/de/body.mjml", mjml("Hallo")),
    ] {
        fs::write(folder.join(name), text).expect("written");
    }
    let (account, folder) = (server.dev_output("accountId"), folder.display().to_string());
    let arguments = [
        "template",
        "create",
        "--account",
        account,
        "--slug",
        "order",
        "--folder",
        folder.as_str(),
    ];
    let made = server.cli(&arguments);
    assert_eq!((&made["revision"], &made["warnings"]), (&json!(1), &json!([])), "{made:#}");
    assert_eq!(server.cli(&arguments)["unchanged"], true);
    let shown = server.cli(&["template", "show", "--account", account, "order"]);
    let german = shown["source"]["locales"]["de"]["html"].as_str().expect("HTML");
    assert!(german.contains("Hallo"), "{german}");
}

#[test]
fn every_starter_is_published_without_a_warning() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let starters =
        fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../templates/email")).expect("there");
    let mut published = 0;
    for starter in starters {
        let folder = starter.expect("readable").path();
        let slug = folder.file_name().expect("a name").to_string_lossy().into_owned();
        if !folder.is_dir() || slug.starts_with('_') {
            continue;
        }
        let path = folder.display().to_string();
        let made = server.cli(&[
            "template",
            "create",
            "--account",
            account,
            "--slug",
            &slug,
            "--folder",
            &path,
        ]);
        assert_eq!(made["warnings"], json!([]), "{slug}: {made:#}");
        published += 1;
    }
    assert_eq!(published, 15);
}
