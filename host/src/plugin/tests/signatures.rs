//! Signatures of components in the operator's directory, under each rule.

use super::fixture::{PLAN, PluginHost, TestDirs};
use crate::plugin::Options;
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::signature::{PublicKey, SecretKey, SignatureRule};

fn signed_by(key: &SecretKey, component: &[u8]) -> String {
    key.sign(&Artifact::new(component.to_vec()))
}

async fn host(dirs: &TestDirs, signatures: SignatureRule, key: &SecretKey) -> PluginHost {
    let trusted = vec![PublicKey::read(&key.public()).expect("its own text")];
    PluginHost::start_with_calls(Options { signatures, trusted, ..dirs.options() }, Vec::new())
        .await
}

#[tokio::test]
async fn where_signatures_are_required_only_a_trusted_one_lets_a_component_in() {
    let dirs = TestDirs::new();
    let (key, _) = SecretKey::generate().expect("random");
    let (stranger, _) = SecretKey::generate().expect("random");
    let host = host(&dirs, SignatureRule::Require, &key).await;
    let one = waxwing_guests::component("price-one");
    dirs.put("plan-policy.wasm", &one);
    let why = host.refused(PLAN, "not signed").await;
    assert_eq!(
        why,
        "the component is not signed; sign it with `waxwing plugin sign` and put the .sig file \
         beside it"
    );
    dirs.put("plan-policy.sig", signed_by(&stranger, &one));
    let why = host.refused(PLAN, "not by a trusted key").await;
    assert!(why.contains(Artifact::new(one.clone()).digest()), "{why}");
    assert!(!why.contains('\\') && !why.contains('\n'), "one line: {why}");
    dirs.put("plan-policy.sig", "wxsig_nonsense!");
    host.refused(PLAN, "no key or signature").await;
    assert!(host.view(PLAN).is_builtin);
    dirs.put("plan-policy.sig", signed_by(&key, &one));
    host.live(PLAN, "price-one").await;

    // The signature is of the old component.
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    host.refused(PLAN, "for another component").await;
    assert_eq!(host.reason().await, "price one");
    host.stop().await;
}

/// It was checked when it came in; the file may be gone since.
#[tokio::test]
async fn a_component_that_was_signed_when_it_came_runs_again_after_a_restart() {
    let dirs = TestDirs::new();
    let (key, _) = SecretKey::generate().expect("random");
    let one = waxwing_guests::component("price-one");
    dirs.put("plan-policy.sig", signed_by(&key, &one));
    dirs.put("plan-policy.wasm", &one);
    let first = host(&dirs, SignatureRule::Require, &key).await;
    first.live(PLAN, "price-one").await;
    first.stop().await;
    let second = host(&dirs, SignatureRule::Require, &key).await;
    assert_eq!(second.reason().await, "price one");
}

/// The rule may have come since, or the key may be trusted no more.
#[tokio::test]
async fn what_ran_before_needs_its_signature_again_at_each_start() {
    let dirs = TestDirs::new();
    let (key, _) = SecretKey::generate().expect("random");
    let (other, _) = SecretKey::generate().expect("random");
    let one = waxwing_guests::component("price-one");
    dirs.put("plan-policy.wasm", &one);
    let first = host(&dirs, SignatureRule::Off, &key).await;
    first.live(PLAN, "price-one").await;
    first.stop().await;
    let second = host(&dirs, SignatureRule::Require, &key).await;
    assert!(second.view(PLAN).is_builtin, "it is not signed");
    second.refused(PLAN, "not signed").await;
    dirs.put("plan-policy.sig", signed_by(&key, &one));
    second.live(PLAN, "price-one").await;
    second.stop().await;
    let third = host(&dirs, SignatureRule::Require, &other).await;
    assert!(third.view(PLAN).is_builtin, "its key is not trusted any more");
}

#[tokio::test]
async fn a_warning_about_a_signature_lets_a_component_in() {
    let dirs = TestDirs::new();
    let (key, _) = SecretKey::generate().expect("random");
    let host = host(&dirs, SignatureRule::Warn, &key).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
}
