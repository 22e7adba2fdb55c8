//! SPF, which receivers look for at the return path and people at the domain: judged where both are,
//! with all that a record includes.

use waxwing_dns::{DnsServer, Fault};
use waxwing_tests::{Domain, Record, Server};

use super::lab;
use super::lookups::spoiled;

const OURS: &str = "include:spf.mail.waxwing.example";

/// A domain whose own SPF record counts, because its return path is not there.
async fn alone(dns: &DnsServer, server: &Server, name: &str, records: &[&str]) -> Domain {
    let domain = spoiled(dns, server, name, |domain| {
        domain.required()[3].withdraw(dns);
        for record in records {
            dns.txt(name, record);
        }
    })
    .await;
    assert_eq!((domain.state(), domain.progress()), ("pending", 75), "SPF is advised only");
    domain
}

#[track_caller]
fn assert_says(spf: &Record, status: &str, words: &[&str]) {
    assert_eq!(spf.status(), status, "{spf:?}");
    let hint = spf.text("hint");
    for words in words {
        assert!(hint.contains(words), "`{words}` in: {hint}");
    }
}

#[tokio::test]
async fn a_record_that_names_the_server_is_right_and_others_say_what_to_change() {
    let (dns, server) = lab().await;
    let right = format!("v=spf1 {OURS} ~all");
    for (label, records, status, words) in [
        ("right", vec!["google-site-verification=x", &right], "satisfied", "lets this server send"),
        ("two", vec!["v=spf1 -all", &right], "wrong", "There are 2 SPF records"),
        ("other", vec!["v=spf1 a -all"], "wrong", "Change it to `v=spf1 a include:spf.mail"),
        ("quoted", vec!["\"v=spf1 -all\""], "wrong", "quotation marks"),
        ("sender-id", vec!["spf2.0/pra -all"], "missing", "is an SPF record"),
        ("after", vec!["v=spf1 -all include:spf.mail.waxwing.example"], "wrong", "before `all`"),
        ("typo", vec!["v=spf1 ipv4:192.0.2.1 -all"], "wrong", "receivers ignore it all"),
        ("nothing", vec![], "missing", "v=spf1 include:spf.mail.waxwing.example ~all"),
    ] {
        let domain = alone(&dns, &server, &format!("{label}.example"), &records).await;
        let spf = domain.record("spf");
        assert_says(&spf, status, &[words]);
        if status == "wrong" {
            assert_eq!(spf.found().len(), records.len(), "{spf:?}");
        }
    }
}

#[tokio::test]
async fn more_than_ten_lookups_are_counted_as_receivers_count_them() {
    let (dns, server) = lab().await;
    let ten = (0..9).map(|n| format!("a:h{n}.example.net ")).collect::<Vec<_>>().concat();
    let domain = alone(&dns, &server, "ten.example", &[&format!("v=spf1 {ten}{OURS} -all")]).await;
    assert_says(&domain.record("spf"), "satisfied", &[]);
    let eleven = format!("v=spf1 {ten}mx {OURS} -all");
    let domain = alone(&dns, &server, "eleven.example", &[&eleven]).await;
    let words = ["more than 10 lookups", "place `include:spf.mail.waxwing.example` first"];
    assert_says(&domain.record("spf"), "wrong", &words);
    // Counted over all that is included: four records with three lookups, and four themselves.
    for n in 0..4 {
        dns.txt(&format!("s{n}.example.net"), "v=spf1 a:a.example a:b.example mx ~all");
    }
    let below = (0..4).map(|n| format!("include:s{n}.example.net ")).collect::<Vec<_>>().concat();
    let domain =
        alone(&dns, &server, "below.example", &[&format!("v=spf1 {below}{OURS} -all")]).await;
    assert_says(&domain.record("spf"), "wrong", &words);
    // The server's own first: what stands behind it is never looked at.
    let first = format!("v=spf1 {OURS} {below}-all");
    let domain = alone(&dns, &server, "first.example", &[&first]).await;
    assert_says(&domain.record("spf"), "satisfied", &[]);
    assert!(domain.0["lookups"].as_array().is_some_and(|all| {
        all.iter().all(|it| !it["name"].as_str().unwrap_or_default().ends_with(".example.net"))
    }));
}

#[tokio::test]
async fn includes_are_followed_over_further_rounds_of_lookups() {
    let (dns, server) = lab().await;
    dns.txt("one.deep.example.net", "v=spf1 ip4:192.0.2.7 include:two.deep.example.net -all");
    dns.txt("two.deep.example.net", &format!("v=spf1 {OURS} -all"));
    let policy = "v=spf1 include:one.deep.example.net ~all";
    let domain = alone(&dns, &server, "deep.example", &[policy]).await;
    assert_says(&domain.record("spf"), "satisfied", &["lets this server send"]);
    for name in ["one.deep.example.net", "two.deep.example.net"] {
        assert_eq!(domain.lookup(name, "TXT")["outcome"], "answers");
    }
    // What is two levels away cannot be seen, has two records, or leads back.
    dns.fault("two.deep.example.net", Fault::ServFail);
    let domain = server.check_domain(server.key(), "deep.example").await;
    let words = ["two.deep.example.net", "could not be seen", "does not count against you"];
    assert_says(&domain.record("spf"), "unknown", &words);
    dns.clear("two.deep.example.net");
    dns.txt("two.deep.example.net", "v=spf1 -all");
    let domain = server.check_domain(server.key(), "deep.example").await;
    let words = ["two.deep.example.net", "has several SPF records"];
    assert_says(&domain.record("spf"), "wrong", &words);
    dns.remove_all("two.deep.example.net");
    dns.txt("two.deep.example.net", "v=spf1 include:one.deep.example.net -all");
    let domain = server.check_domain(server.key(), "deep.example").await;
    assert_says(&domain.record("spf"), "wrong", &["leads back to itself"]);
}

#[tokio::test]
async fn the_return_path_carries_spf_whatever_the_domain_itself_has() {
    let (dns, server) = lab().await;
    let domain = spoiled(&dns, &server, "carried.example", |_| {
        dns.txt("carried.example", "v=spf1 -all");
        dns.txt("carried.example", "v=spf1 mx -all");
    })
    .await;
    assert_eq!((domain.state(), domain.progress()), ("verified", 100));
    let spf = domain.record("spf");
    let words = ["through the return path", "Apart from that", "There are 2 SPF records"];
    assert_says(&spf, "satisfied", &words);
    assert_eq!(spf.found().len(), 3, "both, and the one that counts: {spf:?}");
    let through = domain.lookup("bounce.carried.example", "TXT");
    assert_eq!(through["cnameChain"][0], "bounce.mail.waxwing.example");
    // The operator has lost the record of his own host: it is told to whom it concerns.
    dns.remove_all("bounce.mail.waxwing.example");
    let domain = server.check_domain(server.key(), "carried.example").await;
    assert_eq!(domain.state(), "verified");
    assert_says(&domain.record("spf"), "wrong", &["the operator of this server must fix that"]);
}
