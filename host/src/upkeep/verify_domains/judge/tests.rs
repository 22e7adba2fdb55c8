use serde_json::json;

use super::*;
use crate::clock::Timestamp;
use crate::dns::{Answer, Observation};
use crate::domain::state::{Phase, Standing};
use crate::id::{AccountId, DomainId};
use crate::plugin::domain::RecordType;
use crate::upkeep::verify_domains::lookups::MadeLookup;

const NOW: Timestamp = Timestamp::from_millis(0);
const TOKEN: &str = "0123456789abcdef";

fn domain(kind: DomainKind) -> SenderDomain {
    SenderDomain {
        id: DomainId::new(NOW),
        account_id: AccountId::new(NOW),
        name: "example.com".parse().expect("a name"),
        kind,
        verification_token: TOKEN.to_owned(),
        standing: Standing { phase: Phase::Pending, since: NOW, progress: 0, missing: Vec::new() },
        created_at: NOW,
    }
}

fn requirement(id: &str, purpose: Purpose) -> Requirement {
    Requirement {
        id: id.to_owned(),
        purpose,
        required: true,
        name: format!("{id}.example.com"),
        record_type: RecordType::Txt,
        suggested_value: String::new(),
        help: String::new(),
    }
}

fn finding(id: &str, status: Status) -> Finding {
    Finding { requirement_id: id.to_owned(), status, found: Vec::new(), hint: String::new() }
}

fn seen(name: &str, outcome: Outcome, chain: &[&str]) -> Lookups {
    let seen = Observation {
        resolver: String::new(),
        outcome,
        cname_chain: chain.iter().map(|it| (*it).to_owned()).collect(),
        dnssec_secure: false,
        at: NOW,
    };
    let (id, name) = ("own".to_owned(), name.to_owned());
    Lookups::of_tests(vec![MadeLookup { id, name, record_type: RecordType::Txt, seen }])
}

fn with_token() -> Outcome {
    let data = format!("\"waxwing-verify={TOKEN}\"");
    Outcome::Answers(vec![Answer { data, ttl: 60 }])
}

fn judged(findings: &[Finding], lookups: &Lookups, before: &[&str]) -> Judgement {
    judged_at("own.example.com", findings, lookups, before)
}

fn judged_at(name: &str, findings: &[Finding], lookups: &Lookups, before: &[&str]) -> Judgement {
    let own = Requirement { name: name.to_owned(), ..requirement("own", Purpose::Ownership) };
    let required = [own, requirement("spf", Purpose::Spf)];
    let before = before.iter().map(|it| (*it).to_owned()).collect();
    judge(&domain(DomainKind::Dns), &[], &required, findings, lookups, &before)
}

fn content() -> [Finding; 2] {
    [finding("own", Status::Satisfied), finding("spf", Status::Satisfied)]
}

#[test]
fn a_policy_that_asks_for_nothing_verifies_nothing() {
    let (lookups, none) = (Lookups::begin(), HashSet::new());
    let dns = judge(&domain(DomainKind::Dns), &[], &[], &[], &lookups, &none);
    assert_eq!((dns.progress, dns.missing.len(), dns.lacks), (0, 1, false));
    let sandbox = judge(&domain(DomainKind::Sandbox), &[], &[], &[], &lookups, &none);
    assert_eq!((sandbox.progress, sandbox.missing.len()), (100, 0));
}

#[test]
fn only_satisfied_required_records_count() {
    let lookups = seen("own.example.com", with_token(), &[]);
    let half =
        judged(&[finding("own", Status::Satisfied), finding("spf", Status::Wrong)], &lookups, &[]);
    assert_eq!((half.progress, half.lacks, half.lacks_ownership), (50, true, false));
    assert_eq!(half.missing, ["SPF (spf.example.com)"]);
    assert_eq!(judged(&content(), &lookups, &[]).progress, 100);
}

#[test]
fn a_policy_that_is_content_with_everything_proves_nothing() {
    for (name, outcome, chain) in [
        ("own.example.com", Outcome::Answers(Vec::new()), &[][..]),
        ("own.example.org", with_token(), &[]),
        ("own.notexample.com", with_token(), &[]),
        ("own.example.com", with_token(), &["proof.example.org"]),
        ("own.example.com", Outcome::NxDomain, &[]),
    ] {
        let judgement = judged_at(name, &content(), &seen(name, outcome, chain), &[]);
        assert_eq!((judgement.progress, judgement.lacks_ownership), (50, true), "{name} {chain:?}");
    }
    let gone = seen("own.example.com", Outcome::NxDomain, &[]);
    let silent = [finding("spf", Status::Satisfied)];
    assert!(judged(&silent, &gone, &[]).lacks_ownership, "a policy that will not see it");
    let inside = seen("own.example.com", with_token(), &["a.example.com"]);
    assert_eq!(judged(&content(), &inside, &[]).progress, 100);
}

#[test]
fn what_cannot_be_seen_neither_lacks_nor_completes() {
    let lookups = seen("own.example.com", Outcome::TimedOut, &[]);
    let unclear = judged(&content(), &lookups, &["own"]);
    assert_eq!((unclear.progress, unclear.lacks, unclear.missing.len()), (99, false, 1));
    assert_eq!(judged(&content(), &lookups, &[]).progress, 50);
    let silent = judged(&[], &seen("own.example.com", with_token(), &[]), &[]);
    assert_eq!((silent.progress, silent.lacks), (0, false), "a policy without findings");
}

#[test]
fn a_proof_that_was_asked_for_before_is_gone_for_the_host_alone() {
    let row = |name: &str| DomainRow {
        domain: domain(DomainKind::Dns),
        requirements: json!([{"id": "own", "required": true, "purpose": "ownership", "type": "TXT",
                              "name": name}]),
        decision: json!({}),
    };
    let gone = |name: &str, outcome| {
        let lookups = seen("own.example.com", outcome, &[]);
        let mut judgement = Judgement::unchanged(&row(name).domain.standing);
        judgement.disown(&row(name), &lookups);
        judgement.lacks_ownership
    };
    let own = "own.example.com";
    for outcome in [Outcome::NxDomain, Outcome::NoData, Outcome::Answers(Vec::new())] {
        assert!(gone(own, outcome.clone()));
        assert!(!gone("elsewhere.example.com", outcome), "a new policy asks for it elsewhere");
    }
    assert!(!gone(own, with_token()) && !gone(own, Outcome::ServFail));
}
