use std::num::NonZeroU32;

use futures_util::FutureExt;

use super::*;
use crate::delivery::shaping::backoff::SENT_AWAY;
use crate::delivery::shaping::memory_budget::Repute;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn limits(connections: u32) -> Limits {
    Limits { connections, messages_per_connection: 10, per_minute: None }
}

fn account() -> AccountId {
    AccountId::new(NOW)
}

/// A wish for a place at the operator's own host.
fn wish(limits: Limits) -> Wish<'static> {
    Wish {
        name: "mx.example",
        limits,
        hosts: "mx1.mx.example",
        is_ours: true,
        account: account(),
        wanted: None,
    }
}

fn take(destinations: &Destinations, limits: Limits, now: Timestamp) -> Taken {
    destinations.take(&wish(limits), now)
}

fn place(taken: Taken) -> Option<Place> {
    match taken {
        Taken::Place(place) => Some(place),
        Taken::Full(_) | Taken::Resting(_) => None,
    }
}

#[tokio::test]
async fn a_line_is_bounded_and_its_turns_are_the_connections() {
    let destinations = Destinations::default();
    let mut line: Vec<Place> =
        (0..4).filter_map(|_| place(take(&destinations, limits(2), NOW))).collect();
    assert_eq!(line.len(), 4);
    assert!(matches!(take(&destinations, limits(2), NOW), Taken::Full(_)));
    let destination = Arc::clone(&line[0].destination);
    let (one, _two) = (destination.turn().await, destination.turn().await);
    assert!(destination.turn().now_or_never().is_none(), "two connections are in use");
    drop(one);
    assert!(destination.turn().now_or_never().is_some());
    line.pop();
    assert!(place(take(&destinations, limits(2), NOW)).is_some());
}

#[test]
fn rests_grow_to_their_bound_and_one_probe_ends_them() {
    let destinations = Destinations::default();
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    let mut now = NOW;
    for seconds in [15, 30, 60, 120, 240, 480, 600, 600] {
        let rest = health.has_failed("no answer", now, now).expect("it counts");
        assert_eq!(now.until(rest.until), Duration::from_secs(seconds));
        assert_eq!(health.has_failed("at the same time", now, now), Some(rest.clone()));
        assert!(matches!(take(&destinations, limits(5), now), Taken::Resting(_)));
        now = rest.until;
        destinations.tidy(now);
    }
    let probe = place(take(&destinations, limits(5), now)).expect("a probe");
    assert!(matches!(take(&destinations, limits(5), now), Taken::Full(_)), "one alone");
    probe.health.is_well(account(), NOW);
    let _second = place(take(&destinations, limits(5), now)).expect("all again");
    drop(probe);
}

#[test]
fn hosts_of_one_operator_are_ill_each_for_itself() {
    let destinations = Destinations::default();
    let take = |hosts| destinations.take(&Wish { hosts, ..wish(limits(5)) }, NOW);
    place(take("a.operator.example")).expect("a place").health.has_failed("no answer", NOW, NOW);
    assert!(matches!(take("a.operator.example"), Taken::Resting(_)));
    assert!(matches!(take("b.operator.example"), Taken::Place(_)));
}

#[test]
fn an_account_whose_mail_is_sent_away_waits_alone() {
    let destinations = Destinations::default();
    let (one, two) = (account(), account());
    let take = |account, now| destinations.take(&Wish { account, ..wish(limits(5)) }, now);
    let health = place(take(one, NOW)).expect("a place").health;
    for _ in 1..SENT_AWAY {
        health.has_sent_away(one, "421", NOW);
        assert!(matches!(take(one, NOW), Taken::Place(_)), "it may be the message");
    }
    health.has_sent_away(one, "421", NOW);
    let Taken::Resting(rest) = take(one, NOW) else { panic!("it waits") };
    assert!(rest.hosts.ends_with(&format!("for {one}")), "{}", rest.hosts);
    assert!(matches!(take(two, NOW), Taken::Place(_)), "others do not");
    health.is_well(two, NOW);
    assert!(matches!(take(one, NOW), Taken::Resting(_)));
    let later = rest.until;
    assert!(matches!(take(one, later), Taken::Place(_)));
    health.has_sent_away(one, "421", later);
    health.has_sent_away(one, "421", later);
    assert!(matches!(take(one, later), Taken::Resting(_)), "two are enough now");
    let _called_before = destinations.called();
    health.is_well(one, NOW);
    assert!(matches!(take(one, later), Taken::Place(_)));
    assert!(destinations.called().hosts.contains_key(&rest.hosts), "what waited goes on");
}

#[test]
fn hosts_that_hang_again_and_again_rest() {
    let destinations = Destinations::default();
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    for _ in 0..2 {
        health.has_hung("no answer in time at RCPT", NOW, NOW);
        health.has_hung("no answer in time at RCPT", NOW, NOW);
        assert!(matches!(take(&destinations, limits(5), NOW), Taken::Place(_)));
        health.is_well(account(), NOW);
    }
    for _ in 0..3 {
        health.has_hung("no answer in time at RCPT", NOW, NOW);
    }
    assert!(matches!(take(&destinations, limits(5), NOW), Taken::Resting(_)));
}

#[test]
fn hosts_of_which_nothing_is_known_are_tried_by_one_and_by_another_if_that_takes_long() {
    let destinations = Destinations::default();
    let strangers = Wish { is_ours: false, ..wish(limits(5)) };
    let first = place(destinations.take(&strangers, NOW)).expect("a place");
    assert!(first.health.repute() == Repute::Unknown);
    assert!(matches!(destinations.take(&strangers, NOW), Taken::Full(_)));
    let later = NOW.after(Duration::from_secs(10));
    let _second = place(destinations.take(&strangers, later)).expect("a place");
    assert!(matches!(destinations.take(&strangers, later), Taken::Full(_)));
    first.health.is_well(account(), later);
    assert!(first.health.repute() == Repute::Known);
    assert!(matches!(destinations.take(&strangers, later), Taken::Place(_)));
}

#[test]
fn the_end_of_a_rest_is_told_once() {
    let destinations = Destinations::default();
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    let rest = health.has_failed("no answer", NOW, NOW).expect("it counts");
    let told = |now| {
        destinations.look_for_ended_rests(now);
        destinations.called().probes
    };
    assert!(told(NOW).is_empty());
    assert_eq!(told(rest.until), ["mx1.mx.example".to_owned()].into());
    assert!(told(rest.until).is_empty());
}

#[test]
fn a_clock_that_is_set_back_prolongs_no_rest() {
    let destinations = Destinations::default();
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    health.has_failed("no answer", NOW, NOW);
    let yesterday = NOW.before(Duration::from_hours(24));
    assert!(matches!(take(&destinations, limits(5), yesterday), Taken::Place(_)));
}

#[test]
fn who_failed_before_they_were_well_says_nothing_and_a_clock_that_is_set_back_changes_that() {
    let destinations = Destinations::default();
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    let well = NOW.after(Duration::from_secs(20));
    health.is_well(account(), well);
    assert_eq!(health.has_failed("no answer", NOW, well.after(Duration::from_secs(9))), None);
    assert!(matches!(take(&destinations, limits(5), well), Taken::Place(_)));
    let yesterday = NOW.before(Duration::from_hours(24));
    assert!(health.has_failed("no answer", yesterday, yesterday).is_some());
}

#[test]
fn a_rate_holds_whatever_the_connections() {
    let destinations = Destinations::default();
    let limits = Limits { per_minute: NonZeroU32::new(3), ..limits(100) };
    let destination = place(take(&destinations, limits, NOW)).expect("a place").destination;
    assert_eq!((0..10).filter_map(|_| destination.pace().ok()).count(), 3);
    let wait = destination.pace().expect_err("there have been enough");
    assert!(wait <= Duration::from_secs(20), "{wait:?}");
}

#[test]
fn who_wants_an_attempt_gets_one_while_they_rest_until_they_fail_again() {
    let destinations = Destinations::default();
    let wanting = |wanted: Timestamp, now| {
        destinations.take(&Wish { wanted: Some(wanted), ..wish(limits(5)) }, now)
    };
    let later = |seconds| NOW.after(Duration::from_secs(seconds));
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    health.has_failed("no answer", NOW, NOW);
    assert!(matches!(take(&destinations, limits(5), later(5)), Taken::Resting(_)));
    let probe = place(wanting(later(1), later(5))).expect("a place");
    assert!(matches!(wanting(later(1), later(5)), Taken::Full(_)), "one alone");
    probe.health.has_failed("still no answer", later(5), later(5));
    drop(probe);
    assert!(matches!(wanting(later(1), later(6)), Taken::Resting(_)));
    assert!(matches!(wanting(later(6), later(6)), Taken::Place(_)));
}

#[test]
fn what_waits_is_called_when_they_take_mail_again_and_when_they_are_new() {
    let destinations = Destinations::default();
    let of_hosts = |it: (String, u32)| (!it.0.contains(" for ")).then_some(it.1);
    let calls = || destinations.called().hosts.into_iter().filter_map(of_hosts).collect::<Vec<_>>();
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    health.is_well(account(), NOW);
    assert_eq!(calls(), [32], "since an earlier time");
    destinations.nothing_waits("mx1.mx.example");
    health.is_well(account(), NOW);
    assert_eq!(calls(), [0; 0]);
    health.has_failed("no answer", NOW, NOW);
    assert_eq!(calls(), [0; 0]);
    health.is_well(account(), NOW);
    assert_eq!(calls(), [32]);
    destinations.wakes().call_one_of_each(String::new());
    assert!(destinations.called().one_of_each.is_some());
}
