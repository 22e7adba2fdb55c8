use waxwing_plugin::domain_policy::DkimKey;
use waxwing_plugin::domain_policy::Status::{Satisfied, Wrong};
use waxwing_plugin::testing::domain;

use super::{Reading, value};
use crate::requirements::needs;
use crate::settings::Settings;

const KEY: &str = "MIIBIjANBgkqhkiG9w0BAQEFAAOC";

fn read(algorithm: &str, records: &[&str]) -> Reading {
    let needs = needs(&Settings::default(), &domain("example.com")).expect("needs");
    let own = needs.iter().find(|it| it.requirement.id == "dkim:wx1").expect("it is there");
    let key = DkimKey {
        selector: "wx1".to_owned(),
        public_key_base64: KEY.to_owned(),
        algorithm: algorithm.to_owned(),
    };
    let records: Vec<String> = records.iter().map(|it| (*it).to_owned()).collect();
    super::judge(&own.requirement, &key, &records)
}

fn right(record: &str) {
    let reading = read("rsa", &[record]);
    assert_eq!(reading.status, Satisfied, "{record}: {}", reading.hint);
}

fn wrong(record: &str, because: &str) {
    let reading = read("rsa", &[record]);
    assert_eq!(reading.status, Wrong, "{record}");
    assert_eq!(reading.found, [record]);
    assert!(reading.hint.contains(because), "{record}: {}", reading.hint);
    let expected = format!("Set it to `v=DKIM1; k=rsa; p={KEY}`.");
    assert!(reading.hint.ends_with(&expected), "{record}: {}", reading.hint);
}

#[test]
fn the_suggested_value_is_right() {
    right(&format!("v=DKIM1; k=rsa; p={KEY}"));
    assert_eq!(
        read("Ed25519-SHA256", &[&format!("v=DKIM1; k=ed25519; p={KEY}")]).status,
        Satisfied
    );
}

#[test]
fn the_suggested_value_names_the_kind_of_key() {
    let key = |algorithm: &str| DkimKey {
        selector: "s".to_owned(),
        public_key_base64: "MI IB".to_owned(),
        algorithm: algorithm.to_owned(),
    };
    assert_eq!(value(&key("rsa-sha256")), "v=DKIM1; k=rsa; p=MIIB");
    assert_eq!(value(&key("ed25519")), "v=DKIM1; k=ed25519; p=MIIB");
}

#[test]
fn order_white_space_and_optional_tags_do_not_matter() {
    right(&format!("p={KEY}"));
    right(&format!("v = DKIM1;p={KEY};k=rsa;"));
    right(&format!("k=rsa; t=s; n=a note; h=sha1 : sha256; s=email; p={KEY}"));
    right("v=DKIM1; p=MIIBIjANBgkqhki\tG9w0BAQEF AAOC");
}

#[test]
fn a_version_must_be_first_and_exact() {
    wrong(&format!("p={KEY}; v=DKIM1"), "must begin with");
    wrong(&format!("v=dkim1; p={KEY}"), "must begin with");
}

#[test]
fn an_empty_key_is_revoked() {
    wrong("v=DKIM1; k=rsa; p=", "revoked");
    wrong("v=DKIM1; p= ;", "revoked");
}

#[test]
fn another_key_a_cut_key_and_no_key_are_told_apart() {
    wrong("v=DKIM1; p=MIIBXXXX", "another key");
    wrong("v=DKIM1; p=MIIBIjAN", "only the first 8 of 28");
    wrong(&format!("v=DKIM1; p={KEY}MIIB"), "4 characters behind the end");
    wrong("v=DKIM1; k=rsa", "no key");
    wrong(&format!("v=DKIM1; P={KEY}"), "no key");
    wrong(&format!("v=DKIM1; p={}", KEY.to_lowercase()), "upper and lower case");
}

#[test]
fn a_record_for_another_use_is_wrong() {
    wrong(&format!("v=DKIM1; k=ed25519; p={KEY}"), "says `k=ed25519`");
    let reading = read("ed25519-sha256", &[&format!("v=DKIM1; p={KEY}")]);
    assert!(reading.hint.contains("has no `k=`"), "{}", reading.hint);
    wrong(&format!("v=DKIM1; h=sha1; p={KEY}"), "sha256");
    wrong(&format!("v=DKIM1; s=tlsrpt; p={KEY}"), "not for e-mail");
}

#[test]
fn escaped_semicolons_are_explained() {
    wrong(&format!(r"v=DKIM1\; k=rsa\; p={KEY}"), "backslashes");
}

#[test]
fn quotation_marks_in_the_value_are_explained() {
    wrong(&format!("\"v=DKIM1; k=rsa; p={KEY}\""), "quotation marks");
    let (start, end) = KEY.split_at(9);
    wrong(&format!(r#"v=DKIM1; k=rsa; p="{start}" "{end}""#), "quotation marks");
}

#[test]
fn several_records_are_wrong_even_if_one_is_right() {
    let record = format!("v=DKIM1; p={KEY}");
    let reading = read("rsa", &[&record, "v=DKIM1; p=OLD"]);
    assert!(reading.status == Wrong && reading.hint.contains("2 TXT records"), "{}", reading.hint);
}

#[test]
fn a_key_in_test_mode_is_right_with_a_word_about_it() {
    let reading = read("rsa", &[&format!("v=DKIM1; t=y:s; p={KEY}")]);
    assert!(reading.status == Satisfied && reading.hint.contains("t=y"), "{}", reading.hint);
}
