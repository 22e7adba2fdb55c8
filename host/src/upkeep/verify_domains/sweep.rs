//! Checks what is due, a bounded number at a time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use super::Verifier;
use crate::clock::Timestamp;
use crate::id::DomainId;
use crate::store::StoreError;

/// How often is looked for domains that another process has added.
const LOOK: Duration = Duration::from_secs(5);
/// The longest that a check may take, and when one is made again that never came to its end.
const CHECK: Duration = Duration::from_mins(3);
const LEASE: Duration = Duration::from_mins(5);
/// How the work is spread when the policy has changed: for each domain, and at most in all.
const EACH: Duration = Duration::from_millis(20);
const ALL: Duration = Duration::from_hours(1);
/// Under which name the policy is noted that the domains were last judged by.
const POLICY: &str = "domain policy";

impl Verifier {
    /// Runs until `stop`. A check that is under way is broken off then: nothing of it was written.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut running = FuturesUnordered::new();
        let mut policy = None;
        while !stop.is_cancelled() {
            let now = self.clock.now();
            let room = self.rules.concurrent.saturating_sub(running.len());
            if running.len() <= self.rules.concurrent / 2 {
                match self.due(&mut policy, room, now).await {
                    Ok(due) => running.extend(due.into_iter().map(|id| self.one(id))),
                    Err(error) => tracing::error!(%error, "domains that are due cannot be read"),
                }
            }
            let pause = if running.is_empty() { self.until_next(now).await } else { LOOK };
            tokio::select! {
                () = stop.cancelled() => return,
                Some(()) = running.next() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn due(
        &self,
        policy: &mut Option<String>,
        room: usize,
        now: Timestamp,
    ) -> Result<Vec<DomainId>, StoreError> {
        self.notice_policy(policy, now).await?;
        if self.store.next_domain_check().await?.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        let limit = u32::try_from(room).unwrap_or(u32::MAX);
        self.store.due_domains(limit, now, now.after(LEASE)).await
    }

    /// After another policy has become live, all domains are judged by it, one after the other.
    async fn notice_policy(
        &self,
        seen: &mut Option<String>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let live = self.plugins.table().domain_policies();
        if seen.as_ref() == Some(&live) {
            return Ok(());
        }
        if self.store.noted(POLICY).await?.is_some_and(|noted| noted != live) {
            let domains = self.store.hasten_domain_checks(EACH, ALL, now).await?;
            tracing::info!(domains, "the domain policy has changed; all domains are judged anew");
        }
        self.store.note(POLICY, &live).await?;
        *seen = Some(live);
        Ok(())
    }

    async fn one(&self, id: DomainId) {
        match tokio::time::timeout(CHECK, self.check(id)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::error!(domain = %id, %error, "a domain was not checked"),
            Err(_) => tracing::warn!(domain = %id, "the check of a domain took too long"),
        }
    }

    async fn until_next(&self, now: Timestamp) -> Duration {
        match self.store.next_domain_check().await {
            Ok(Some(due)) => now.until(due).min(LOOK).max(Duration::from_millis(10)),
            Ok(None) | Err(_) => LOOK,
        }
    }
}
