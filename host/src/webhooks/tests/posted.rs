//! One attempt: what goes out, what is made of the answer, and where nothing is sent at all.

use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;
use waxwing_dns::{DnsServer, Fault};

use super::endpoint::{Endpoint, Say, status};
use super::*;
use crate::webhooks::post::{Reply, WebhookRequest};

const LETTER: WebhookRequest<'static> = WebhookRequest {
    id: "evt_1",
    timestamp: 1_800_000_000,
    signature: "v1,abc v1,def",
    body: r#"{"type":"webhook.test"}"#,
};

async fn post(say: Say) -> Reply {
    let endpoint = Endpoint::start([say.clone()]).await;
    let guard = guard(Schemes::HttpAndHttps, &["127.0.0.1"]);
    let time = if matches!(say, Say::Nothing) { SHORT } else { TIME };
    poster(&guard, None, time).post(&endpoint.url(), LETTER).await
}

fn error(reply: &Reply) -> &str {
    reply.error.as_deref().unwrap_or("taken")
}

#[tokio::test]
async fn the_request_is_that_of_standard_webhooks() {
    let endpoint = Endpoint::start([status(204, "")]).await;
    let guard = guard(Schemes::HttpAndHttps, &["127.0.0.1"]);
    let poster = poster(&guard, None, TIME);
    for _ in 0..3 {
        let reply = poster.post(&endpoint.url(), LETTER).await;
        assert!(reply.is_taken() && reply.status == Some(204), "{reply:?}");
    }
    let heard = endpoint.heard().remove(0);
    assert_eq!(heard.line, "POST /hook HTTP/1.1");
    assert_eq!(heard.body, LETTER.body);
    let header = |name: &str| heard.headers.get(name).map(String::as_str);
    assert_eq!(header("webhook-id"), Some("evt_1"));
    assert_eq!(header("webhook-timestamp"), Some("1800000000"));
    assert_eq!(header("webhook-signature"), Some("v1,abc v1,def"));
    assert_eq!(header("content-type"), Some("application/json"));
    assert!(header("user-agent").is_some_and(|it| it.starts_with("Waxwing/")));
    assert_eq!(endpoint.connections(), 1, "the connection is kept");
}

#[tokio::test]
async fn only_2xx_is_taken() {
    for code in [200, 201, 202, 204, 299] {
        assert!(post(status(code, "")).await.is_taken(), "{code}");
    }
    for code in [400, 401, 404, 410, 418, 429, 500, 503] {
        let reply = post(status(code, "")).await;
        assert!(!reply.is_taken() && reply.status == Some(code), "{reply:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Endpoint::start([status(200, "")]).await;
    for code in [301, 302, 303, 307, 308] {
        let location = format!("location: {}\r\n", elsewhere.url());
        let reply = post(status(code, &location)).await;
        assert!(error(&reply).contains("redirect is not followed"), "{reply:?}");
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_silent_endpoint_and_one_that_breaks_off_are_told_apart() {
    let reply = post(Say::Nothing).await;
    assert!(error(&reply).starts_with("no answer within") && reply.took >= SHORT, "{reply:?}");
    let reply = post(Say::Cut).await;
    assert!(error(&reply).starts_with("the connection broke"), "{reply:?}");
    let reply = post(Say::Bytes("SSH-2.0-OpenSSH\r\n".to_owned())).await;
    assert!(error(&reply).starts_with("the connection broke"), "{reply:?}");
    let guard = guard(Schemes::HttpAndHttps, &["127.0.0.1"]);
    let reply = poster(&guard, None, TIME).post("http://127.0.0.1:1/", LETTER).await;
    assert!(error(&reply).starts_with("cannot connect"), "{reply:?}");
}

#[tokio::test]
async fn an_answer_is_kept_without_what_is_unsafe_to_show() {
    let body = "no\0\u{1b}[2J\u{202e}!\nagain";
    let say = format!("HTTP/1.1 500 Oh\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let reply = post(Say::Bytes(say)).await;
    assert_eq!(reply.response, "no\u{fffd}\u{fffd}[2J\u{fffd}!\nagain");
}

#[tokio::test]
async fn an_answer_is_read_up_to_a_bound() {
    let long = "a".repeat(100_000);
    let say = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{long}", long.len());
    let reply = post(Say::Bytes(say)).await;
    assert!(reply.is_taken());
    assert_eq!(reply.response, "a".repeat(1_024));
    let never_ends = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let reply = post(Say::Bytes(never_ends.to_owned())).await;
    assert!(reply.is_taken() && reply.response == "hello", "the status has said it: {reply:?}");
}

#[tokio::test]
async fn retry_after_counts_where_it_means_something() {
    let asked = |code, value: &str| {
        let header = format!("retry-after: {value}\r\n");
        async move { post(status(code, &header)).await.retry_after }
    };
    assert_eq!(asked(429, "120").await, Some(Duration::from_mins(2)));
    assert_eq!(asked(503, "7").await, Some(Duration::from_secs(7)));
    assert_eq!(asked(500, "7").await, None);
    // START is 2027-01-15T08:00:00Z.
    assert_eq!(asked(503, "Fri, 15 Jan 2027 08:01:00 GMT").await, Some(Duration::from_mins(1)));
    assert_eq!(asked(503, "Fri, 15 Jan 2027 07:00:00 GMT").await, Some(Duration::ZERO));
    assert_eq!(asked(503, "Friday, 15-Jan-27 08:01:00 GMT").await, Some(Duration::from_mins(1)));
    assert_eq!(asked(503, "Fri Jan 15 08:01:00 2027").await, Some(Duration::from_mins(1)));
    assert_eq!(asked(503, "Tue Feb  2 08:00:00 2027").await, Some(Duration::from_hours(18 * 24)));
    let longest = Some(Duration::from_secs(u64::MAX));
    assert_eq!(asked(503, "99999999999999999999999").await, longest);
    assert_eq!(asked(503, "soon").await, None);
    assert_eq!(asked(503, "+7").await, None);
    assert_eq!(asked(503, "").await, None);
    assert_eq!(asked(503, "-1").await, None);
}

#[tokio::test]
async fn a_name_that_leads_inside_is_not_connected_to() {
    let dns = DnsServer::start().await;
    let endpoint = Endpoint::start([status(200, "")]).await;
    let port = endpoint.address.port();
    let private =
        ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "64:ff9b::7f00:1"];
    for (n, address) in private.into_iter().enumerate() {
        dns.ip(&format!("n{n}.example"), address.parse().expect(address));
    }
    dns.ip("both.example", "8.8.8.8".parse().expect("an address"));
    dns.ip("both.example", "127.0.0.1".parse().expect("an address"));
    dns.ip("mixed.example", "8.8.8.8".parse().expect("an address"));
    dns.ip("mixed.example", "::1".parse().expect("an address"));
    dns.cname("alias.example", "n0.example");
    let guard = guard(Schemes::HttpAndHttps, &[]);
    let poster = poster(&guard, Some(&dns), TIME);
    let names = (0..private.len()).map(|n| format!("n{n}.example"));
    let names = names.chain(["both.example", "mixed.example", "alias.example"].map(str::to_owned));
    for name in names {
        let reply = poster.post(&format!("http://{name}:{port}/"), LETTER).await;
        assert!(error(&reply).contains("not allowed"), "{name}: {reply:?}");
    }
    let reply = poster.post(&format!("http://127.0.0.1:{port}/"), LETTER).await;
    assert!(error(&reply).contains("loopback"), "{reply:?}");
    let reply = poster.post(&format!("http://nowhere.example:{port}/"), LETTER).await;
    assert_eq!(error(&reply), "nowhere.example has no address");
    dns.fault("fails.example", Fault::ServFail);
    let reply = poster.post(&format!("http://fails.example:{port}/"), LETTER).await;
    assert!(error(&reply).contains("no answer for fails.example"), "{reply:?}");
    assert_eq!(endpoint.connections(), 0);
}

#[tokio::test]
async fn an_endpoint_of_https_shows_a_certificate_that_is_trusted() {
    let key = KeyPair::generate().expect("a key");
    let parameters = CertificateParams::new(vec!["hooks.example".to_owned()]).expect("a name");
    let certificate = parameters.self_signed(&key).expect("signed");
    let der = certificate.der().clone();
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let server = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![der.clone()], private)
        .expect("a certificate");
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let endpoint = Endpoint::listen("127.0.0.1:0", Some(acceptor), [status(200, "")]).await;
    let dns = DnsServer::start().await;
    for name in ["hooks.example", "other.example"] {
        dns.ip(name, "127.0.0.1".parse().expect("an address"));
    }
    let guard = guard(Schemes::Https, &["127.0.0.1"]);
    let clock = Clock::manual(START);
    let port = endpoint.address.port();
    let try_it = async |name: &str, trusted| {
        let resolver = resolver(dns.address(), &clock);
        let poster = Poster::new(Arc::clone(&guard), resolver, tls(trusted), TIME, clock.clone());
        poster.expect("a client").post(&format!("https://{name}:{port}/"), LETTER).await
    };
    let reply = try_it("hooks.example", Some(&der)).await;
    assert!(reply.is_taken(), "{reply:?}");
    for (name, trusted) in [("hooks.example", None), ("other.example", Some(&der))] {
        let reply = try_it(name, trusted).await;
        assert!(error(&reply).starts_with("cannot connect"), "{name}: {reply:?}");
    }
    assert_eq!(endpoint.heard().len(), 1);
    let reply = poster(&guard, None, TIME).post(&format!("http://127.0.0.1:{port}/"), LETTER).await;
    assert!(error(&reply).contains("https://"), "{reply:?}");
}
