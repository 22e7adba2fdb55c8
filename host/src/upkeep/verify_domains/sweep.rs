//! Checks what is due, a bounded number at a time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use super::Verifier;
use crate::clock::Timestamp;
use crate::id::DomainId;
use crate::store::{Sight, StoreError, drive_while};

/// How often is looked for domains that another process has added.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The longest that a check may take, and when one is made again that never came to its end.
const MAX_CHECK_TIME: Duration = Duration::from_mins(3);
const LEASE: Duration = Duration::from_mins(5);
/// How the work is spread when the policy has changed: for each domain, and at most in all.
const SPREAD_PER_DOMAIN: Duration = Duration::from_millis(20);
const MAX_SPREAD: Duration = Duration::from_hours(1);
/// Domains that are rewritten in one transaction; between two of them others may write.
const BATCH_ROWS: u32 = 500;
/// Under which name the policy is noted that the domains were last judged by.
const POLICY: &str = "domain policy";

#[derive(Debug, Default)]
struct UnderWay {
    clear: usize,
    unclear: usize,
}

impl Verifier {
    /// Runs until `stop`. A check that is under way is broken off then: nothing of it was written.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut running = FuturesUnordered::new();
        let (mut under_way, mut done) = (UnderWay::default(), Vec::new());
        let mut policy = None;
        let latest = self.clock.now().after(self.rules.schedule.regular * 11 / 10);
        if let Err(error) = self.store.clamp_domain_checks(latest).await {
            tracing::error!(%error, "due times of domain checks cannot be corrected");
        }
        while !stop.is_cancelled() {
            let now = self.clock.now();
            let due =
                drive_while(self.due(&mut policy, &under_way, now), &mut running, &mut done).await;
            match due {
                Ok(due) => {
                    for (sight, id) in due {
                        under_way.add(sight);
                        running.push(self.one(sight, id));
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "due domain checks cannot be read; retrying");
                    let pause = async {
                        tokio::select! {
                            () = stop.cancelled() => {}
                            () = tokio::time::sleep(POLL_INTERVAL) => {}
                        }
                    };
                    drive_while(pause, &mut running, &mut done).await;
                }
            }
            if done.is_empty() {
                let pause =
                    if running.is_empty() { self.until_next(now).await } else { POLL_INTERVAL };
                tokio::select! {
                    () = stop.cancelled() => return,
                    Some(sight) = running.next() => done.push(sight),
                    () = tokio::time::sleep(pause) => {}
                }
            }
            done.drain(..).for_each(|sight| under_way.remove(sight));
        }
    }

    /// What may begin now. Domains that could not be seen have a quarter of the places, so that silent
    /// name servers hold up nobody else.
    async fn due(
        &self,
        policy: &mut Option<String>,
        under_way: &UnderWay,
        now: Timestamp,
    ) -> Result<Vec<(Sight, DomainId)>, StoreError> {
        let places = self.rules.concurrent;
        if under_way.all() > places / 2 {
            return Ok(Vec::new());
        }
        self.notice_policy(policy, now).await?;
        if self.store.next_domain_check().await?.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        let mut due = Vec::new();
        let unclear = (places / 4).max(1).saturating_sub(under_way.unclear);
        for (sight, room) in [(Sight::Unclear, unclear), (Sight::Clear, places)] {
            let room = room.min(places.saturating_sub(under_way.all() + due.len()));
            if room > 0 {
                let limit = u32::try_from(room).unwrap_or(u32::MAX);
                let taken = self.store.due_domains(sight, limit, now, now.after(LEASE)).await?;
                due.extend(taken.into_iter().map(|id| (sight, id)));
            }
        }
        Ok(due)
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
            let domains = self.store.count_domain_checks().await?;
            let over = SPREAD_PER_DOMAIN.saturating_mul(domains).min(MAX_SPREAD);
            let mut after = None;
            loop {
                after = self.store.hasten_domain_checks(after, BATCH_ROWS, over, now).await?;
                if after.is_none() {
                    break;
                }
            }
            tracing::info!(domains, "the domain policy has changed; all domains are judged anew");
        }
        self.store.note(POLICY, &live).await?;
        *seen = Some(live);
        Ok(())
    }

    async fn one(&self, sight: Sight, id: DomainId) -> Sight {
        match tokio::time::timeout(MAX_CHECK_TIME, self.examine(id)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(domain = %id, %error, "domain check failed; the domain's state is unchanged");
            }
            Err(_) => {
                tracing::warn!(domain = %id, "domain check exceeded its time limit; retrying later");
            }
        }
        sight
    }

    async fn until_next(&self, now: Timestamp) -> Duration {
        match self.store.next_domain_check().await {
            Ok(Some(due)) => now.until(due).min(POLL_INTERVAL).max(Duration::from_millis(10)),
            Ok(None) | Err(_) => POLL_INTERVAL,
        }
    }
}

impl UnderWay {
    fn all(&self) -> usize {
        self.clear + self.unclear
    }

    fn of(&mut self, sight: Sight) -> &mut usize {
        match sight {
            Sight::Clear => &mut self.clear,
            Sight::Unclear => &mut self.unclear,
        }
    }

    fn add(&mut self, sight: Sight) {
        *self.of(sight) += 1;
    }

    fn remove(&mut self, sight: Sight) {
        *self.of(sight) -= 1;
    }
}
