use super::*;

const DAY: Duration = Duration::from_hours(24);

fn at(hours: u64) -> Timestamp {
    Timestamp::from_millis(0).after(Duration::from_hours(hours))
}

fn standing(phase: Phase) -> Standing {
    Standing { phase, since: at(0), progress: 0, missing: Vec::new() }
}

fn after(phase: Phase, shown: Shown, hours: u64) -> (Phase, Option<DomainEvent>) {
    let step = Schedule::default().step(&standing(phase), shown, at(hours));
    (step.phase, step.event)
}

#[test]
fn a_complete_check_verifies_from_anywhere_and_says_so_once() {
    for phase in [Phase::Pending, Phase::Warned, Phase::Degraded, Phase::Failed] {
        let verified = (Phase::Verified, Some(DomainEvent::Verified));
        assert_eq!(after(phase, Shown::Complete, 1), verified);
    }
    assert_eq!(after(Phase::Verified, Shown::Complete, 1), (Phase::Verified, None));
}

#[test]
fn what_could_not_be_seen_changes_nothing_however_long() {
    for phase in Phase::ALL {
        assert_eq!(after(phase, Shown::Unclear, 100_000), (phase, None));
    }
}

#[test]
fn a_verified_domain_is_warned_and_degraded_after_the_grace() {
    let warned = (Phase::Warned, Some(DomainEvent::Warning));
    assert_eq!(after(Phase::Verified, Shown::Lacking, 1), warned);
    assert_eq!(after(Phase::Warned, Shown::Lacking, 71), (Phase::Warned, None));
    let degraded = (Phase::Degraded, Some(DomainEvent::Degraded));
    assert_eq!(after(Phase::Warned, Shown::Lacking, 72), degraded);
}

#[test]
fn there_is_no_grace_against_another_account_that_has_proven_the_domain() {
    for phase in [Phase::Verified, Phase::Warned] {
        let degraded = (Phase::Degraded, Some(DomainEvent::Degraded));
        assert_eq!(after(phase, Shown::TakenOver, 0), degraded);
    }
}

#[test]
fn a_domain_that_does_not_send_is_given_up_after_30_days() {
    for phase in [Phase::Pending, Phase::Degraded] {
        assert_eq!(after(phase, Shown::Lacking, 30 * 24 - 1), (phase, None));
        let failed = (Phase::Failed, Some(DomainEvent::Failed));
        assert_eq!(after(phase, Shown::Lacking, 30 * 24), failed);
    }
    assert_eq!(after(Phase::Failed, Shown::Lacking, 9_999), (Phase::Failed, None));
}

fn pause(
    phase: Phase,
    hours: u64,
    unclear: Option<u64>,
    preferred: Option<u64>,
) -> Option<Duration> {
    let step = Step { phase, since: at(0), event: None };
    let preferred = preferred.map(Duration::from_secs);
    Schedule::default().pause(&step, unclear.map(at), preferred, at(hours))
}

#[test]
fn checks_are_fast_at_first_and_daily_later() {
    assert_eq!(pause(Phase::Pending, 0, None, None), Some(Duration::from_mins(1)));
    assert_eq!(pause(Phase::Pending, 4, None, None), Some(Duration::from_hours(1)));
    assert_eq!(pause(Phase::Pending, 20 * 24, None, None), Some(DAY));
    assert_eq!(pause(Phase::Verified, 0, None, None), Some(DAY));
    assert_eq!(pause(Phase::Failed, 0, None, None), None);
}

#[test]
fn the_end_of_the_grace_is_not_slept_through() {
    assert_eq!(pause(Phase::Warned, 71, None, None), Some(Duration::from_hours(1)));
    assert_eq!(pause(Phase::Warned, 80, None, None), Some(Duration::from_mins(1)));
}

#[test]
fn what_cannot_be_seen_is_soon_asked_again_and_a_wish_is_bounded() {
    assert_eq!(pause(Phase::Verified, 48, Some(48), None), Some(Duration::from_mins(1)));
    assert_eq!(pause(Phase::Verified, 48, Some(40), None), Some(Duration::from_hours(2)));
    assert_eq!(pause(Phase::Verified, 48, None, Some(1)), Some(Duration::from_hours(6)));
    assert_eq!(pause(Phase::Verified, 48, None, Some(36_000)), Some(Duration::from_hours(10)));
    assert_eq!(pause(Phase::Pending, 4, None, Some(1)), Some(Duration::from_mins(15)));
    assert_eq!(pause(Phase::Verified, 48, None, Some(u64::from(u32::MAX))), Some(DAY));
}

#[test]
fn pauses_are_spread_by_a_tenth() {
    assert_eq!(spread(Duration::from_secs(1_000), 0), Duration::from_mins(15));
    assert_eq!(spread(Duration::from_secs(1_000), u16::MAX), Duration::from_secs(1_100));
}
