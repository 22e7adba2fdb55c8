//! DKIM rotation: a new pair is published beside the old one, signs once it was seen in DNS, and the
//! old one stays published until the mail that it signed has arrived.

use std::time::Duration;

use super::Verifier;
use super::error::DomainError;
use super::judge::is_satisfied;
use super::keys::{is_published, record_name};
use super::lookups::Lookups;
use crate::clock::Timestamp;
use crate::domain::key::{DkimKey, KeyPhase};
use crate::domain::name::DomainName;
use crate::domain::state::{DomainKind, Phase};
use crate::plugin::domain::{Finding, Requirement};
use crate::store::{Checked, DomainDetails, OtherDomains};

/// How often a rotation is begun again beside checks that are written at the same time.
const MAX_TRIES: usize = 5;
/// Retired keys of a domain, whose records its holder has to keep: five pairs.
const MAX_RETIRED_KEYS: usize = 10;
/// How long a record is still needed after its key has signed the last message: receivers that defer
/// a message for days verify it late.
pub const RETIRED_KEY_TIME: Duration = Duration::from_hours(7 * 24);

impl Verifier {
    /// Begins a rotation. One that has begun goes on with the same keys. A domain that does not send
    /// signs nothing meanwhile, so its new keys sign at once when it does.
    pub async fn rotate(&self, details: DomainDetails) -> Result<DomainDetails, DomainError> {
        let domain = details.row.domain.clone();
        if domain.kind == DomainKind::Sandbox {
            return Err(DomainError::Sandbox);
        }
        let now = self.clock.now();
        let pair = self.pair(domain.id, KeyPhase::Next, now).await?;
        let mut current = Some(details);
        for _ in 0..MAX_TRIES {
            let Some(details) = current else { break };
            if details.keys.iter().any(|key| key.phase == KeyPhase::Next) {
                return Ok(details);
            }
            let retired = details.keys.iter().filter(|key| key.phase == KeyPhase::Retired);
            if retired.count() >= MAX_RETIRED_KEYS {
                return Err(DomainError::RotatedTooOften);
            }
            let Some(check) = details.check.clone() else { break };
            let standing = &details.row.domain.standing;
            let mut keys = pair.clone();
            if standing.may_send() {
                keys.extend(details.keys);
            } else {
                for key in &mut keys {
                    key.phase = KeyPhase::Signing;
                }
                // One that was never verified has signed nothing.
                if standing.phase != Phase::Pending {
                    keys.extend(details.keys.iter().map(|key| retire(key, now)));
                }
            }
            let (keys, others) = (Some(keys), OtherDomains::Untouched);
            let checked = Checked { row: None, check, keys, event: None, others };
            if self.store.record_check(domain.id, &checked, now).await? {
                tracing::info!(domain = %domain.name, "DKIM key rotation started");
                // What to publish for the new keys is the policy's to say.
                return self.check(domain.id).await?.ok_or(DomainError::Busy);
            }
            // A check was written meanwhile.
            current = self.store.domain_details(domain.id).await?;
        }
        Err(DomainError::Busy)
    }
}

/// The keys after a check, if any has moved: the next pair signs when the host has seen both of its
/// records and the policy finds nothing wrong with them; what has been retired for long is dropped.
pub fn advance(
    domain: &DomainName,
    keys: &[DkimKey],
    lookups: &Lookups,
    judged: (&[Requirement], &[Finding]),
    now: Timestamp,
) -> Option<Vec<DkimKey>> {
    let next = || keys.iter().filter(|key| key.phase == KeyPhase::Next);
    let ready = next().next().is_some()
        && next().all(|key| {
            is_published(domain, key, lookups) && !is_faulted(&record_name(domain, key), judged)
        });
    let is_over =
        |key: &DkimKey| key.phase == KeyPhase::Retired && now >= key.since.after(RETIRED_KEY_TIME);
    if !ready && !keys.iter().any(is_over) {
        return None;
    }
    let moved = |key: &DkimKey| match key.phase {
        KeyPhase::Next if ready => DkimKey { phase: KeyPhase::Signing, since: now, ..key.clone() },
        KeyPhase::Signing if ready => retire(key, now),
        KeyPhase::Next | KeyPhase::Signing | KeyPhase::Retired => key.clone(),
    };
    Some(keys.iter().filter(|key| !is_over(key)).map(moved).collect())
}

/// Its private half is of no use any more to anybody who should have it.
fn retire(key: &DkimKey, now: Timestamp) -> DkimKey {
    match key.phase {
        KeyPhase::Retired => key.clone(),
        KeyPhase::Next | KeyPhase::Signing => {
            DkimKey { phase: KeyPhase::Retired, since: now, sealed: Vec::new(), ..key.clone() }
        }
    }
}

fn is_faulted(name: &str, (requirements, findings): (&[Requirement], &[Finding])) -> bool {
    let mut of_key = requirements.iter().filter(|it| it.name.eq_ignore_ascii_case(name));
    of_key.any(|requirement| !is_satisfied(requirement, findings))
}
