//! A finding for every requirement, and when to look again.

use super::{Finding, Judgement, Observation, Requirement, Status};
use crate::dns::{Reading, read_each};

/// Some resolvers see the record and others do not, or a lookup failed: soon.
const RECHECK_MOVING_S: u32 = 300;
/// A required record that its owner has yet to publish or fix.
const RECHECK_REQUIRED_S: u32 = 900;
/// The domain can send; only advice is open.
const RECHECK_ADVISED_S: u32 = 21_600;
/// All is well: once a day, to notice what was removed.
const RECHECK_SATISFIED_S: u32 = 86_400;

/// Reads every resolver's records for every requirement with `read`.
///
/// A failed lookup is unknown, nothing at the name is missing, and resolvers that disagree are
/// between the old record and the new. The most urgent finding decides when to look again.
pub fn judge_each(
    requirements: &[Requirement],
    seen: &[Observation],
    mut read: impl FnMut(&Requirement, &[String]) -> Reading,
) -> Judgement {
    let mut recheck_after_s = None;
    let mut findings = Vec::new();
    for requirement in requirements {
        let own = seen.iter().filter(|it| it.lookup_id == requirement.id);
        let Reading { status, found, hint } =
            read_each(requirement, own, |records| read(requirement, records));
        let recheck = recheck(requirement, status);
        recheck_after_s = Some(recheck_after_s.map_or(recheck, |it: u32| it.min(recheck)));
        findings.push(Finding { requirement_id: requirement.id.clone(), status, found, hint });
    }
    Judgement { findings, recheck_after_s }
}

const fn recheck(requirement: &Requirement, status: Status) -> u32 {
    match status {
        Status::Propagating | Status::Unknown => RECHECK_MOVING_S,
        Status::Missing | Status::Wrong if requirement.required => RECHECK_REQUIRED_S,
        Status::Missing | Status::Wrong => RECHECK_ADVISED_S,
        Status::Satisfied => RECHECK_SATISFIED_S,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain_policy::records::{dmarc, ownership};
    use crate::domain_policy::{Outcome, Status};
    use crate::testing::{answered, domain, observed};

    fn judged(seen: &[Observation]) -> (Vec<Status>, Option<u32>) {
        let domain = domain("example.com");
        let needs = [ownership(&domain), dmarc(&domain, "v=DMARC1; p=reject")];
        let judgement = judge_each(&needs, seen, Reading::of_suggested_value);
        (judgement.findings.iter().map(|it| it.status).collect(), judgement.recheck_after_s)
    }

    #[test]
    fn the_most_urgent_finding_decides_when_to_look_again() {
        let own = answered("ownership", &["waxwing-verification=tok3n"]);
        let policy = answered("dmarc", &["v=DMARC1;p=reject"]);
        let both = judged(&[own.clone(), policy.clone()]);
        assert_eq!(both, (vec![Status::Satisfied; 2], Some(RECHECK_SATISFIED_S)));
        let missing = judged(&[own.clone(), observed("dmarc", Outcome::NxDomain)]);
        assert_eq!(missing, (vec![Status::Satisfied, Status::Missing], Some(RECHECK_REQUIRED_S)));
        let failed = judged(&[own.clone(), observed("dmarc", Outcome::ServFail)]);
        assert_eq!(failed, (vec![Status::Satisfied, Status::Unknown], Some(RECHECK_MOVING_S)));
        let spreading = judged(&[own, policy, observed("dmarc", Outcome::NxDomain)]);
        assert_eq!(spreading.0, [Status::Satisfied, Status::Propagating]);
    }
}
