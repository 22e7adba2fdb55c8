//! Webhook URLs that lead into private networks: as a literal address, by DNS, by DNS rebinding. Nothing there is ever
//! connected to. (Redirects: `retries`.)

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Conduct, Launch, Receiver, Server, name_server, until_async};

use super::BOUND;

async fn test_webhook(server: &Server, id: &str) -> Value {
    let below = format!("/{id}/test");
    let answer = server.webhooks(Method::POST, server.key(), &below, &Value::Null).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

async fn create_webhook(server: &Server, url: &str) -> String {
    let answer = server.webhooks(Method::POST, server.key(), "", &json!({"url": url})).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["id"].as_str().expect("an identifier").to_owned()
}

/// Neither a new webhook nor a change of one takes any of the URLs.
async fn all_are_refused(urls: &[&str]) {
    let server = Server::dev();
    let key = server.key();
    let good = create_webhook(&server, "https://hooks.example.com/").await;
    for url in urls {
        let created = server.webhooks(Method::POST, key, "", &json!({"url": url})).await;
        created.assert_faults(&["url"]);
        let below = format!("/{good}");
        let changed = server.webhooks(Method::PATCH, key, &below, &json!({"url": url})).await;
        changed.assert_faults(&["url"]);
    }
    assert_eq!(server.webhook(key, &good).await["url"], "https://hooks.example.com/");
}

#[tokio::test]
async fn private_addresses_are_refused_in_every_spelling() {
    all_are_refused(&[
        "https://127.0.0.1/",
        "https://127.1:8443/",
        "https://0x7f000001/",
        "https://2130706433/",
        "https://017700000001/",
        "https://0/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://10.0.0.1/",
        "https://100.64.0.1/",
        "https://224.0.0.1/",
    ])
    .await;
}

#[tokio::test]
async fn malformed_and_non_https_urls_are_refused() {
    all_are_refused(&[
        "http://hooks.example.com/",
        "https://user:password@hooks.example.com/",
        "https://hooks.example.com/#fragment",
        "ftp://hooks.example.com/",
        "file:///etc/passwd",
        "hooks.example.com",
        "",
    ])
    .await;
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_not_connected_to() {
    let dns = name_server().await;
    let server = Server::start(Launch::asking(&dns).with("webhooks", "allow_http", "true"));
    let receiver = Receiver::start().await;
    let port = receiver.address().port();
    // The tests of `dns::reach` have all ranges.
    dns.ip("inside.example", "127.0.0.1".parse().expect("an address"));
    dns.ip("both.example", "8.8.8.8".parse().expect("an address"));
    dns.ip("both.example", "::1".parse().expect("an address"));
    for name in ["inside.example", "both.example"] {
        let id = create_webhook(&server, &format!("http://{name}:{port}/")).await;
        let result = test_webhook(&server, &id).await;
        assert_eq!(result["delivered"], false, "{name}: {result}");
        let error = result["attempt"]["error"].as_str().expect("an error");
        assert!(error.contains("not allowed"), "{name}: {error}");
    }
    assert!(receiver.posted().is_empty());
}

/// At first the name leads where the operator allows it, and then inside: every connection is made to
/// an address that was checked for it.
#[tokio::test]
async fn dns_rebinding_gains_nothing() {
    let dns = name_server().await;
    let closing = |_: &_| Conduct::Answer(200, "connection: close\r\n".to_owned());
    let [outside, inside] = Receiver::on_one_port(["127.0.0.2", "127.0.0.1"], closing).await;
    let port = outside.address().port();
    dns.ip("rebinds.example", "127.0.0.2".parse().expect("an address"));
    let launch = Launch::asking(&dns).with("webhooks", "allow_http", "true").with(
        "webhooks",
        "allow_private",
        r#"["127.0.0.2"]"#,
    );
    let server = Server::start(launch);
    let id = create_webhook(&server, &format!("http://rebinds.example:{port}/")).await;
    let result = test_webhook(&server, &id).await;
    assert_eq!(result["delivered"], true, "{result}");
    dns.remove("rebinds.example", "A");
    dns.ip("rebinds.example", "127.0.0.1".parse().expect("an address"));
    // Addresses are remembered for some seconds.
    let ask = || async {
        let result = test_webhook(&server, &id).await;
        let error = result["attempt"]["error"].as_str().map(str::to_owned);
        assert_eq!(result["delivered"], error.is_none(), "{result}");
        error
    };
    let error = until_async("the name is looked up again", BOUND, ask).await;
    assert!(error.contains("not allowed") && error.contains("127.0.0.1"), "{error}");
    assert!(inside.posted().is_empty(), "nothing inside was connected to");
    let refused = server
        .webhooks(
            Method::POST,
            server.key(),
            "",
            &json!({"url": format!("http://127.0.0.1:{port}/")}),
        )
        .await;
    refused.assert_faults(&["url"]);
}
