//! The built-in policy and a real DNS server.

use std::num::NonZeroU32;
use std::time::Duration;

use waxwing_dns::{DnsServer, Fault};

use super::*;
use crate::clock::Clock;
use crate::dns::Settings;
use crate::plugin::Limits;
use crate::plugin::compiler::Compiler;
use crate::plugin::signature::SignatureRule;
use crate::plugin::validation::{ValidationInput, Validator};

fn domain(name: &str) -> Domain {
    let name: DomainName = name.parse().expect("a name");
    Domain {
        name: name.as_str().to_owned(),
        organizational_domain: name.organizational().to_owned(),
        verification_token: "tok3n".to_owned(),
        dkim: Vec::new(),
        spf_include: "spf.mail.example.net".to_owned(),
        return_path_host: "bounce.mail.example.net".to_owned(),
        plan: "free".to_owned(),
        extra: Vec::new(),
    }
}

fn resolver(dns: &DnsServer) -> Resolver {
    let settings = Settings {
        nameservers: vec![dns.address()],
        timeout: Duration::from_secs(5),
        tries: 1,
        concurrent: 16,
        per_second: NonZeroU32::new(10_000).expect("not zero"),
    };
    Resolver::new(&settings, Clock::system()).expect("a resolver")
}

async fn builtin() -> InstalledPlugin {
    let rule = (SignatureRule::Off, Vec::new());
    let validator =
        Validator::for_tools(Limits::default(), rule, (None, Compiler::Unbounded), Clock::system());
    let validator = validator.expect("an engine");
    let candidate = ValidationInput::builtin(Kind::Domain);
    let log = validator.log(&candidate.slot);
    validator.validate(&candidate, log, None, UNOBSERVED).await.expect("the built-in policy")
}

#[tokio::test]
async fn further_questions_of_a_policy_are_recorded_with_the_same_answer() {
    let dns = DnsServer::start().await;
    dns.txt("_waxwing.example.com", "waxwing-verification=tok3n");
    dns.txt("example.com", "v=spf1 include:a.example.org ~all");
    dns.txt("a.example.org", "v=spf1 include:b.example.org ~all");
    dns.txt("b.example.org", "v=spf1 include:spf.mail.example.net ~all");
    dns.fault("_dmarc.example.com", Fault::ServFail);
    let validated = builtin().await;
    let InstalledPlugin::Domain(installed) = &validated else { panic!("a domain policy") };
    let asked = Asked {
        policy: &installed.plugin,
        plugin: "test",
        context: CallContext {
            call_id: String::new(),
            now_unix_ms: 1_800_000_000_000,
            locale: None,
            dry_run: false,
            extra: Vec::new(),
        },
        domain: domain("example.com"),
    };
    let looks = asked.look(&resolver(&dns)).await.expect("it decides");
    let input = asked.input(&looks);
    let seen = input["seen"].as_array().expect("observations");
    let of = |id: &str| seen.iter().find(|it| it["lookupId"] == id).expect("it was looked up");
    assert_eq!(of("include:a.example.org")["resolver"], dns.address().to_string());
    let data = &of("include:b.example.org")["outcome"]["answers"][0]["data"];
    assert_eq!(data, "\"v=spf1 include:spf.mail.example.net ~all\"");
    assert_eq!(of("dmarc")["outcome"], "servFail");
    let text = input.to_string();
    assert!(!text.contains("null") && !text.contains("{}"), "{text}");

    let call = Call::from_json(Kind::Domain, &input).expect("the form of a call");
    let (answer, failure) = validated.dry_run(&call).await;
    assert!(failure.is_none(), "{failure:?}");
    let status = |id: &str| {
        let findings = answer["findings"].as_array().expect("findings");
        findings.iter().find(|it| it["requirementId"] == id).expect("a finding")["status"].clone()
    };
    assert_eq!((status("ownership"), status("spf")), (json!("satisfied"), json!("satisfied")));
    assert_eq!(status("dmarc"), "unknown");
}

#[test]
fn a_key_is_read_and_what_is_none_is_explained() {
    let Key(key) = "wx1e:ed25519-sha256:11qY+/=".parse().expect("a key");
    assert_eq!((key.selector.as_str(), key.algorithm.as_str()), ("wx1e", "ed25519-sha256"));
    assert_eq!(key.public_key_base64, "11qY+/=");
    for text in ["", "wx1e", "wx1e:rsa-sha256", ":rsa-sha256:MII", "wx1e:rsa-sha256:", "a:dsa:b"] {
        assert!(text.parse::<Key>().is_err(), "{text}");
    }
}

#[test]
fn a_case_is_one_plain_folder() {
    assert_eq!(case_name("xn--bcher-kva.example"), Ok("xn--bcher-kva.example".to_owned()));
    for name in ["", ".", "..", ".hidden", "a/b", "a\\b", "a b", &"a".repeat(101)] {
        assert!(case_name(name).is_err(), "{name}");
    }
}

#[test]
fn what_is_empty_is_left_out() {
    let value = json!({"a": null, "b": {}, "c": [{"d": null, "e": []}], "f": false, "g": ""});
    assert_eq!(without_empty(value), json!({"c": [{"e": []}], "f": false, "g": ""}));
}
