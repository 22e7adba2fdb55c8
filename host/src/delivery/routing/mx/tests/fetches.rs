//! Fetching a policy: what is taken, and what is not.

use super::policy_host::{Answer, response};
use super::*;

const POLICY: &str = "version: STSv1\nmode: enforce\nmx: mx.example.com\nmax_age: 86400\n";

async fn fetched(fetcher: &StsPolicyFetcher) -> Result<String, String> {
    let policy = fetcher.fetch("example.com").await;
    policy.map(|it| it.to_string()).map_err(|error| error.in_full())
}

#[tokio::test]
async fn a_policy_is_fetched_from_its_host() {
    let world = World::new().await;
    let host = PolicyHost::named("mta-sts.example.com").await;
    world.dns.cname("mta-sts.example.com", "policies.example.net");
    world.address("policies.example.net", "127.0.0.1");
    let fetcher = world.fetcher(&host, PATIENCE);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: TEXT/Plain\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n{POLICY}\r\n0\r\n\r\n",
        POLICY.len()
    );
    for answer in [response("200 OK", "text/plain", POLICY), chunked] {
        host.answers(Answer::Bytes(answer));
        assert_eq!(fetched(&fetcher).await.as_deref(), Ok(POLICY));
    }
}

#[tokio::test]
async fn an_answer_that_is_no_policy_is_refused() {
    let world = World::new().await;
    let host = PolicyHost::start(&world).await;
    let fetcher = world.fetcher(&host, PATIENCE);
    let elsewhere = format!(
        "HTTP/1.1 301 Moved\r\nLocation: https://mta-sts.example.com:{}/.well-known/mta-sts.txt\r\n\
         Content-Length: 0\r\nConnection: close\r\n\r\n",
        host.address().port()
    );
    let filler = format!("{POLICY}{}", "x-filler: x\n".repeat(6_000));
    let endless = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{filler}");
    let cut = response("200 OK", "text/plain", POLICY).replace("mx: mx.example.com\n", "");
    for (answer, expected) in [
        (elsewhere, "status 301"),
        (response("404 Not Found", "text/plain", POLICY), "status 404"),
        (response("500 Oops", "text/plain", POLICY), "status 500"),
        (response("203 Changed", "text/plain", POLICY), "status 203"),
        (response("200 OK", "text/html", POLICY), "not text/plain"),
        (response("200 OK", "", POLICY), "not text/plain"),
        (response("200 OK", "text/plain", &filler), "larger than 64 KiB"),
        (endless, "larger than 64 KiB"),
        (cut, "request to the policy host failed"),
        (response("200 OK", "text/plain", "<html>"), "line 1"),
        (response("200 OK", "text/plain", ""), "no field `version`"),
        ("nonsense\r\n\r\n".to_owned(), "request to the policy host failed"),
    ] {
        host.answers(Answer::Bytes(answer));
        let refused = fetched(&fetcher).await.expect_err(expected);
        assert!(refused.contains(expected), "{refused}");
    }
    assert_eq!(host.requests(), 12, "no redirect was followed, and nothing tried twice");
}

#[tokio::test]
async fn a_host_that_never_ends_is_given_up() {
    let world = World::new().await;
    let host = PolicyHost::start(&world).await;
    let fetcher = world.fetcher(&host, SILENCE);
    let head = response("200 OK", "text/plain", POLICY).replace("max_age: 86400\n", "");
    for answer in [String::new(), head] {
        host.answers(Answer::Stall(answer));
        let refused = fetched(&fetcher).await.expect_err("no policy");
        assert!(refused.contains("timed out"), "{refused}");
    }
}

#[tokio::test]
async fn a_certificate_must_be_trusted_and_for_the_policy_host() {
    let world = World::new().await;
    let good = PolicyHost::start(&world).await;
    let other_name = PolicyHost::named("example.com").await;
    other_name.serves("enforce", &["mx.example.com"], 86_400);
    good.serves("enforce", &["mx.example.com"], 86_400);
    let at = |host: &PolicyHost, trusted: &PolicyHost| {
        let settings = StsFetchSettings {
            reach: Reach::Anywhere,
            port: host.address().port(),
            ..StsFetchSettings::default()
        };
        let fetcher =
            StsPolicyFetcher::new(world.resolver(PATIENCE), trusted.trusting(), &settings);
        fetcher.expect("a client")
    };
    let refused = fetched(&at(&other_name, &other_name)).await.expect_err("another name");
    assert!(refused.contains("certificate not valid for name"), "{refused}");
    let refused = fetched(&at(&good, &other_name)).await.expect_err("nobody vouches for it");
    assert!(refused.contains("invalid peer certificate"), "{refused}");
    assert!(fetched(&at(&good, &good)).await.is_ok());
    assert_eq!((other_name.requests(), good.requests()), (0, 1));
}

#[tokio::test]
async fn a_policy_host_inside_this_network_is_not_asked() {
    let world = World::new().await;
    let host = PolicyHost::named("mta-sts.example.com").await;
    let settings = StsFetchSettings { port: host.address().port(), ..StsFetchSettings::default() };
    let fetcher = StsPolicyFetcher::new(world.resolver(PATIENCE), host.trusting(), &settings);
    let fetcher = fetcher.expect("a client");
    for (address, expected) in [
        (None, "the host has no address"),
        (Some("127.0.0.1"), "the host has no public address"),
        (Some("::ffff:127.0.0.1"), "the host has no public address"),
    ] {
        if let Some(address) = address {
            world.address("mta-sts.example.com", address);
        }
        let refused = fetched(&fetcher).await.expect_err(expected);
        assert!(refused.contains(expected), "{refused}");
    }
    world.dns.fault("mta-sts.example.com", waxwing_dns::Fault::ServFail);
    let refused = fetched(&fetcher).await.expect_err("a failure");
    assert!(refused.contains("SERVFAIL"), "{refused}");
    assert_eq!(host.requests(), 0);
}
