//! What an account holder is told to publish.

use serde_json::{Value, json};
use waxwing_tests::Domain;

use super::lab;

/// Type, name, value.
fn told(domain: &Domain) -> Vec<[String; 3]> {
    let text = |record: &waxwing_tests::Record| {
        ["type", "name", "value"].map(|field| record.text(field).to_owned())
    };
    domain.required().iter().map(text).collect()
}

#[tokio::test]
async fn four_records_are_required_and_two_are_advised() {
    let (_dns, server) = lab().await;
    let domain = server.add_domain(server.key(), "four.example").await;
    let purposes: Vec<Value> = domain.records().iter().map(|it| it.0["purpose"].clone()).collect();
    assert_eq!(purposes, ["ownership", "DKIM", "DKIM", "return path", "SPF", "DMARC"]);
    let [ownership, rsa, ed25519, return_path] = told(&domain).try_into().expect("four of them");
    assert_eq!(ownership[..2], ["TXT", "_waxwing.four.example"]);
    let token = ownership[2].strip_prefix("waxwing-verification=").expect("a token");
    assert!(token.len() == 32 && token.bytes().all(|it| it.is_ascii_hexdigit()), "{token}");
    let [first, second] = domain.selectors("signing").try_into().expect("two keys");
    for (record, selector, kind) in [(&rsa, first, "rsa"), (&ed25519, second, "ed25519")] {
        let at = format!("{selector}._domainkey.four.example");
        assert_eq!(record[..2], ["TXT", at.as_str()]);
        assert!(record[2].starts_with(&format!("v=DKIM1; k={kind}; p=")), "{record:?}");
    }
    assert!(rsa[2].len() > 400, "2048 bits: {rsa:?}");
    assert_eq!(return_path, ["CNAME", "bounce.four.example", "bounce.mail.waxwing.example"]);
    let values: Vec<String> =
        domain.records().iter().skip(4).map(|it| it.value().to_owned()).collect();
    assert_eq!(values, ["v=spf1 include:spf.mail.waxwing.example ~all", "v=DMARC1; p=none"]);
    for record in domain.records() {
        let help = record.text("help");
        assert!(help.contains(record.name()) && help.ends_with('.'), "{help}");
        assert_eq!((record.status(), &record.0["hint"]), ("unchecked", &Value::Null));
        assert_eq!(record.0["rotation"], Value::Null);
    }
    assert_eq!(domain.missing().len(), 4, "{:?}", domain.missing());
}

#[tokio::test]
async fn all_six_can_be_published_side_by_side_as_they_are_shown() {
    let (dns, server) = lab().await;
    let domain = server.add_domain(server.key(), "six.example").await;
    domain.records().iter().for_each(|it| it.publish(&dns));
    let domain = server.check_domain(server.key(), "six.example").await;
    assert_eq!((domain.state(), domain.progress()), ("verified", 100));
    for record in domain.records() {
        assert_eq!(record.status(), "satisfied", "{record:?}");
    }
}

#[tokio::test]
async fn what_is_only_advised_is_judged_and_holds_nothing_up() {
    let (dns, server) = lab().await;
    let domain = server.verified_domain(&dns, server.key(), "advised.example").await;
    assert_eq!(domain.record("spf").status(), "satisfied", "through the return path");
    let dmarc = domain.record("dmarc");
    assert_eq!(dmarc.status(), "missing");
    assert!(dmarc.text("hint").contains("v=DMARC1; p=none"), "{dmarc:?}");
    assert!(domain.missing().is_empty());
    // A sub-domain inherits DMARC from the domain that was registered.
    dns.txt("_dmarc.advised.example", "v=DMARC1; p=reject");
    let below = server.verified_domain(&dns, server.key(), "news.advised.example").await;
    assert_eq!(below.record("dmarc").status(), "satisfied", "{:?}", below.record("dmarc"));
    assert!(below.record("dmarc").text("hint").contains("advised.example"));
}

#[tokio::test]
async fn an_operator_may_require_all_six() {
    let (dns, server) = lab().await;
    let settings = "[settings]\nspf = \"required\"\ndmarc = \"required\"\n";
    server.place("domain-policy.toml", settings);
    let revised = |view: &Value| (view["active"]["settingsRevision"] == 1).then_some(());
    server.until_slot("domain-policy", "the settings hold", revised).await;
    let domain = server.add_domain(server.key(), "strict.example").await;
    assert_eq!(domain.required().len(), 6);
    let required = domain.required();
    for (published, record) in required.iter().enumerate() {
        let domain = server.check_domain(server.key(), "strict.example").await;
        let satisfied = domain.required().iter().filter(|it| it.status() == "satisfied").count();
        // SPF holds through the return path, before it is published itself.
        assert_eq!(satisfied, if published == 4 { 5 } else { published });
        assert_eq!(domain.progress(), u64::try_from(satisfied * 100 / 6).expect("small"));
        assert_eq!(domain.state(), "pending");
        record.publish(&dns);
    }
    assert_eq!(server.check_domain(server.key(), "strict.example").await.state(), "verified");
}

#[tokio::test]
async fn each_domain_of_an_account_has_keys_and_a_token_of_its_own() {
    let (_dns, server) = lab().await;
    let mut seen = std::collections::BTreeSet::new();
    for n in 0..3 {
        let domain = server.add_domain(server.key(), &format!("own{n}.example")).await;
        let required = domain.required();
        for record in required.iter().take(3) {
            assert!(seen.insert(record.value().to_owned()), "{record:?}");
        }
        for selector in domain.selectors("signing") {
            assert!(seen.insert(selector.to_owned()), "{selector}");
        }
    }
}

#[tokio::test]
async fn a_sandbox_domain_needs_nothing_and_is_never_looked_up() {
    let (dns, server) = lab().await;
    let key = server.key();
    let body = json!({"name": "free.example", "sandbox": true});
    let added = server.domains(reqwest::Method::POST, key, "", &body).await;
    assert_eq!(added.status, 201, "{}", added.body);
    let domain = Domain(added.body);
    assert_eq!((domain.state(), domain.progress()), ("verified", 100));
    assert!(domain.records().is_empty() && domain.0["dkim"] == json!([]));
    let checked = server.check_domain(key, "free.example").await;
    assert_eq!((checked.state(), &checked.0["checkedAt"]), ("verified", &Value::Null));
    let rotated =
        server.domains(reqwest::Method::POST, key, "/free.example/rotate", &Value::Null).await;
    rotated.assert_refused(409, "CONFLICT");
    assert_eq!(dns.query_count(), 0);
}
