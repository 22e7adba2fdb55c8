//! Domains are looked at without anybody asking: soon after they were added, for as long as they are
//! of use, and not all at once.

use waxwing_dns::DnsServer;
use waxwing_tests::{Domain, Launch, Server, name_server};

use super::{assert_not_verified, send};
use crate::fixture::Database;

/// A server that looks at everything every second.
fn eager(dns: &DnsServer) -> Launch {
    Launch::asking(dns).with("domains", "first_check_s", "1").with("domains", "check_every_s", "1")
}

fn is(state: &str) -> impl Fn(&Domain) -> bool {
    move |domain| domain.state() == state
}

#[tokio::test]
async fn a_domain_becomes_verified_warned_and_degraded_by_itself() {
    let dns = name_server().await;
    let server = Server::start(eager(&dns).with("domains", "grace_s", "2"));
    let (key, name) = (server.key(), "itself.example");
    let domain = server.add_domain(key, name).await;
    domain.publish(&dns);
    let verified = server.until_domain(key, name, "it is verified", is("verified")).await;
    assert_eq!(verified.progress(), 100);
    send(&server, key, name, "verified@example.com").await;

    domain.required()[3].withdraw(&dns);
    let failing = |it: &Domain| it.state() != "verified";
    drop(server.until_domain(key, name, "it is noticed", failing).await);
    let degraded = server.until_domain(key, name, "it is degraded", is("degraded")).await;
    assert_eq!((degraded.progress(), degraded.missing().len()), (75, 1));
    assert_not_verified(&server, key, &degraded).await;

    domain.publish(&dns);
    let again = server.until_domain(key, name, "it is verified again", is("verified")).await;
    let events = ["domain.verified", "domain.warning", "domain.degraded", "domain.verified"];
    assert_eq!(again.events(), events);
    send(&server, key, name, "again@example.com").await;
    server.wait_for_mail_to("again@example.com").await;
}

#[tokio::test]
async fn an_unpublished_domain_is_given_up_and_comes_back_on_request() {
    let dns = name_server().await;
    let server = Server::start(eager(&dns).with("domains", "give_up_s", "2"));
    let (key, name) = (server.key(), "given-up.example");
    let domain = server.add_domain(key, name).await;
    let failed = server.until_domain(key, name, "it is given up", is("failed")).await;
    assert_eq!((failed.events(), failed.progress()), (vec!["domain.failed"], 0));
    assert!(failed.0["nextCheckAt"].is_null(), "{failed:#?}");
    assert_not_verified(&server, key, &failed).await;
    domain.publish(&dns);
    assert_eq!(server.check_domain(key, name).await.state(), "verified");
    let later = |it: &Domain| it.text("checkedAt") > it.text("since");
    drop(server.until_domain(key, name, "it is looked at again", later).await);
}

#[tokio::test]
async fn what_was_added_by_a_command_or_before_a_crash_is_looked_at_too() {
    let dns = name_server().await;
    let mut server = Server::start(eager(&dns));
    let (key, account) = (server.key().to_owned(), server.dev_output("accountId").to_owned());
    let added = server.cli(&["domain", "add", "--account", &account, "command.example"]);
    Domain(added).publish(&dns);
    drop(server.until_domain(&key, "command.example", "it is verified", is("verified")).await);

    let crashed = server.add_domain(&key, "crashed.example").await;
    server.kill9();
    crashed.publish(&dns);
    server.restart();
    drop(server.until_domain(&key, "crashed.example", "it is verified", is("verified")).await);
}

#[tokio::test]
async fn checks_of_domains_that_were_added_together_spread() {
    let dns = name_server().await;
    let server = Server::start(Launch::asking(&dns));
    for n in 0..10 {
        drop(server.verified_domain(&dns, server.key(), &format!("spread{n}.example")).await);
    }
    let database = Database::of(&server).await;
    let spread = "SELECT max(next_at - checked_at) - min(next_at - checked_at) FROM domain_checks";
    let minutes = database.number(spread).await / 60_000;
    assert!(minutes > 10, "ten domains within {minutes} minutes");
    let hour = 3_600_000;
    for (end, sql) in [
        (21 * hour, "SELECT min(next_at - checked_at) FROM domain_checks"),
        (27 * hour, "SELECT -max(next_at - checked_at) FROM domain_checks"),
    ] {
        let pause = database.number(sql).await;
        assert!(if pause > 0 { pause > end } else { -pause < end }, "about a day: {pause}");
    }
}

#[tokio::test]
async fn the_checks_are_counted() {
    let dns = name_server().await;
    let server = Server::start(Launch::asking(&dns));
    drop(server.verified_domain(&dns, server.key(), "counted.example").await);
    dns.fault_everything(Some(waxwing_dns::Fault::ServFail));
    drop(server.check_domain(server.key(), "counted.example").await);
    let request = server.request(reqwest::Method::GET, "/metrics");
    let text = request.send().await.expect("metrics").text().await.expect("text");
    for line in [
        "waxwing_domain_checks_total{result=\"clear\"} 1",
        "waxwing_domain_checks_total{result=\"unclear\"} 1",
    ] {
        assert!(text.contains(line), "{line}");
    }
}
