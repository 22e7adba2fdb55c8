//! A finding for every requirement, or the lookups that a finding still waits for.

use waxwing_plugin::dns::{Reading, read_each};
use waxwing_plugin::domain_policy::{Finding, Judgement, Observation, Status, Verdict};

use crate::requirements::{Need, Rule};
use crate::seen::Seen;
use crate::{dkim, dmarc, ownership, return_path, spf};

/// A record that some resolvers see, or whose lookup failed: soon.
const RECHECK_MOVING_S: u32 = 300;
/// A required record that its owner has yet to publish or fix.
const RECHECK_REQUIRED_S: u32 = 900;
/// The domain can send; only advice is open.
const RECHECK_ADVISED_S: u32 = 21_600;
/// All is well: once a day, to notice what was removed.
const RECHECK_SATISFIED_S: u32 = 86_400;

/// Judges all that was seen against all that is needed.
pub fn judge(needs: &[Need], observations: &[Observation]) -> Verdict {
    let own: Vec<&str> = needs.iter().map(|it| it.requirement.id.as_str()).collect();
    let mut seen = Seen::new(observations, &own);
    let return_path = return_path_in_place(needs, &mut seen);
    let readings: Vec<Reading> =
        needs.iter().map(|it| reading(it, return_path, &mut seen)).collect();
    let further = seen.into_further();
    if !further.is_empty() {
        return Verdict::Need(further);
    }
    let recheck_after_s = recheck(needs, &readings);
    let findings = needs.iter().zip(readings).map(|(need, it)| Finding {
        requirement_id: need.requirement.id.clone(),
        status: it.status,
        found: it.found,
        hint: it.hint,
    });
    Verdict::Decided(Judgement { findings: findings.collect(), recheck_after_s })
}

fn reading(need: &Need, return_path: Option<&str>, seen: &mut Seen<'_>) -> Reading {
    let own = &need.requirement;
    match &need.rule {
        Rule::Ownership { token } => {
            read_each(own, seen.of(&own.id), |it| ownership::judge(own, token, it))
        }
        Rule::Dkim(key) => read_each(own, seen.of(&own.id), |it| dkim::judge(own, key, it)),
        Rule::Spf { include } => spf::judge(own, include, return_path, seen),
        Rule::ReturnPath { target } => return_path::judge(own, target, seen),
        Rule::Dmarc { organizational } => dmarc::judge(own, organizational.as_deref(), seen),
    }
}

/// The return path's name, if its CNAME is right: SPF may then hold through it.
fn return_path_in_place<'a>(needs: &'a [Need], seen: &mut Seen<'_>) -> Option<&'a str> {
    needs.iter().find_map(|need| match &need.rule {
        Rule::ReturnPath { target } => {
            let reading = return_path::judge(&need.requirement, target, seen);
            (reading.status == Status::Satisfied).then_some(need.requirement.name.as_str())
        }
        Rule::Ownership { .. } | Rule::Dkim(_) | Rule::Spf { .. } | Rule::Dmarc { .. } => None,
    })
}

/// Seconds to the next check; the most urgent finding decides. None where there is nothing to check.
fn recheck(needs: &[Need], readings: &[Reading]) -> Option<u32> {
    let each = needs.iter().zip(readings).map(|(need, it)| match it.status {
        Status::Propagating | Status::Unknown => RECHECK_MOVING_S,
        Status::Missing | Status::Wrong if need.requirement.required => RECHECK_REQUIRED_S,
        Status::Missing | Status::Wrong => RECHECK_ADVISED_S,
        Status::Satisfied => RECHECK_SATISFIED_S,
    });
    each.min()
}

#[cfg(test)]
mod tests;
