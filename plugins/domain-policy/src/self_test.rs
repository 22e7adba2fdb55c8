//! Checks over a made-up domain with the operator's own settings.

use waxwing_plugin::dns::{is_within, same_host};
use waxwing_plugin::domain_policy::{
    DkimKey, Domain, Finding, Observation, Outcome, Status, Verdict,
};
use waxwing_plugin::testing::{answered, domain, observed};
use waxwing_plugin::{Pair, SelfTestResult, self_check};

use crate::judgement::judge;
use crate::requirements::{Need, needs};
use crate::settings::Settings;

/// Every check; the host activates the policy only if all pass.
pub fn run(settings: &Settings) -> Vec<SelfTestResult> {
    let domain = both_keys("self-test.example");
    let made_up = match needs(settings, &domain) {
        Ok(made_up) => made_up,
        Err(failure) => {
            return vec![self_check("a domain has requirements", Err(format!("{failure:?}")))];
        }
    };
    let all_published = published(&made_up);
    let nothing = every(&made_up, &Outcome::NxDomain);
    let no_answer = every(&made_up, &Outcome::ServFail);
    vec![
        self_check("ownership is required", ownership(&made_up)),
        self_check("all names are inside the domain", inside(&made_up, &domain.name)),
        self_check("the suggested values can stand side by side", side_by_side(&made_up)),
        self_check(
            "the suggested values satisfy",
            all(&made_up, &all_published, Status::Satisfied),
        ),
        self_check("no records are missing", all(&made_up, &nothing, Status::Missing)),
        self_check("a failed lookup is unknown", all(&made_up, &no_answer, Status::Unknown)),
        self_check("what was not looked up is unknown", all(&made_up, &[], Status::Unknown)),
        self_check("other records never satisfy", others(&made_up)),
        self_check("a sandbox domain needs nothing", sandbox(settings)),
    ]
}

fn ownership(needs: &[Need]) -> Result<(), String> {
    let required =
        needs.iter().any(|it| it.requirement.id == "ownership" && it.requirement.required);
    required.then_some(()).ok_or_else(|| "there is no required ownership record".to_owned())
}

/// A domain as the host gives it: with a key of each algorithm.
fn both_keys(name: &str) -> Domain {
    let mut domain = domain(name);
    domain.dkim.push(DkimKey {
        selector: "wx2".to_owned(),
        public_key_base64: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".to_owned(),
        algorithm: "ed25519-sha256".to_owned(),
    });
    domain
}

fn inside(needs: &[Need], domain: &str) -> Result<(), String> {
    match needs.iter().find(|it| !is_within(&it.requirement.name, domain)) {
        None => Ok(()),
        Some(need) => Err(format!("{} is at {}", need.requirement.id, need.requirement.name)),
    }
}

/// RFC 1034 section 3.6.2: a name with a CNAME has no other record.
fn side_by_side(needs: &[Need]) -> Result<(), String> {
    for (index, one) in needs.iter().enumerate() {
        for other in needs.iter().skip(index + 1) {
            let (one, other) = (&one.requirement, &other.requirement);
            if same_host(&one.name, &other.name) {
                return Err(format!("{} and {} share {}", one.id, other.id, one.name));
            }
        }
    }
    Ok(())
}

fn all(needs: &[Need], seen: &[Observation], expected: Status) -> Result<(), String> {
    for finding in decided(needs, seen)? {
        if finding.status != expected {
            return Err(format!("expected {expected:?}: {finding:?}"));
        }
    }
    Ok(())
}

fn others(needs: &[Need]) -> Result<(), String> {
    for need in needs {
        let mut seen = published(needs);
        seen.retain(|it| it.lookup_id != need.requirement.id);
        seen.push(answered(&need.requirement.id, &["something.else.example"]));
        // What SPF and DMARC may fall back on is not there either.
        seen.push(observed(crate::spf::THROUGH_RETURN_PATH, Outcome::NxDomain));
        seen.push(observed(crate::dmarc::INHERITED, Outcome::NxDomain));
        for finding in decided(needs, &seen)? {
            let own = finding.requirement_id == need.requirement.id;
            if own == (finding.status == Status::Satisfied) {
                return Err(format!(
                    "with another record for {}: {finding:?}",
                    need.requirement.id
                ));
            }
        }
    }
    Ok(())
}

fn sandbox(settings: &Settings) -> Result<(), String> {
    let extra = vec![Pair { key: "sandbox".to_owned(), value: "true".to_owned() }];
    match needs(settings, &Domain { extra, ..domain("sandbox.example") }) {
        Ok(needs) if needs.is_empty() => Ok(()),
        Ok(needs) => Err(format!("it has {} requirements", needs.len())),
        Err(failure) => Err(format!("{failure:?}")),
    }
}

/// Every suggested value, published.
fn published(needs: &[Need]) -> Vec<Observation> {
    let answer = |it: &Need| answered(&it.requirement.id, &[&it.requirement.suggested_value]);
    needs.iter().map(answer).collect()
}

fn every(needs: &[Need], outcome: &Outcome) -> Vec<Observation> {
    needs.iter().map(|it| observed(&it.requirement.id, outcome.clone())).collect()
}

fn decided(needs: &[Need], seen: &[Observation]) -> Result<Vec<Finding>, String> {
    match judge(needs, seen) {
        Verdict::Decided(judgement) => Ok(judgement.findings),
        Verdict::Need(more) => Err(format!("it asks for more: {more:?}")),
    }
}
