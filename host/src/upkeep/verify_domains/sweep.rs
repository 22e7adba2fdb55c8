//! Checks the domains that are due, a bounded number at a time; after a change of the domain policy all domains are
//! due again, spread over time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use super::Verifier;
use crate::clock::Timestamp;
use crate::id::DomainId;
use crate::store::{Responsiveness, StoreError, drive_while};

/// Interval at which the database is read for domains added by another process.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Time of one check, at most.
const MAX_CHECK_TIME: Duration = Duration::from_mins(3);
/// A claimed check that never ended is due again after this.
const LEASE: Duration = Duration::from_mins(5);
/// After a change of the policy, the checks are spread over this time for each domain.
const SPREAD_PER_DOMAIN: Duration = Duration::from_millis(20);
/// After a change of the policy, all domains are checked within this time.
const MAX_SPREAD: Duration = Duration::from_hours(1);
/// Domains rescheduled in one transaction; between two of them others may write.
const BATCH_ROWS: u32 = 500;
/// The note in the database with the policy that the domains were last judged by.
const LAST_POLICY_KEY: &str = "domain policy";

#[derive(Debug, Default)]
struct Running {
    normal: usize,
    slow: usize,
}

impl Verifier {
    /// Runs until `stop`. A check that is under way is broken off then: nothing of it was written.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut running = FuturesUnordered::new();
        let (mut in_progress, mut done) = (Running::default(), Vec::new());
        let mut last_policy = None;
        let latest = self.clock.now().after(self.rules.schedule.regular * 11 / 10);
        if let Err(error) = self.store.clamp_domain_checks(latest).await {
            tracing::error!(%error, "due times of domain checks cannot be corrected");
        }
        while !stop.is_cancelled() {
            let now = self.clock.now();
            let due =
                drive_while(self.due(&mut last_policy, &in_progress, now), &mut running, &mut done)
                    .await;
            match due {
                Ok(due) => {
                    for (responsiveness, id) in due {
                        *in_progress.count_mut(responsiveness) += 1;
                        running.push(self.check_one(responsiveness, id));
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
                    Some(responsiveness) = running.next() => done.push(responsiveness),
                    () = tokio::time::sleep(pause) => {}
                }
            }
            done.drain(..).for_each(|responsiveness| *in_progress.count_mut(responsiveness) -= 1);
        }
    }

    /// The checks that may begin now: none while more than half of the places are taken. Domains with slow name servers
    /// have a quarter of the places, so that they delay nobody else.
    async fn due(
        &self,
        last_policy: &mut Option<String>,
        in_progress: &Running,
        now: Timestamp,
    ) -> Result<Vec<(Responsiveness, DomainId)>, StoreError> {
        let places = self.rules.concurrent;
        if in_progress.total() > places / 2 {
            return Ok(Vec::new());
        }
        self.notice_policy(last_policy, now).await?;
        if self.store.next_domain_check().await?.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        let mut due = Vec::new();
        let slow = (places / 4).max(1).saturating_sub(in_progress.slow);
        for (responsiveness, room) in
            [(Responsiveness::Slow, slow), (Responsiveness::Normal, places)]
        {
            let room = room.min(places.saturating_sub(in_progress.total() + due.len()));
            if room > 0 {
                let limit = u32::try_from(room).unwrap_or(u32::MAX);
                let taken =
                    self.store.due_domains(responsiveness, limit, now, now.after(LEASE)).await?;
                due.extend(taken.into_iter().map(|id| (responsiveness, id)));
            }
        }
        Ok(due)
    }

    /// After another policy has become live, reschedules all domains, so that it judges each of them.
    async fn notice_policy(
        &self,
        last_policy: &mut Option<String>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let live = self.plugins.table().domain_policies();
        if last_policy.as_ref() == Some(&live) {
            return Ok(());
        }
        if self.store.noted(LAST_POLICY_KEY).await?.is_some_and(|noted| noted != live) {
            let domains = self.store.count_domain_checks().await?;
            let over = SPREAD_PER_DOMAIN.saturating_mul(domains).min(MAX_SPREAD);
            let mut after = None;
            loop {
                after = self.store.hasten_domain_checks(after, BATCH_ROWS, over, now).await?;
                if after.is_none() {
                    break;
                }
            }
            tracing::info!(domains, within = ?over, "the domain policy has changed; all domains will be checked again");
        }
        self.store.note(LAST_POLICY_KEY, &live).await?;
        *last_policy = Some(live);
        Ok(())
    }

    async fn check_one(&self, responsiveness: Responsiveness, id: DomainId) -> Responsiveness {
        match tokio::time::timeout(MAX_CHECK_TIME, self.examine(id)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(domain_id = %id, %error, "domain check failed; the domain's state is unchanged");
            }
            Err(_) => {
                tracing::warn!(domain_id = %id, "domain check exceeded its time limit; retrying later");
            }
        }
        responsiveness
    }

    async fn until_next(&self, now: Timestamp) -> Duration {
        match self.store.next_domain_check().await {
            Ok(Some(due)) => now.until(due).min(POLL_INTERVAL).max(Duration::from_millis(10)),
            Ok(None) | Err(_) => POLL_INTERVAL,
        }
    }
}

impl Running {
    fn total(&self) -> usize {
        self.normal + self.slow
    }

    fn count_mut(&mut self, responsiveness: Responsiveness) -> &mut usize {
        match responsiveness {
            Responsiveness::Normal => &mut self.normal,
            Responsiveness::Slow => &mut self.slow,
        }
    }
}
