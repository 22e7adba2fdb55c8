//! Everything that DNS may answer for a record, as the account holder sees it: its status, what was
//! found, what to do; and below it the exact data, who gave it, and when.

use serde_json::{Value, json};
use waxwing_dns::{DnsServer, Fault};
use waxwing_tests::{Domain, Record, Server};

use super::{assert_not_verified, lab, patient_lab, send};

/// A domain with all that it requires, after `spoil` has done something to it; as its check shows it.
pub(super) async fn spoiled(
    dns: &DnsServer,
    server: &Server,
    name: &str,
    spoil: impl FnOnce(&Domain),
) -> Domain {
    let domain = server.add_domain(server.key(), name).await;
    domain.publish(dns);
    spoil(&domain);
    server.check_domain(server.key(), name).await
}

/// The record at the place of another one that is right.
fn replace(dns: &DnsServer, record: &Record, value: &str) {
    record.withdraw(dns);
    dns.txt(record.name(), value);
}

#[track_caller]
fn assert_says(record: &Record, status: &str, words: &[&str]) {
    assert_eq!(record.status(), status, "{record:?}");
    let hint = record.text("hint");
    for words in words {
        assert!(hint.contains(words), "`{words}` in: {hint}");
    }
}

#[tokio::test]
async fn a_wrong_value_is_shown_beside_the_right_one() {
    let (dns, server) = lab().await;
    let other = "waxwing-verification=00000000000000000000000000000000";
    let domain = spoiled(&dns, &server, "wrong.example", |domain| {
        let [ownership, rsa, ed25519, return_path] =
            domain.required().try_into().expect("four of them");
        replace(&dns, &ownership, other);
        replace(&dns, &rsa, rsa.value().split_at(255).0);
        replace(&dns, &ed25519, &format!("\"{}\"", ed25519.value()));
        dns.cname(return_path.name(), "bounce.mail.waxwing.example.wrong.example");
    })
    .await;
    assert_eq!((domain.state(), domain.progress(), domain.missing().len()), ("pending", 0, 4));
    let [ownership, rsa, ed25519, return_path] =
        domain.required().try_into().expect("four of them");
    assert_says(&ownership, "wrong", &[other, ownership.value(), "another domain or account"]);
    assert_eq!(ownership.found(), [other]);
    assert_says(&rsa, "wrong", &["cut off", "only the first", rsa.value()]);
    assert_eq!(rsa.found(), [rsa.value().split_at(255).0]);
    assert_says(&ed25519, "wrong", &["quotation marks", ed25519.value()]);
    assert_eq!(ed25519.found(), [format!("\"{}\"", ed25519.value())]);
    assert_says(&return_path, "wrong", &["appended", "`bounce.mail.waxwing.example.`"]);
    let quoted = format!("\"\\\"{}\\\"\"", ed25519.value());
    assert_eq!(
        domain.lookup(ed25519.name(), "TXT")["answers"],
        json!([
            {"data": quoted, "ttl": 300}
        ])
    );
    assert_not_verified(&server, server.key(), &domain).await;
}

#[tokio::test]
async fn one_record_too_many_is_wrong_for_a_key_and_right_for_the_proof() {
    let (dns, server) = lab().await;
    let domain = spoiled(&dns, &server, "many.example", |domain| {
        dns.txt(domain.required()[0].name(), "something else");
        dns.txt(domain.required()[1].name(), "v=DKIM1; k=rsa; p=");
    })
    .await;
    let [ownership, rsa, _, _] = domain.required().try_into().expect("four of them");
    assert_says(&ownership, "satisfied", &["token"]);
    assert_says(&rsa, "wrong", &["There are 2 TXT records", "Remove all but", rsa.value()]);
    assert_eq!(domain.progress(), 75);
}

#[tokio::test]
async fn no_such_name_and_no_such_record_are_both_missing() {
    let (dns, server) = lab().await;
    let domain = spoiled(&dns, &server, "absent.example", |domain| {
        let [ownership, rsa, _, _] = domain.required().try_into().expect("four of them");
        ownership.withdraw(&dns);
        rsa.withdraw(&dns);
        dns.ip(rsa.name(), "192.0.2.1".parse().expect("an address"));
    })
    .await;
    let [ownership, rsa, ed25519, _] = domain.required().try_into().expect("four of them");
    assert_says(&ownership, "missing", &["There is no TXT record", ownership.value()]);
    assert_says(&rsa, "missing", &["There is no TXT record", rsa.value()]);
    assert_eq!(ed25519.status(), "satisfied");
    for (record, outcome) in [(&ownership, "no such name"), (&rsa, "no data")] {
        let lookup = domain.lookup(record.name(), "TXT");
        assert_eq!((&lookup["outcome"], &lookup["answers"]), (&json!(outcome), &json!([])));
        assert!(record.found().is_empty());
    }
    assert_eq!(domain.progress(), 50);
}

#[tokio::test]
async fn what_could_not_be_seen_is_unknown_and_never_missing() {
    let (dns, server) = lab().await;
    for (label, fault, outcome, words) in [
        ("servfail", Fault::ServFail, "server failure", "did not answer properly"),
        ("refused", Fault::Refused, "refused", "refused to answer"),
        ("silent", Fault::Silent, "timed out", "no answer came in time"),
        ("malformed", Fault::Malformed, "server failure", "did not answer properly"),
        ("notcp", Fault::NoTcp, "timed out", "no answer came in time"),
    ] {
        let name = format!("{label}.example");
        let domain = spoiled(&dns, &server, &name, |domain| {
            dns.fault(domain.required()[0].name(), fault);
        })
        .await;
        let ownership = domain.record("ownership");
        assert_says(&ownership, "unknown", &[words, "does not count against you"]);
        let lookup = domain.lookup(ownership.name(), "TXT");
        assert_eq!(lookup["outcome"], outcome, "{label}: {lookup}");
        assert_eq!(lookup["resolver"], dns.address().to_string());
        assert_eq!((domain.state(), domain.progress()), ("pending", 75), "{label}");
        assert!(domain.0["unclearSince"].is_string());
        assert_not_verified(&server, server.key(), &domain).await;

        dns.clear(ownership.name());
        let domain = server.check_domain(server.key(), &name).await;
        assert_eq!((domain.state(), &domain.0["unclearSince"]), ("verified", &Value::Null));
    }
}

#[tokio::test]
async fn answers_that_come_late_or_over_tcp_or_at_the_second_try_are_right() {
    let (dns, server) = lab().await;
    for (label, fault) in [
        ("late", Fault::Slow(std::time::Duration::from_millis(300))),
        ("truncated", Fault::Truncated),
        ("lost", Fault::Lost(1)),
        ("unrelated", Fault::Unrelated),
    ] {
        let name = format!("{label}.example");
        let domain = spoiled(&dns, &server, &name, |_| dns.fault(&name, fault)).await;
        assert_eq!((domain.state(), domain.progress()), ("verified", 100), "{label}: {domain:#?}");
        let lookup = domain.lookup(domain.required()[0].name(), "TXT");
        assert_eq!(lookup["answers"].as_array().map(Vec::len), Some(1), "{lookup}");
    }
}

#[tokio::test]
async fn a_key_in_several_pieces_is_one_key() {
    let (dns, server) = lab().await;
    let domain = spoiled(&dns, &server, "pieces.example", |domain| {
        let rsa = &domain.required()[1];
        rsa.withdraw(&dns);
        let (first, rest) = rsa.value().as_bytes().split_at(100);
        let (second, rest) = rest.split_at(1);
        let (third, fourth) = rest.split_at(200);
        dns.txt_chunks(rsa.name(), &[first, second, third, fourth]);
    })
    .await;
    assert_eq!(domain.state(), "verified");
    let rsa = &domain.required()[1];
    let lookup = domain.lookup(rsa.name(), "TXT");
    let data = lookup["answers"][0]["data"].as_str().expect("data");
    assert_eq!(data.matches("\" \"").count(), 3, "the pieces are kept as they were: {data}");
    assert_eq!(data.replace("\" \"", ""), format!("\"{}\"", rsa.value()));
    assert_eq!(rsa.found(), [rsa.value()]);
}

#[tokio::test]
async fn keys_may_stand_behind_aliases_and_in_a_delegated_zone() {
    let (dns, server) = lab().await;
    let domain = spoiled(&dns, &server, "alias.example", |domain| {
        let [_, rsa, ed25519, _] = domain.required().try_into().expect("four of them");
        rsa.withdraw(&dns);
        dns.cname(rsa.name(), "one.keys.example");
        dns.cname("one.keys.example", "two.keys.example.net");
        dns.txt("two.keys.example.net", rsa.value());
        ed25519.withdraw(&dns);
        dns.ns("_domainkey.alias.example", "ns1.dns-host.example");
        dns.txt(ed25519.name(), ed25519.value());
    })
    .await;
    assert_eq!((domain.state(), domain.progress()), ("verified", 100));
    let chain = json!(["one.keys.example", "two.keys.example.net"]);
    assert_eq!(domain.lookup(domain.required()[1].name(), "TXT")["cnameChain"], chain);
    // One that follows no chain leaves it to the server.
    dns.fault("alias.example", Fault::OneLink);
    let domain = server.check_domain(server.key(), "alias.example").await;
    assert_eq!(domain.lookup(domain.required()[1].name(), "TXT")["cnameChain"], chain);
    assert_eq!(domain.state(), "verified");
    // The end of the chain is gone.
    dns.remove_all("two.keys.example.net");
    let domain = server.check_domain(server.key(), "alias.example").await;
    let rsa = &domain.required()[1];
    assert_says(rsa, "missing", &["leads to two.keys.example.net", rsa.value()]);
}

#[tokio::test]
async fn a_circle_of_aliases_is_shown_as_one() {
    let (dns, server) = lab().await;
    let domain = spoiled(&dns, &server, "circle.example", |domain| {
        let [ownership, rsa, _, return_path] = domain.required().try_into().expect("four of them");
        ownership.withdraw(&dns);
        dns.cname(ownership.name(), ownership.name());
        rsa.withdraw(&dns);
        dns.cname(rsa.name(), "there.example.net");
        dns.cname("there.example.net", rsa.name());
        dns.cname(return_path.name(), "back.circle.example");
        dns.cname("back.circle.example", return_path.name());
    })
    .await;
    let [ownership, rsa, ed25519, return_path] =
        domain.required().try_into().expect("four of them");
    for record in [&ownership, &rsa, &return_path] {
        assert_says(record, "wrong", &["in a circle", record.value()]);
    }
    assert_eq!(ed25519.status(), "satisfied");
    assert_eq!(domain.lookup(rsa.name(), "TXT")["outcome"], "server failure");
    let chain = &domain.lookup(rsa.name(), "TXT")["cnameChain"];
    assert_eq!((&chain[0], &chain[1]), (&json!("there.example.net"), &json!(rsa.name())));
    assert_eq!(domain.progress(), 25);
}

#[tokio::test]
async fn other_records_beside_the_right_one_do_not_matter_however_odd() {
    let (dns, server) = lab().await;
    let big: Vec<&[u8]> = std::iter::repeat_n(&[b'x'; 255][..], 72).collect();
    let domain = spoiled(&dns, &server, "odd.example", |domain| {
        let ownership = &domain.required()[0];
        dns.txt_chunks(ownership.name(), &[b"\xff\xfe not UTF-8 \x80", b"\"\\;\0"]);
        dns.txt_chunks(ownership.name(), &[b"caf\xc3", b"\xa9"]);
        dns.txt_chunks(ownership.name(), &[b""]);
        dns.txt_chunks(ownership.name(), &big);
    })
    .await;
    assert_eq!((domain.state(), domain.progress()), ("verified", 100), "{domain:#?}");
    let lookup = domain.lookup("_waxwing.odd.example", "TXT");
    let mut data: Vec<&str> = lookup["answers"]
        .as_array()
        .expect("answers")
        .iter()
        .filter_map(|it| it["data"].as_str())
        .collect();
    data.sort_by_key(|it| it.len());
    assert_eq!(data[0], "\"\"");
    assert_eq!(data[1], "\"café\" \"\"", "a character belongs to the piece that it begins in");
    assert_eq!(data[2], r#""\255\254 not UTF-8 \128" "\"\\;\000""#);
    assert_eq!(data[4].len(), 72 * 258 - 1, "18 kB are kept, piece by piece");
}

#[tokio::test]
async fn the_lookups_are_kept_with_data_resolver_and_time() {
    let (dns, server) = patient_lab().await;
    let domain = server.add_domain(server.key(), "kept.example").await;
    assert_eq!(domain.0["lookups"], json!([]));
    domain.publish(&dns);
    let checked = server.check_domain(server.key(), "kept.example").await;
    let ownership = &checked.required()[0];
    let lookup = checked.lookup(ownership.name(), "TXT");
    assert_eq!(lookup["answers"][0]["data"], format!("\"{}\"", ownership.value()));
    assert_eq!(lookup["answers"][0]["ttl"], 300);
    assert_eq!(lookup["resolver"], dns.address().to_string());
    assert_eq!((&lookup["dnssecSecure"], &lookup["cnameChain"]), (&json!(false), &json!([])));
    let at = lookup["at"].as_str().expect("a time");
    // Without the Z texts are in the order of their moments, also where a fraction ends in zeroes.
    let moment = |text: &str| text.trim_end_matches('Z').to_owned();
    let (made, ended) = (moment(domain.text("createdAt")), moment(checked.text("checkedAt")));
    assert!(made <= moment(at) && moment(at) <= ended, "{made} {at} {ended}");
    let return_path = checked.lookup("bounce.kept.example", "CNAME");
    assert_eq!(return_path["answers"][0]["data"], "bounce.mail.waxwing.example");
    // All of it is asked again at the next check, and nothing is remembered.
    dns.forget_queries();
    dns.secure("kept.example");
    let again = server.check_domain(server.key(), "kept.example").await;
    assert_eq!(again.lookup(ownership.name(), "TXT")["dnssecSecure"], true);
    let asked = dns.queries();
    for record in again.records() {
        let question = (record.name().to_owned(), record.text("type").to_owned());
        assert_eq!(asked.iter().filter(|it| **it == question).count(), 1, "{question:?}");
    }
}

#[tokio::test]
async fn a_domain_in_any_script_is_added_as_its_holder_writes_it() {
    let (dns, server) = lab().await;
    let key = server.key();
    let domain = server.verified_domain(&dns, key, "BÜCHER.example").await;
    assert_eq!(domain.text("name"), "xn--bcher-kva.example");
    assert_eq!(domain.text("unicodeName"), "bücher.example");
    assert_eq!(domain.required()[0].name(), "_waxwing.xn--bcher-kva.example");
    assert_eq!(server.domain(key, "xn--bcher-kva.example").await, domain);
    assert_eq!(server.domain(key, domain.text("id")).await, domain);
    send(&server, key, "bücher.example", "ada@example.com").await;
    let mail = server.wait_for_mail_to("ada@example.com").await;
    let raw = String::from_utf8(server.raw_mail(&mail).await).expect("UTF-8");
    assert_eq!(raw.matches("d=xn--bcher-kva.example").count(), 2, "{raw}");
}
