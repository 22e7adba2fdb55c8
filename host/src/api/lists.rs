//! Limits how often lists are read, and how many at one time, by account. A page may scan 20,000 rows, and the
//! connections to the database are few.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::fair_share::{FairShare, Share, ShareOwner};
use crate::journey::accept::refusal::{Outage, Refusal};

/// Pages that are read at one time: as many as the store has connections for them. An account alone reads
/// one.
const MAX_PARALLEL_PAGES: usize = 2;
const PAGE_WAIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct ListLimits {
    rate: ArcSwap<Rate>,
    pages: Arc<FairShare>,
    clock: DefaultClock,
}

#[derive(Debug)]
struct Rate {
    a_second: NonZeroU32,
    owners: DefaultKeyedRateLimiter<ShareOwner>,
}

impl ListLimits {
    /// So many pages a second for each owner, and twice as many at once.
    #[must_use]
    pub fn new(a_second: NonZeroU32) -> Self {
        let rate = ArcSwap::from_pointee(Rate::new(a_second));
        Self { rate, pages: FairShare::new(MAX_PARALLEL_PAGES), clock: DefaultClock::default() }
    }

    /// Changes the rate; the same rate keeps its buckets.
    pub fn set_rate(&self, a_second: NonZeroU32) {
        if self.rate.load().a_second != a_second {
            self.rate.store(Arc::new(Rate::new(a_second)));
        }
    }

    /// Forgets the buckets that are full again.
    pub fn tidy(&self) {
        self.rate.load().owners.retain_recent();
    }

    /// A place for one page of a list, which the caller holds while it reads the page.
    ///
    /// # Errors
    /// The owner reads more pages a second, or at one time, than its share.
    pub async fn admit(&self, owner: impl Into<ShareOwner>) -> Result<Share, Refusal> {
        let owner = owner.into();
        if let Err(not_until) = self.rate.load().owners.check_key(&owner) {
            let retry_after = not_until.wait_time_from(self.clock.now());
            return Err(Refusal::RateLimited { retry_after });
        }
        self.pages.take(owner, 1, PAGE_WAIT).await.ok_or_else(|| {
            Refusal::unavailable(Outage::Busy, "other lists are being read; read fewer at one time")
        })
    }
}

impl Rate {
    fn new(a_second: NonZeroU32) -> Self {
        let quota = Quota::per_second(a_second).allow_burst(a_second.saturating_mul(BURST_SECONDS));
        Self { a_second, owners: RateLimiter::keyed(quota) }
    }
}

const BURST_SECONDS: NonZeroU32 = NonZeroU32::new(2).expect("not zero");

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::clock::Timestamp;
    use crate::id::AccountId;

    fn owner(n: i64) -> ShareOwner {
        AccountId::first_of(Timestamp::from_millis(n)).into()
    }

    fn limits(a_second: u32) -> ListLimits {
        ListLimits::new(NonZeroU32::new(a_second).expect("not zero"))
    }

    #[tokio::test]
    async fn an_account_that_reads_many_lists_leaves_connections_to_others() {
        let limits = limits(100);
        let read = |n| limits.admit(owner(n)).now_or_never();
        let [first, second] = [read(1), read(1)];
        assert!(matches!(first, Some(Ok(_))), "{first:?}");
        assert!(second.is_none(), "it waits: {second:?}");
        assert!(matches!(read(2), Some(Ok(_))), "another account does not");
        drop(first);
        assert!(matches!(read(1), Some(Ok(_))));
    }

    #[tokio::test]
    async fn an_account_that_reads_too_often_is_told_when_to_come_again() {
        let limits = limits(1);
        let read = |n| limits.admit(owner(n)).now_or_never().map(|it| it.map(drop));
        assert_eq!([read(1), read(1)], [Some(Ok(())), Some(Ok(()))]);
        let refused = read(1).and_then(Result::err).expect("refused");
        assert_eq!(refused.code(), "RATE_LIMITED");
        assert_eq!(read(2), Some(Ok(())), "another account reads on");
        limits.set_rate(NonZeroU32::MIN);
        assert!(read(1).is_some_and(|it| it.is_err()), "the same rate gives nothing back");
    }
}
