use futures_util::FutureExt;

use super::*;
use crate::journey::deliver::health::SENT_AWAY;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn limits(connections: u32) -> Limits {
    Limits { connections, messages_per_connection: 10, per_minute: None }
}

/// A place at an operator's only host.
fn take(destinations: &Destinations, limits: Limits, now: Timestamp) -> Taken {
    destinations.take("mx.example", limits, "mx1.mx.example", None, now)
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
        let rest = health.has_failed("no answer", now);
        assert_eq!(now.until(rest.until), Duration::from_secs(seconds));
        assert_eq!(health.has_failed("at the same time", now), rest);
        assert!(matches!(take(&destinations, limits(5), now), Taken::Resting(_)));
        now = rest.until;
        destinations.tidy(now);
    }
    let probe = place(take(&destinations, limits(5), now)).expect("a probe");
    assert!(matches!(take(&destinations, limits(5), now), Taken::Full(_)), "one alone");
    probe.health.is_well();
    let _second = place(take(&destinations, limits(5), now)).expect("all again");
    drop(probe);
}

#[test]
fn hosts_of_one_operator_are_ill_each_for_itself() {
    let destinations = Destinations::default();
    let take = |hosts: &str| destinations.take("operator.example", limits(5), hosts, None, NOW);
    place(take("a.operator.example")).expect("a place").health.has_failed("no answer", NOW);
    assert!(matches!(take("a.operator.example"), Taken::Resting(_)));
    assert!(matches!(take("b.operator.example"), Taken::Place(_)));
}

#[test]
fn one_message_that_is_sent_away_is_no_illness() {
    let destinations = Destinations::default();
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    for _ in 1..SENT_AWAY {
        health.has_sent_away("421", NOW);
        assert!(matches!(take(&destinations, limits(5), NOW), Taken::Place(_)));
    }
    health.has_sent_away("421", NOW);
    assert!(matches!(take(&destinations, limits(5), NOW), Taken::Resting(_)));
}

#[test]
fn a_clock_that_is_set_back_prolongs_no_rest() {
    let destinations = Destinations::default();
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    health.has_failed("no answer", NOW);
    let yesterday = NOW.before(Duration::from_hours(24));
    assert!(matches!(take(&destinations, limits(5), yesterday), Taken::Place(_)));
}

#[test]
fn a_rate_holds_whatever_the_connections() {
    let destinations = Destinations::default();
    let limits = Limits { per_minute: NonZeroU32::new(3), ..limits(100) };
    let taken = (0..10).filter_map(|_| place(take(&destinations, limits, NOW))).count();
    assert_eq!(taken, 3);
    let Taken::Full(wait) = take(&destinations, limits, NOW) else { panic!("it is full") };
    assert!(wait <= Duration::from_secs(20), "{wait:?}");
}

#[test]
fn who_wants_an_attempt_gets_one_while_they_rest_until_they_fail_again() {
    let destinations = Destinations::default();
    let wanting = |wanted: Timestamp, now| {
        destinations.take("mx.example", limits(5), "mx1.mx.example", Some(wanted), now)
    };
    let later = |seconds| NOW.after(Duration::from_secs(seconds));
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    health.has_failed("no answer", NOW);
    assert!(matches!(take(&destinations, limits(5), later(5)), Taken::Resting(_)));
    let probe = place(wanting(later(1), later(5))).expect("a place");
    assert!(matches!(wanting(later(1), later(5)), Taken::Full(_)), "one alone");
    probe.health.has_failed("still no answer", later(5));
    drop(probe);
    assert!(matches!(wanting(later(1), later(6)), Taken::Resting(_)));
    assert!(matches!(wanting(later(6), later(6)), Taken::Place(_)));
}

#[test]
fn what_waits_is_called_when_they_take_mail_again_and_when_they_are_new() {
    let destinations = Destinations::default();
    let calls = || destinations.called().hosts.into_values().collect::<Vec<_>>();
    let health = place(take(&destinations, limits(5), NOW)).expect("a place").health;
    health.is_well();
    assert_eq!(calls(), [32], "since an earlier time");
    destinations.nothing_waits("mx1.mx.example");
    health.is_well();
    assert_eq!(calls(), [0; 0]);
    health.has_failed("no answer", NOW);
    assert_eq!(calls(), [0; 0]);
    health.is_well();
    assert_eq!(calls(), [32]);
    destinations.forget();
    assert!(destinations.called().one_of_each);
}
