use waxwing_plugin::Pair;
use waxwing_plugin::domain_policy::{Domain, Requirement};
use waxwing_plugin::testing::domain;

use super::*;

fn of(settings: &Settings, domain: &Domain) -> Vec<Requirement> {
    let needs = needs(settings, domain).expect("needs");
    needs.into_iter().map(|it| it.requirement).collect()
}

fn default(domain: &Domain) -> Vec<Requirement> {
    of(&Settings::default(), domain)
}

fn one(requirements: &[Requirement], id: &str) -> Requirement {
    requirements.iter().find(|it| it.id == id).expect("it is there").clone()
}

fn pair(key: &str, value: &str) -> Vec<Pair> {
    vec![Pair { key: key.to_owned(), value: value.to_owned() }]
}

/// A domain as the host gives it: with a key of each algorithm.
fn with_both_keys() -> Domain {
    let mut both = domain("example.com");
    both.dkim[0].algorithm = "rsa-sha256".to_owned();
    both.dkim.push(DkimKey {
        selector: "wx2".to_owned(),
        public_key_base64: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".to_owned(),
        algorithm: "ed25519-sha256".to_owned(),
    });
    both
}

#[test]
fn a_domain_must_publish_four_records_and_two_are_advice() {
    let records: Vec<_> = default(&with_both_keys())
        .into_iter()
        .map(|it| (it.id, it.name, it.suggested_value, it.required))
        .collect();
    let expected = [
        ("ownership", "_waxwing.example.com", "waxwing-verification=tok3n", true),
        (
            "dkim:wx1",
            "wx1._domainkey.example.com",
            "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOC",
            true,
        ),
        (
            "dkim:wx2",
            "wx2._domainkey.example.com",
            "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
            true,
        ),
        ("return-path", "bounce.example.com", "rp.waxwing.example", true),
        ("spf", "example.com", "v=spf1 include:spf.waxwing.example ~all", false),
        ("dmarc", "_dmarc.example.com", "v=DMARC1; p=none", false),
    ];
    let expected = expected.map(|(id, name, value, required)| {
        (id.to_owned(), name.to_owned(), value.to_owned(), required)
    });
    assert_eq!(records, expected);
}

#[test]
fn while_keys_are_rotated_all_four_are_to_be_published() {
    let mut rotated = with_both_keys();
    for (old, new) in [(0, "wx3"), (1, "wx4")] {
        let key = DkimKey { selector: new.to_owned(), ..rotated.dkim[old].clone() };
        rotated.dkim.push(key);
    }
    let requirements = default(&rotated);
    let keys: Vec<_> = requirements.iter().filter(|it| it.purpose == Purpose::Dkim).collect();
    let ids: Vec<_> = keys.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["dkim:wx1", "dkim:wx2", "dkim:wx3", "dkim:wx4"]);
    assert!(keys.iter().all(|it| it.required && it.name.ends_with("._domainkey.example.com")));
}

#[test]
fn two_keys_with_one_selector_are_a_fault_of_the_host() {
    let mut twice = with_both_keys();
    twice.dkim[1].selector = "wx1".to_owned();
    assert!(matches!(needs(&Settings::default(), &twice), Err(Failure::Internal(_))));
}

#[test]
fn only_the_return_path_is_a_cname() {
    for it in default(&domain("example.com")) {
        let expected = if it.id == "return-path" { RecordType::Cname } else { RecordType::Txt };
        assert_eq!(it.record_type, expected, "{}", it.id);
    }
}

#[test]
fn a_sandbox_domain_needs_nothing_and_any_other_word_changes_nothing() {
    let with = |value| Domain { extra: pair("sandbox", value), ..domain("example.com") };
    assert_eq!(default(&with("true")), []);
    assert_eq!(default(&with("false")).len(), 5);
}

#[test]
fn the_settings_say_what_is_required() {
    let settings = Settings {
        spf: Weight::Required,
        dmarc: Weight::Required,
        return_path: ReturnPathWeight::Advised,
        return_path_label: "Mail.Bounces".to_owned(),
        return_path_target: None,
    };
    let requirements = of(&settings, &domain("example.com"));
    let required = |id| one(&requirements, id).required;
    assert!(required("spf") && required("dmarc") && !required("return-path"));
    assert!(required("ownership") && required("dkim:wx1"));
    assert_eq!(one(&requirements, "return-path").name, "mail.bounces.example.com");
}

#[test]
fn help_says_why_spf_is_advised_and_what_is_enough_where_it_is_required() {
    let help = |spf| {
        let settings = Settings { spf, ..Settings::default() };
        one(&of(&settings, &domain("example.com")), "spf").help
    };
    let advised = help(Weight::Advised);
    assert!(advised.contains("envelope sender at bounce.example.com"), "{advised}");
    assert!(advised.contains("this record is advised only"), "{advised}");
    assert!(help(Weight::Required).contains("either that record or this one"));
}

#[test]
fn without_a_return_path_spf_is_on_the_domain() {
    let off = Settings { return_path: ReturnPathWeight::Off, ..Settings::default() };
    let no_host = Domain { return_path_host: String::new(), ..domain("example.com") };
    for requirements in [of(&off, &domain("example.com")), default(&no_host)] {
        assert!(requirements.iter().all(|it| it.id != "return-path"));
        assert_eq!(one(&requirements, "spf").name, "example.com");
    }
}

#[test]
fn a_return_path_inside_the_domain_points_to_the_given_target() {
    let inside = Domain { return_path_host: "rp.example.com".to_owned(), ..domain("example.com") };
    let by_host = Domain { extra: pair("return-path-target", "In.Host."), ..inside.clone() };
    let record = one(&default(&by_host), "return-path");
    assert_eq!(
        (record.name.as_str(), record.suggested_value.as_str()),
        ("rp.example.com", "in.host")
    );
    let target = Some("rp.settings.example".to_owned());
    let settings = Settings { return_path_target: target, ..Settings::default() };
    let record = one(&of(&settings, &inside), "return-path");
    assert_eq!(record.suggested_value, "rp.settings.example");
}

#[test]
fn a_return_path_inside_the_domain_without_a_target_carries_spf_itself() {
    let inside = Domain { return_path_host: "rp.example.com".to_owned(), ..domain("example.com") };
    let requirements = default(&inside);
    assert_eq!(one(&requirements, "spf").name, "rp.example.com");
    assert!(requirements.iter().all(|it| it.id != "return-path"));
}

#[test]
fn a_server_without_an_spf_record_asks_for_none() {
    let without = Domain { spf_include: " ".to_owned(), ..domain("example.com") };
    assert!(default(&without).iter().all(|it| it.id != "spf"));
}

#[test]
fn a_domain_without_a_token_is_a_fault_of_the_host() {
    let without = Domain { verification_token: String::new(), ..domain("example.com") };
    assert!(matches!(needs(&Settings::default(), &without), Err(Failure::Internal(_))));
}

#[test]
fn help_says_what_to_type_where_the_provider_appends_the_zone() {
    let shop = Domain {
        organizational_domain: "example.co.uk".to_owned(),
        ..domain("shop.example.co.uk")
    };
    let requirements = default(&shop);
    let help = one(&requirements, "ownership").help;
    assert!(help.contains("`_waxwing.shop` and append example.co.uk"), "{help}");
    let help = one(&default(&domain("example.com")), "spf").help;
    assert!(help.contains("`@`"), "{help}");
}
