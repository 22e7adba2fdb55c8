use std::num::NonZeroU32;
use std::sync::LazyLock;

use futures_util::FutureExt;

use super::*;
use crate::delivery::shaping::backoff::{HostTrust, MAX_TRANSIENT_FAILURES};
use crate::delivery::shaping::memory_budget::Reputation;
use crate::message::waits_for::WaitsFor;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn limits(connections: u32) -> Limits {
    Limits { connections, messages_per_connection: 10, per_minute: None }
}

fn account() -> AccountId {
    AccountId::new(NOW)
}

static HOSTS: LazyLock<Hosts> = LazyLock::new(|| "mx1.mx.example".into());

/// A wish for a place at the operator's own host.
fn request(limits: Limits) -> SlotRequest<'static> {
    SlotRequest {
        name: "mx.example",
        limits,
        hosts: &HOSTS,
        trust: HostTrust::Trusted,
        account: account(),
        requested_at: None,
        purpose: Purpose::Start,
    }
}

fn take(destinations: &Destinations, limits: Limits, now: Timestamp) -> Result<Slot, Reason> {
    destinations.take(&request(limits), now)
}

fn slot(taken: Result<Slot, Reason>) -> Option<Slot> {
    taken.ok()
}

#[tokio::test]
async fn a_line_is_bounded_and_its_turns_are_the_connections() {
    let destinations = Destinations::default();
    let mut line: Vec<Slot> =
        (0..4).filter_map(|_| slot(take(&destinations, limits(2), NOW))).collect();
    assert_eq!(line.len(), 4);
    assert!(matches!(
        take(&destinations, limits(2), NOW),
        Err(Reason::DestinationFull | Reason::Probing)
    ));
    let destination = Arc::clone(&line[0].destination);
    let (one, _two) =
        (destination.connection_permit().await, destination.connection_permit().await);
    assert!(destination.connection_permit().now_or_never().is_none(), "two connections are in use");
    drop(one);
    assert!(destination.connection_permit().now_or_never().is_some());
    line.pop();
    assert!(slot(take(&destinations, limits(2), NOW)).is_some());
}

#[tokio::test]
async fn connections_that_are_open_count_when_nodes_come_and_go() {
    let destinations = Destinations::default();
    let first = slot(take(&destinations, limits(4), NOW)).expect("a place");
    let destination = Arc::clone(&first.destination);
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(destination.connection_permit().await);
    }
    destinations.divide_among(2);
    open.truncate(2);
    assert!(destination.connection_permit().now_or_never().is_none(), "two of two are open");
    open.truncate(1);
    let again = destination.connection_permit().now_or_never();
    assert!(again.is_some());
    destinations.divide_among(1);
    let more: Vec<ConnectionPermit> =
        (0..9).filter_map(|_| destination.connection_permit().now_or_never()).collect();
    assert_eq!(more.len(), 2, "four together");
    let same = slot(take(&destinations, limits(4), NOW)).expect("a place");
    assert!(Arc::ptr_eq(&same.destination, &destination));
}

#[test]
fn rests_grow_to_their_bound_and_one_probe_ends_them() {
    let destinations = Destinations::default();
    let health = slot(take(&destinations, limits(5), NOW)).expect("a place").health;
    let mut now = NOW;
    for seconds in [15, 30, 60, 120, 240, 480, 600, 600] {
        let backoff = health.record_failure("no answer", now, now).expect("it counts");
        assert_eq!(now.until(backoff.until), Duration::from_secs(seconds));
        assert_eq!(health.record_failure("at the same time", now, now), Some(backoff.clone()));
        assert!(matches!(take(&destinations, limits(5), now), Err(Reason::BackOff(_))));
        now = backoff.until;
        destinations.tidy(now);
    }
    let probe = slot(take(&destinations, limits(5), now)).expect("a probe");
    assert!(
        matches!(
            take(&destinations, limits(5), now),
            Err(Reason::DestinationFull | Reason::Probing)
        ),
        "one alone"
    );
    probe.health.record_success(account(), NOW);
    let _second = slot(take(&destinations, limits(5), now)).expect("all again");
    drop(probe);
}

#[test]
fn hosts_of_one_operator_are_ill_each_for_itself() {
    let destinations = Destinations::default();
    let take = |hosts: &str| {
        let hosts = &hosts.into();
        destinations.take(&SlotRequest { hosts, ..request(limits(5)) }, NOW)
    };
    slot(take("a.operator.example")).expect("a place").health.record_failure("no answer", NOW, NOW);
    assert!(matches!(take("a.operator.example"), Err(Reason::BackOff(_))));
    assert!(take("b.operator.example").is_ok());
}

#[test]
fn an_account_whose_mail_is_sent_away_waits_alone() {
    let destinations = Destinations::default();
    let (one, two) = (account(), account());
    let take =
        |account, now| destinations.take(&SlotRequest { account, ..request(limits(5)) }, now);
    let health = slot(take(one, NOW)).expect("a place").health;
    for _ in 1..MAX_TRANSIENT_FAILURES {
        health.record_transient_failure(one, "421", NOW);
        assert!(take(one, NOW).is_ok(), "it may be the message");
    }
    health.record_transient_failure(one, "421", NOW);
    let Err(Reason::BackOff(backoff)) = take(one, NOW) else { panic!("it waits") };
    assert_eq!(backoff.account, Some(one));
    assert!(take(two, NOW).is_ok(), "others do not");
    health.record_success(two, NOW);
    assert!(matches!(take(one, NOW), Err(Reason::BackOff(_))));
    let later = backoff.until;
    assert!(take(one, later).is_ok());
    health.record_transient_failure(one, "421", later);
    health.record_transient_failure(one, "421", later);
    assert!(matches!(take(one, later), Err(Reason::BackOff(_))), "two are enough now");
    let _called_before = destinations.take_requeue_requests();
    health.record_success(one, NOW);
    assert!(take(one, later).is_ok());
    assert!(
        destinations.take_requeue_requests().most.contains_key(&backoff.waits_for()),
        "what waited goes on"
    );
}

#[test]
fn hosts_that_hang_again_and_again_rest() {
    let destinations = Destinations::default();
    let health = slot(take(&destinations, limits(5), NOW)).expect("a place").health;
    for _ in 0..2 {
        health.record_stall("no answer in time at RCPT", NOW, NOW);
        health.record_stall("no answer in time at RCPT", NOW, NOW);
        assert!(take(&destinations, limits(5), NOW).is_ok());
        health.record_success(account(), NOW);
    }
    for _ in 0..3 {
        health.record_stall("no answer in time at RCPT", NOW, NOW);
    }
    assert!(matches!(take(&destinations, limits(5), NOW), Err(Reason::BackOff(_))));
}

#[test]
fn unknown_hosts_get_one_message_and_another_if_that_takes_long() {
    let destinations = Destinations::default();
    let strangers = SlotRequest { trust: HostTrust::Unproven, ..request(limits(5)) };
    let first = slot(destinations.take(&strangers, NOW)).expect("a place");
    assert!(first.health.repute() == Reputation::Unknown);
    assert!(matches!(
        destinations.take(&strangers, NOW),
        Err(Reason::DestinationFull | Reason::Probing)
    ));
    let later = NOW.after(Duration::from_secs(10));
    let _second = slot(destinations.take(&strangers, later)).expect("a place");
    assert!(matches!(
        destinations.take(&strangers, later),
        Err(Reason::DestinationFull | Reason::Probing)
    ));
    first.health.record_success(account(), later);
    assert!(first.health.repute() == Reputation::Known);
    assert!(destinations.take(&strangers, later).is_ok());
}

#[test]
fn the_end_of_a_rest_is_told_once() {
    let destinations = Destinations::default();
    let health = slot(take(&destinations, limits(5), NOW)).expect("a place").health;
    let backoff = health.record_failure("no answer", NOW, NOW).expect("it counts");
    let told = |now| {
        destinations.request_probes(now);
        destinations.take_requeue_requests().probes
    };
    assert!(told(NOW).is_empty());
    assert_eq!(
        told(backoff.until),
        [WaitsFor::Hosts { hosts: HOSTS.clone(), account: None }].into()
    );
    assert!(told(backoff.until).is_empty());
}

#[test]
fn a_clock_that_is_set_back_prolongs_no_rest() {
    let destinations = Destinations::default();
    let health = slot(take(&destinations, limits(5), NOW)).expect("a place").health;
    health.record_failure("no answer", NOW, NOW);
    let yesterday = NOW.before(Duration::from_hours(24));
    assert!(take(&destinations, limits(5), yesterday).is_ok());
}

#[test]
fn an_older_failure_says_nothing_unless_the_clock_is_set_back() {
    let destinations = Destinations::default();
    let health = slot(take(&destinations, limits(5), NOW)).expect("a place").health;
    let well = NOW.after(Duration::from_secs(20));
    health.record_success(account(), well);
    assert_eq!(health.record_failure("no answer", NOW, well.after(Duration::from_secs(9))), None);
    assert!(take(&destinations, limits(5), well).is_ok());
    let yesterday = NOW.before(Duration::from_hours(24));
    assert!(health.record_failure("no answer", yesterday, yesterday).is_some());
}

#[test]
fn a_rate_holds_whatever_the_connections() {
    let destinations = Destinations::default();
    let limits = Limits { per_minute: NonZeroU32::new(3), ..limits(100) };
    let destination = slot(take(&destinations, limits, NOW)).expect("a place").destination;
    assert_eq!(
        (0..10).filter_map(|_| destination.count_against_rate(Purpose::Start).ok()).count(),
        3
    );
    let wait = destination.count_against_rate(Purpose::Start).expect_err("there have been enough");
    assert!(wait <= Duration::from_secs(20), "{wait:?}");
    assert!(
        destination.count_against_rate(Purpose::Look).is_err(),
        "who only looks is told the same"
    );
}

#[test]
fn who_wants_an_attempt_gets_one_while_they_rest_until_they_fail_again() {
    let destinations = Destinations::default();
    let wanting = |requested_at: Timestamp, now| {
        destinations
            .take(&SlotRequest { requested_at: Some(requested_at), ..request(limits(5)) }, now)
    };
    let later = |seconds| NOW.after(Duration::from_secs(seconds));
    let health = slot(take(&destinations, limits(5), NOW)).expect("a place").health;
    health.record_failure("no answer", NOW, NOW);
    assert!(matches!(take(&destinations, limits(5), later(5)), Err(Reason::BackOff(_))));
    let probe = slot(wanting(later(1), later(5))).expect("a place");
    assert!(
        matches!(wanting(later(1), later(5)), Err(Reason::DestinationFull | Reason::Probing)),
        "one alone"
    );
    probe.health.record_failure("still no answer", later(5), later(5));
    drop(probe);
    assert!(matches!(wanting(later(1), later(6)), Err(Reason::BackOff(_))));
    assert!(wanting(later(6), later(6)).is_ok());
}

#[test]
fn what_waits_is_called_when_they_take_mail_again_and_when_they_are_new() {
    let destinations = Destinations::default();
    let of_hosts = |(waits_for, most)| {
        matches!(waits_for, WaitsFor::Hosts { account: None, .. }).then_some(most)
    };
    let calls = || {
        destinations
            .take_requeue_requests()
            .most
            .into_iter()
            .filter_map(of_hosts)
            .collect::<Vec<_>>()
    };
    let health = slot(take(&destinations, limits(5), NOW)).expect("a place").health;
    health.record_success(account(), NOW);
    assert_eq!(calls(), [32], "since an earlier time");
    destinations.note_none_waiting(&HOSTS, None);
    health.record_success(account(), NOW);
    assert_eq!(calls(), [0; 0]);
    health.record_failure("no answer", NOW, NOW);
    assert_eq!(calls(), [0; 0]);
    health.record_success(account(), NOW);
    assert_eq!(calls(), [32]);
    destinations.requeue().request_one_per_destination(String::new());
    assert!(destinations.take_requeue_requests().one_per_destination_after.is_some());
}
