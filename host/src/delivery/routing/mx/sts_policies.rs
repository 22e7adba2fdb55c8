//! The MTA-STS policies of domains (RFC 8461 section 5.1). A fetched policy holds until it expires,
//! even while DNS or the policy host fail: otherwise whoever can block them could downgrade mail.

use std::time::Duration;

use moka::sync::Cache;

use super::lookup_failure::LookupFailure;
use super::mta_sts_fetch::{StsFetchError, StsPolicyFetcher};
use super::ttl::MAX_TTL;
use crate::clock::{Clock, Timestamp};
use crate::dns::{RecordType, Resolver, text};
use crate::mail::mta_sts::{Mode, StsPolicy, record_id};
use crate::store::{Store, StsRow};

/// How often a policy is fetched again although its `id` is the same (section 10.2).
const REFRESH_AFTER: Duration = Duration::from_hours(24);
/// The pause after a policy host failed, and the most failures that are remembered.
const RETRY_PAUSE: Duration = Duration::from_mins(5);
const MAX_FAILED_HOSTS: u64 = 100_000;

#[derive(Debug)]
pub struct StsPolicies {
    resolver: Resolver,
    store: Store,
    fetcher: StsPolicyFetcher,
    clock: Clock,
    /// When a domain's policy host failed.
    failed: Cache<String, Timestamp>,
}

/// The policy in force for a domain.
#[derive(Debug)]
pub(super) struct AppliedPolicy {
    /// None also for a policy of mode `none`.
    pub(super) policy: Option<StsPolicy>,
    /// When the policy must be checked again.
    pub(super) until: Timestamp,
}

#[derive(Debug)]
struct CachedPolicy {
    id: String,
    policy: StsPolicy,
    fetched_at: Timestamp,
    expires_at: Timestamp,
}

impl StsPolicies {
    #[must_use]
    pub fn new(resolver: Resolver, store: Store, fetcher: StsPolicyFetcher, clock: Clock) -> Self {
        let failed = Cache::builder().max_capacity(MAX_FAILED_HOSTS).build();
        Self { resolver, store, fetcher, clock, failed }
    }

    /// The policy in force for a domain. Waits for the policy host only where an announced or
    /// cached policy was not fetched lately.
    pub(super) async fn standing(&self, domain: &str) -> Result<AppliedPolicy, LookupFailure> {
        let now = self.clock.now();
        let kept = self.kept(domain, now).await?;
        let announced = self.announced(domain).await;
        let id = match (announced, &kept) {
            (None, None) => return Ok(AppliedPolicy::without_policies(now.after(MAX_TTL))),
            (Some(id), Some(kept)) if id != kept.id => id,
            (Some(_) | None, Some(kept)) if now < kept.fetched_at.after(REFRESH_AFTER) => {
                return Ok(standing(Some(&kept.policy), kept.expires_at, now));
            }
            (Some(id), _) => id,
            (None, Some(kept)) => kept.id.clone(),
        };
        let again = match self.paused_until(domain, now) {
            Some(until) => until,
            None => match Box::pin(self.fetcher.fetch(domain)).await {
                Ok(policy) => return Ok(self.keep(domain, id, policy).await),
                Err(error) => self.has_failed(domain, kept.as_ref(), &error),
            },
        };
        // As if there were no policy, or under the one that was known (sections 3.3 and 5.1).
        let standing = kept.map_or_else(
            || AppliedPolicy::without_policies(again),
            |kept| standing(Some(&kept.policy), kept.expires_at.min(again), now),
        );
        Ok(standing)
    }

    async fn kept(
        &self,
        domain: &str,
        now: Timestamp,
    ) -> Result<Option<CachedPolicy>, LookupFailure> {
        let row = self.store.sts_policy(domain, now).await.map_err(|error| {
            tracing::error!(%error, "cached MTA-STS policies cannot be read; deferring mail to the domain");
            // Without them mail could go where a policy forbids it.
            LookupFailure::temporary(format!("it is not known whether {domain} has an MTA-STS policy"))
        })?;
        Ok(row.and_then(|row| {
            // A policy that this version cannot read is fetched again.
            let policy = StsPolicy::parse(row.policy.as_bytes()).ok()?;
            let StsRow { id, fetched_at, expires_at, policy: _ } = row;
            Some(CachedPolicy { id, policy, fetched_at, expires_at })
        }))
    }

    async fn announced(&self, domain: &str) -> Option<String> {
        let name = format!("_mta-sts.{domain}");
        let seen = self.resolver.look_up(&name, RecordType::Txt).await;
        let records: Vec<Vec<u8>> =
            seen.outcome.answers().iter().map(|it| text(&it.data)).collect();
        record_id(&records)
    }

    async fn keep(&self, domain: &str, id: String, policy: StsPolicy) -> AppliedPolicy {
        let fetched_at = self.clock.now();
        let expires_at = fetched_at.after(policy.max_age());
        let row = StsRow { id, policy: policy.to_string(), fetched_at, expires_at };
        if let Err(error) = self.store.keep_sts_policy(domain, &row).await {
            tracing::error!(%error, domain, "fetched MTA-STS policy cannot be stored");
        }
        self.failed.invalidate(domain);
        standing(Some(&policy), expires_at, fetched_at)
    }

    fn paused_until(&self, domain: &str, now: Timestamp) -> Option<Timestamp> {
        let failed = self.failed.get(domain)?;
        let until = failed.after(RETRY_PAUSE);
        (failed <= now && now < until).then_some(until)
    }

    fn has_failed(
        &self,
        domain: &str,
        kept: Option<&CachedPolicy>,
        error: &StsFetchError,
    ) -> Timestamp {
        let now = self.clock.now();
        self.failed.insert(domain.to_owned(), now);
        let reason = error.in_full();
        match kept.map(|it| (it.policy.mode, it.expires_at)) {
            Some((Mode::Enforce | Mode::Testing, expires_at)) => tracing::warn!(
                domain, reason, %expires_at,
                "MTA-STS policy cannot be refreshed; the cached policy stays in force"
            ),
            Some((Mode::None, _)) | None => {
                tracing::info!(domain, reason, "announced MTA-STS policy cannot be fetched");
            }
        }
        now.after(RETRY_PAUSE)
    }
}

impl AppliedPolicy {
    pub(super) const fn without_policies(until: Timestamp) -> Self {
        Self { policy: None, until }
    }
}

fn standing(policy: Option<&StsPolicy>, until: Timestamp, now: Timestamp) -> AppliedPolicy {
    let policy = policy.filter(|it| match it.mode {
        Mode::Enforce | Mode::Testing => true,
        Mode::None => false,
    });
    AppliedPolicy { policy: policy.cloned(), until: until.min(now.after(MAX_TTL)) }
}
