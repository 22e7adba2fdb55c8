use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::*;
use crate::account::idempotency::Idempotency;
use crate::store::test_data;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const RULES: Rules = Rules { credits_low: Credits(2) };

fn message(price: i64) -> NewMessage {
    NewMessage { price: Credits(price), ..test_data::new_message(NOW) }
}

fn job(account: AccountId, messages: Vec<NewMessage>) -> Job {
    test_data::job(7, account, messages, NOW)
}

fn facts(account: AccountId, balance: i64) -> CommitFacts {
    CommitFacts {
        revisions: HashMap::from([(account, 7)]),
        balances: HashMap::from([(account, balance)]),
        thresholds: HashMap::new(),
        suppressed: HashSet::new(),
        answers: HashMap::new(),
    }
}

fn answers<'a>(verdict: &'a JobVerdict<'_>) -> &'a [Answer] {
    match &verdict.outcome {
        JobOutcome::Answered(answers) => answers,
        other @ (JobOutcome::Replayed(_) | JobOutcome::KeyConflict | JobOutcome::Stale) => {
            unreachable!("{other:?}")
        }
    }
}

#[test]
fn a_job_sees_the_debits_of_the_jobs_before_it() {
    let account = AccountId::new(NOW);
    let jobs = [job(account, vec![message(2)]), job(account, vec![message(2), message(1)])];
    let verdict = decide(RULES, &jobs, facts(account, 3), NOW);
    let refused = Answer::Insufficient { required: Credits(2), balance: Credits(1) };
    assert_eq!(answers(&verdict.jobs[1])[0], refused, "the smaller one is still paid");
    assert_eq!(verdict.accepted.iter().map(|it| it.charged.0).collect::<Vec<_>>(), [2, 1]);
    let kinds: Vec<CreditEventKind> = verdict.credit_events.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [CreditEventKind::Low, CreditEventKind::Exhausted]);
}

#[test]
fn messages_that_stand_together_are_all_refused_where_one_cannot_be_paid() {
    let account = AccountId::new(NOW);
    let mut together = job(account, vec![message(2), message(2)]);
    together.acceptance = Acceptance::Together;
    let jobs = [together];
    let verdict = decide(RULES, &jobs, facts(account, 3), NOW);
    let refused = Answer::Insufficient { required: Credits(4), balance: Credits(3) };
    assert_eq!(answers(&verdict.jobs[0]), [refused.clone(), refused]);
    assert!(verdict.accepted.is_empty() && verdict.credit_events.is_empty());
}

#[test]
fn a_suppressed_recipient_costs_nothing_and_is_never_due() {
    let account = AccountId::new(NOW);
    let mut facts = facts(account, 0);
    facts.suppressed.insert((account, "ada@example.com".to_owned()));
    let jobs = [job(account, vec![message(5)])];
    let verdict = decide(RULES, &jobs, facts, NOW);
    let accepted = &verdict.accepted[0];
    assert_eq!((accepted.state, accepted.charged.0), (MessageState::Suppressed, 0));
    assert_eq!(accepted.due_at, None);
}

#[test]
fn a_message_waits_for_a_moment_in_the_future_only() {
    let account = AccountId::new(NOW);
    let later = NOW.after(Duration::from_mins(1));
    let mut messages = vec![message(1), message(1)];
    messages[0].send_at = Some(later);
    messages[1].send_at = Some(NOW);
    let jobs = [job(account, messages)];
    let verdict = decide(RULES, &jobs, facts(account, 9), NOW);
    let starts: Vec<_> = verdict.accepted.iter().map(|it| (it.state, it.due_at)).collect();
    let expected = [(MessageState::Scheduled, Some(later)), (MessageState::Queued, Some(NOW))];
    assert_eq!(starts, expected);
}

#[test]
fn a_decision_on_older_facts_is_stale_even_if_answered_before() {
    let account = AccountId::new(NOW);
    let mut stale = job(account, vec![message(1)]);
    stale.revision = 6;
    let jobs = [stale];
    let verdict = decide(RULES, &jobs, facts(account, 9), NOW);
    assert_eq!(verdict.jobs[0].outcome, JobOutcome::Stale);
}

#[test]
fn an_idempotency_key_is_kept_for_what_was_accepted_only() {
    let account = AccountId::new(NOW);
    let with_key = |price, hash| {
        let mut job = job(account, vec![message(price)]);
        job.idempotency = Some(Idempotency { key: "k".to_owned(), body_hash: [hash; 32] });
        job
    };
    let jobs = [with_key(9, 1), with_key(1, 1), with_key(1, 1), with_key(1, 2)];
    let verdict = decide(RULES, &jobs, facts(account, 5), NOW);
    let kept: Vec<bool> = verdict.jobs.iter().map(|it| it.kept_under.is_some()).collect();
    assert_eq!(kept, [false, true, false, false]);
    let first = answers(&verdict.jobs[1]).to_vec();
    assert_eq!(verdict.jobs[2].outcome, JobOutcome::Replayed(first));
    assert_eq!(verdict.jobs[3].outcome, JobOutcome::KeyConflict);
    assert_eq!(verdict.answers_until, NOW.after(Duration::from_hours(24)));
}

#[test]
fn the_first_event_names_ten_blank_variables_and_counts_the_others() {
    let blank: Vec<String> = (0..12).map(|n| format!("v{n}")).collect();
    assert_eq!(with_blanks("accepted", &[]), "accepted");
    assert_eq!(with_blanks("accepted", &blank[..1]), "accepted; left blank: v0");
    let named = with_blanks("accepted", &blank);
    assert!(named.ends_with("v9 and 2 more"), "{named}");
}
