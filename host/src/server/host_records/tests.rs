//! The list, and that OPERATING.md has the same.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::*;

const DIRECT: &str = "[smtp]\nhostname = \"mail.example.net\"\n[delivery]\nroute = \"direct\"\n";
const HEADING: &str = "| name | type | value | why |\n|---|---|---|---|\n";

fn config(toml: &str) -> Config {
    toml::from_str(toml).expect("valid")
}

fn listed(toml: &str, addresses: &[&str]) -> Vec<String> {
    let addresses: Vec<IpAddr> = addresses.iter().map(|it| it.parse().expect("one")).collect();
    records(&config(toml), &addresses).iter().map(HostRecord::zone_line).collect()
}

#[test]
fn the_table_of_the_operators_guide_is_this_list() {
    let config = config(DIRECT);
    let mut table = HEADING.to_owned();
    for record in records(&config, &["192.0.2.25".parse().expect("an address")]) {
        let HostRecord { name, value, purpose, .. } = &record;
        let kind = record.record_type.as_str();
        writeln!(table, "| `{name}` | {kind} | `{value}` | {purpose} |").expect("written");
    }
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("OPERATING.md");
    let guide = fs::read_to_string(guide).expect("a document");
    assert!(guide.contains(&table), "OPERATING.md needs, in its chapter DNS:\n{table}");
}

#[test]
fn both_families_of_addresses_have_their_records() {
    let zone = listed(DIRECT, &["192.0.2.25", "2001:db8::25"]);
    let nibbles = format!("5.2.0.0.{}8.b.d.0.1.0.0.2.ip6.arpa", "0.".repeat(20));
    for line in [
        "mail.example.net. 3600 IN A 192.0.2.25",
        "mail.example.net. 3600 IN AAAA 2001:db8::25",
        "mail.example.net. 3600 IN TXT \"v=spf1 a -all\"",
        "25.2.0.192.in-addr.arpa. 3600 IN PTR mail.example.net.",
        &format!("{nibbles}. 3600 IN PTR mail.example.net."),
        "bounce.mail.example.net. 3600 IN MX 10 mail.example.net.",
        "bounce.mail.example.net. 3600 IN TXT \"v=spf1 a:mail.example.net -all\"",
        "spf.mail.example.net. 3600 IN TXT \"v=spf1 a:mail.example.net -all\"",
    ] {
        assert!(zone.iter().any(|it| it == line), "{line} in {zone:#?}");
    }
    assert_eq!(zone.len(), 8, "{zone:#?}");
}

#[test]
fn a_host_behind_a_smarthost_lets_the_smarthost_send_and_needs_no_ptr() {
    let smarthosts = "[[delivery.smarthosts]]\nname = \"a\"\nhost = \"smtp.example.com\"\n\
                      [[delivery.smarthosts]]\nname = \"b\"\nhost = \"192.0.2.9\"\n";
    let toml = "[smtp]\nhostname = \"mail.example.net\"\n[delivery]\nroute = \"smarthost\"\n";
    let zone = listed(&format!("{toml}{smarthosts}"), &["192.0.2.25"]).join("\n");
    assert!(!zone.contains("PTR") && !zone.contains("v=spf1 a -all"), "{zone}");
    let spf = "spf.mail.example.net. 3600 IN TXT \"v=spf1 a:smtp.example.com ip4:192.0.2.9 -all\"";
    assert!(zone.contains(spf), "{zone}");
    let rule = "[[delivery.rules]]\nroute = \"direct\"\n";
    let zone = listed(&format!("{toml}{smarthosts}{rule}"), &["192.0.2.25"]).join("\n");
    assert!(zone.contains("PTR") && zone.contains("v=spf1 a:mail.example.net a:smtp."), "{zone}");
}

#[test]
fn a_name_has_one_spf_record() {
    let names = "[domains]\nspf_include = \"mail.example.net\"\n\
                 return_path_host = \"mail.example.net\"\n";
    let zone = listed(&format!("{DIRECT}{names}"), &["192.0.2.25"]);
    let spf: Vec<&String> = zone.iter().filter(|it| it.contains("v=spf1")).collect();
    assert_eq!(spf, ["mail.example.net. 3600 IN TXT \"v=spf1 a:mail.example.net -all\""]);
}
