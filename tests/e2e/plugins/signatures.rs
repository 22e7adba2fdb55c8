//! Where the operator requires signatures, nothing unsigned becomes live.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use waxwing_tests::{Launch, Server};

use super::{Component, PLAN, reason, with_note};

fn sign(key: &Ed25519KeyPair, component: &Component) -> String {
    let message = format!("waxwing plugin signature v1\0{}", component.digest);
    format!("wxsig_{}", STANDARD.encode(key.sign(message.as_bytes())))
}

fn key() -> Ed25519KeyPair {
    Ed25519KeyPair::generate().expect("randomness")
}

fn requiring(key: &Ed25519KeyPair) -> Server {
    let public = format!("wxpub_{}", STANDARD.encode(key.public_key().as_ref()));
    let launch = Launch::dev().with("plugins", "signatures", "require");
    let launch = launch.with("plugins", "trusted_keys", &json!([public]).to_string());
    with_note(Server::start(launch))
}

#[tokio::test]
async fn only_what_a_trusted_key_has_signed_becomes_live() {
    let (trusted, other) = (key(), key());
    let mut server = requiring(&trusted);
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.place("plan-policy.wasm", &one.bytes);
    let words = server.rejected(PLAN, "the component is not signed").await;
    assert!(words.contains("waxwing plugin sign"), "what to do: {words}");
    server.place("plan-policy.sig", sign(&other, &one));
    server.rejected(PLAN, "not by a trusted key").await;
    server.place("plan-policy.sig", sign(&trusted, &two));
    server.rejected(PLAN, "for another component").await;
    server.place("plan-policy.sig", "nonsense");
    server.rejected(PLAN, "is no key or signature").await;
    server.place("plan-policy.sig", sign(&trusted, &one));
    server.live(PLAN, &one.digest).await;
    assert_eq!(reason(&server).await, "price one");

    // Through the API the signature comes along.
    let query = |signature: &str| {
        let escaped = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        format!("?signature={escaped}")
    };
    let bad = server.install(PLAN, &query(&sign(&other, &two)), &two.bytes).await;
    assert_eq!(bad.status, 202, "{}", bad.body);
    server.rejected(PLAN, "not by a trusted key").await;
    assert_eq!(reason(&server).await, "price one");
    server.install(PLAN, &query(&sign(&trusted, &two)), &two.bytes).await;
    server.live(PLAN, &two.digest).await;
    // What was proven once needs its signature no more to start again.
    server.displace("plan-policy.sig");
    server.restart();
    assert_eq!(reason(&server).await, "price two");
}
