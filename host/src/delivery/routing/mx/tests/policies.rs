//! Domains with MTA-STS policies: what they change, and how long they hold.

use waxwing_dns::Fault;

use super::policy_host::{Answer, response};
use super::*;

const HOUR: Duration = Duration::from_hours(1);
const WEEK: u32 = 7 * 86_400;

/// `example.com` with two hosts, of which a policy may allow the first.
async fn world() -> (World, PolicyHost) {
    let world = World::with_example().await;
    world.dns.mx("example.com", 20, "other.example.net");
    world.address("other.example.net", "127.0.0.8");
    let host = PolicyHost::start(&world).await;
    (world, host)
}

fn announce(world: &World, id: &str) {
    world.dns.remove("_mta-sts.example.com", "TXT");
    world.dns.txt("_mta-sts.example.com", &format!("v=STSv1; id={id};"));
}

/// The mode of the policy, and the hosts with an `!` at those that it does not allow.
fn under(resolution: &Arc<MxResolution>) -> String {
    let hosts = hosts(resolution);
    let mode = hosts.policy.as_ref().map_or("no policy".to_owned(), |it| format!("{:?}", it.mode));
    let allowed = |host: &MxHost| if host.allowed_by_policy { "" } else { "!" };
    let names = hosts.hosts.iter().map(|it| format!(" {}{}", it.name, allowed(it)));
    mode + &names.collect::<String>()
}

const ENFORCED: &str = "Enforce mx.example.com";
const FREE: &str = "no policy mx.example.com other.example.net";

#[tokio::test]
async fn the_mode_says_what_becomes_of_hosts_that_are_not_allowed() {
    for (mode, expected) in [
        ("enforce", ENFORCED),
        ("testing", "Testing mx.example.com other.example.net!"),
        ("none", FREE),
    ] {
        let (world, host) = world().await;
        announce(&world, "1");
        host.serves(mode, &["*.example.com"], WEEK);
        let found = world.policed(&host).look_up("example.com").await;
        assert_eq!(under(&found), expected);
        assert_eq!(host.requests(), 1);
    }
}

#[tokio::test]
async fn a_policy_that_allows_no_host_holds_the_mail_back() {
    let (world, host) = world().await;
    announce(&world, "1");
    host.serves("enforce", &["mx.example.org"], WEEK);
    let exchanges = world.policed(&host);
    let found = exchanges.look_up("example.com").await;
    let MxResolution::Failed(LookupFailure::Temporary { reason }) = &*found else {
        panic!("{found:?}")
    };
    assert!(reason.contains("MTA-STS policy of example.com allows none"), "{reason}");

    announce(&world, "2");
    host.serves("enforce", &["mx.example.com"], WEEK);
    world.clock.advance(TEMPORARY_FAILURE_TTL);
    assert_eq!(under(&exchanges.look_up("example.com").await), ENFORCED);
}

#[tokio::test]
async fn an_implicit_host_is_under_the_policy_too() {
    let world = World::new().await;
    let host = PolicyHost::start(&world).await;
    world.address("example.com", "127.0.0.9");
    announce(&world, "1");
    host.serves("enforce", &["mx.example.com"], WEEK);
    assert_eq!(verdict(&world.policed(&host).look_up("example.com").await), "not now");
}

#[tokio::test]
async fn nobody_asks_for_a_policy_that_is_not_announced() {
    let (world, host) = world().await;
    host.serves("enforce", &["mx.example.com"], WEEK);
    let exchanges = world.policed(&host);
    assert_eq!(under(&exchanges.look_up("example.com").await), FREE);
    for broken in ["v=STSv1; id=", "v=STSv2; id=1", "v=STSv1"] {
        world.dns.remove_all("_mta-sts.example.com");
        world.dns.txt("_mta-sts.example.com", broken);
        world.clock.advance(HOUR);
        assert_eq!(under(&exchanges.look_up("example.com").await), FREE);
    }
    announce(&world, "1");
    world.dns.txt("_mta-sts.example.com", "v=STSv1; id=2");
    world.clock.advance(HOUR);
    assert_eq!(under(&exchanges.look_up("example.com").await), FREE);
    exchanges.look_up("[127.0.0.1]").await;
    assert_eq!(host.requests(), 0);
}

#[tokio::test]
async fn a_policy_is_fetched_again_when_its_id_changes_and_once_a_day() {
    let (world, host) = world().await;
    announce(&world, "1");
    host.serves("testing", &["mx.example.com"], WEEK);
    let exchanges = world.policed(&host);
    for (pause, id, requests, expected) in [
        (Duration::ZERO, "1", 1, "Testing mx.example.com other.example.net!"),
        (HOUR, "1", 1, "Testing mx.example.com other.example.net!"),
        (HOUR, "2", 2, ENFORCED),
        (Duration::from_hours(23), "2", 2, ENFORCED),
        (HOUR, "2", 3, ENFORCED),
    ] {
        world.clock.advance(pause);
        announce(&world, id);
        assert_eq!(under(&exchanges.look_up("example.com").await), expected);
        assert_eq!(host.requests(), requests);
        host.serves("enforce", &["mx.example.com"], WEEK);
    }
}

#[tokio::test]
async fn a_known_policy_holds_until_it_expires_whatever_fails() {
    let (world, host) = world().await;
    announce(&world, "1");
    host.serves("enforce", &["mx.example.com"], WEEK);
    assert_eq!(under(&world.policed(&host).look_up("example.com").await), ENFORCED);

    // Each a start of its own: the policy is in the database.
    let holds = async || under(&world.policed(&host).look_up("example.com").await);
    host.answers(Answer::Bytes(response("404 Not Found", "text/plain", "gone")));
    announce(&world, "2");
    assert_eq!(holds().await, ENFORCED, "its host has none");
    host.answers(Answer::Bytes(response("200 OK", "text/plain", "version: STSv1\nmode: none\n")));
    assert_eq!(holds().await, ENFORCED, "its host serves nonsense");
    world.dns.remove_all("mta-sts.example.com");
    assert_eq!(holds().await, ENFORCED, "its host is gone");
    world.dns.fault("_mta-sts.example.com", Fault::ServFail);
    assert_eq!(holds().await, ENFORCED, "DNS fails");
    world.dns.clear("_mta-sts.example.com");
    world.dns.remove_all("_mta-sts.example.com");
    assert_eq!(holds().await, ENFORCED, "it is not announced");
    world.clock.advance(Duration::from_secs((WEEK - 1).into()));
    assert_eq!(holds().await, ENFORCED, "its last second");
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(holds().await, FREE);
}

#[tokio::test]
async fn what_is_known_of_the_hosts_does_not_outlive_the_policy() {
    let (world, host) = world().await;
    announce(&world, "1");
    host.serves("enforce", &["mx.example.com"], 60);
    let exchanges = world.policed(&host);
    assert_eq!(under(&exchanges.look_up("example.com").await), ENFORCED);
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(exchanges.known("example.com"), None);
}

#[tokio::test]
async fn a_policy_that_is_withdrawn_is_gone() {
    let (world, host) = world().await;
    announce(&world, "1");
    host.serves("enforce", &["mx.example.com"], WEEK);
    let exchanges = world.policed(&host);
    assert_eq!(under(&exchanges.look_up("example.com").await), ENFORCED);
    announce(&world, "2");
    host.serves("none", &[], WEEK);
    world.clock.advance(HOUR);
    assert_eq!(under(&exchanges.look_up("example.com").await), FREE);
    world.clock.advance(HOUR);
    assert_eq!(under(&exchanges.look_up("example.com").await), FREE);
    assert_eq!(host.requests(), 2);
}

#[tokio::test]
async fn a_policy_host_that_fails_is_left_alone_for_five_minutes() {
    let (world, host) = world().await;
    announce(&world, "1");
    host.answers(Answer::Bytes(response("503 Busy", "text/plain", "")));
    let exchanges = world.policed(&host);
    for (pause, requests, expected) in [
        (Duration::ZERO, 1, FREE),
        (Duration::from_secs(299), 1, FREE),
        (Duration::from_secs(1), 2, ENFORCED),
    ] {
        world.clock.advance(pause);
        // Whatever is kept of the hosts.
        exchanges.known.invalidate_all();
        if expected == ENFORCED {
            host.serves("enforce", &["mx.example.com"], WEEK);
        }
        assert_eq!(under(&exchanges.look_up("example.com").await), expected);
        assert_eq!(host.requests(), requests);
    }
}

#[tokio::test]
async fn without_a_database_nothing_is_sent() {
    let (world, host) = world().await;
    let exchanges = world.policed(&host);
    world.store.close().await;
    assert_eq!(verdict(&exchanges.look_up("example.com").await), "not now");
    drop(world.directory);
}
