//! The supervisor's jobs that are under way. Each is a task of its own: a job may hold the connection to the database for
//! which the supervisor's loop waits, so the job must go on while the loop waits.

use std::future::Future;
use std::panic::resume_unwind;

use tokio::task::JoinSet;

use super::jobs::JobOutcome;
use crate::plugin::config::slot::SlotName;

/// A slot, the number of its work, and what came of it.
type Ended = (SlotName, u64, JobOutcome);

/// They end when this is dropped.
#[derive(Debug, Default)]
pub struct RunningJobs(JoinSet<Ended>);

impl RunningJobs {
    pub fn start(&mut self, job: impl Future<Output = Ended> + Send + 'static) {
        self.0.spawn(job);
    }

    /// The next job that ends; none where there is none. A job that panicked has the loop panic.
    pub async fn next(&mut self) -> Option<Ended> {
        match self.0.join_next().await?.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(ended) => Some(ended),
            Err(Ok(panic)) => resume_unwind(panic),
            // The runtime ends.
            Err(Err(_)) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_job_goes_on_while_nobody_waits_for_it() {
        let slot: SlotName = "plan-policy".parse().expect("a name");
        let (tell, told) = oneshot::channel();
        let mut jobs = RunningJobs::default();
        let name = slot.clone();
        jobs.start(async move {
            tell.send(()).expect("somebody listens");
            (name, 7, JobOutcome::Tidied)
        });
        told.await.expect("it was told");
        let ended = jobs.next().await;
        assert!(ended.is_some_and(|(name, number, _)| name == slot && number == 7));
        assert!(jobs.next().await.is_none(), "nothing is under way");
    }
}
