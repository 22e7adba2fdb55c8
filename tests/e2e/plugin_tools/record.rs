//! `plugin record`: what DNS has of a domain becomes a golden case, which then needs no DNS.

use serde_json::{Value, json};
use waxwing_dns::DnsServer;

use super::Desk;

/// A desk with the project of a domain policy.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("made.wasm", waxwing_guests::component("strict-domain"));
    let file = "name = \"strict\"\nkind = \"domain\"\nlang = \"rust\"\ncomponent = \"made.wasm\"\n";
    desk.put("waxwing-plugin.toml", file);
    desk
}

/// All that the policy wants but DMARC; the MX record is another one.
async fn published() -> DnsServer {
    let dns = DnsServer::start().await;
    dns.txt("_waxwing.bcher.example", "waxwing-verification=3f9a");
    dns.txt("bcher.example", "v=spf1 include:spf.mail.waxwing.example -all");
    dns.txt("wx1r._domainkey.bcher.example", "v=DKIM1; k=rsa; p=MIIB");
    dns.cname("bounce.bcher.example", "bounce.mail.waxwing.example");
    dns.mx("bcher.example", 20, "mx.bcher.example");
    dns
}

fn status<'a>(answer: &'a Value, id: &str) -> &'a Value {
    let findings = answer["findings"].as_array().expect("findings");
    &findings.iter().find(|it| it["requirementId"] == id).expect("a finding")["status"]
}

#[tokio::test]
async fn what_dns_has_becomes_a_case_that_holds_without_dns() {
    let (desk, dns) = (desk(), published().await);
    desk.put("server.toml", "[smtp]\nhostname = \"mail.waxwing.example\"\n");
    let address = dns.address().to_string();
    let record = [
        "record",
        "BCHER.example",
        "--token",
        "3f9a",
        "--selector",
        "wx1r:rsa-sha256:MIIB",
        "--config",
        "server.toml",
        "--nameserver",
        &address,
    ];
    let recorded = desk.json(&record);
    assert_eq!(
        (&recorded["case"], &recorded["plugin"]),
        (&json!("bcher.example"), &json!("strict-domain"))
    );
    // The guest compares to the letter: of a text, DNS shows the quotes too.
    for (id, expected) in [
        ("ownership", "wrong"),
        ("return-path", "satisfied"),
        ("mx", "wrong"),
        ("dmarc", "missing"),
    ] {
        assert_eq!(status(&recorded["answer"], id), expected, "{id}: {recorded:#}");
    }

    let input: Value = serde_json::from_str(&desk.text("cases/bcher.example/input.json")).unwrap();
    assert_eq!(input["domain"]["spfInclude"], "spf.mail.waxwing.example");
    assert!(input["nowUnixMs"].as_u64() > Some(1_700_000_000_000), "{input:#}");
    let seen = input["seen"].as_array().expect("observations");
    let of = |id: &str| seen.iter().find(|it| it["lookupId"] == id).expect("it was looked up");
    assert_eq!(of("mx")["outcome"]["answers"][0]["data"], "20 mx.bcher.example");
    assert_eq!(of("dkim-wx1r")["outcome"]["answers"][0]["data"], "\"v=DKIM1; k=rsa; p=MIIB\"");
    assert_eq!(
        (&of("dmarc")["outcome"], &of("mx")["resolver"]),
        (&json!("nxDomain"), &json!(address))
    );
    let expected: Value =
        serde_json::from_str(&desk.text("cases/bcher.example/expected.json")).unwrap();
    assert_eq!(expected, recorded["answer"]);

    drop(dns);
    let held = desk.json(&["test"]);
    assert_eq!((&held["failed"], &held["cases"][0]["outcome"]), (&json!(0), &json!("held")));
    let other = desk.text("cases/bcher.example/expected.json").replace("missing", "satisfied");
    desk.put("cases/bcher.example/expected.json", other);
    let (_, report) = desk.fails(&["test"]);
    let details = report["cases"][0]["details"].to_string();
    assert!(details.contains("satisfied") && details.contains("missing"), "{details}");
}

#[tokio::test]
async fn a_case_is_overwritten_only_on_demand() {
    let (desk, dns) = (desk(), published().await);
    let address = dns.address().to_string();
    let record = ["record", "bcher.example", "--case", "no-dmarc", "--nameserver", &address];
    let said = desk.says(&record);
    assert!(said.contains("nxDomain") || said.contains("no such name"), "{said}");
    assert!(said.contains("_dmarc.bcher.example") && said.contains("cases/no-dmarc"), "{said}");
    let before = desk.text("cases/no-dmarc/input.json");

    dns.txt("_dmarc.bcher.example", "v=DMARC1; p=none");
    let (said, _) = desk.fails(&record);
    assert!(said.contains("no-dmarc is there already") && said.contains("--update"), "{said}");
    assert_eq!(desk.text("cases/no-dmarc/input.json"), before);
    let updated = desk.json(&[&record[..], &["--update"]].concat());
    assert_eq!(status(&updated["answer"], "dmarc"), "wrong", "{updated:#}");
    let written = desk.text("cases/no-dmarc/input.json");
    assert!(written.contains("p=none") && written.contains("spf.mail.example.net"), "{written}");
    assert_eq!(desk.json(&["test"])["failed"], 0);
}

#[tokio::test]
async fn what_cannot_be_recorded_is_explained_and_writes_nothing() {
    let dns = DnsServer::start().await;
    let address = dns.address().to_string();
    let desk = desk();
    let fails = |arguments: &[&str]| {
        let output = desk.run(&[&["record"], arguments].concat());
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    for (arguments, words) in [
        (&["a..example"][..], "a host name cannot have"),
        (&["x.example", "--case", "../x"], "letters, digits"),
        (&["x.example", "--selector", "wx1:dsa:MII"], "dsa"),
        (&["x.example", "--nameserver", "ns.example"], "is not an address"),
        (&["x.example", "nowhere"], "nowhere cannot be read"),
    ] {
        let said = fails(arguments);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    desk.project("price-one");
    let said = fails(&["x.example", "--nameserver", &address]);
    assert!(said.contains("only a domain policy gets answers of DNS"), "{said}");
    assert!(!desk.path("cases").exists() && dns.query_count() == 0);
}
