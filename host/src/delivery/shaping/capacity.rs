//! A semaphore whose size may change while permits are out: permits that are out go on counting.

use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;

use crate::delivery::lock::lock;

/// How many may be under way at one time.
#[derive(Debug)]
pub struct Capacity {
    free: Semaphore,
    size: Mutex<Size>,
}

#[derive(Debug)]
struct Size {
    most: usize,
    /// Permits that are out and lapse when they are given back, because the capacity has become smaller.
    surplus: usize,
}

/// A permit of a capacity; given back on drop.
#[derive(Debug)]
pub struct CapacityPermit(Arc<Capacity>);

impl Capacity {
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { free: Semaphore::new(most), size: Mutex::new(Size { most, surplus: 0 }) }
    }

    #[must_use]
    pub fn most(&self) -> usize {
        lock(&self.size).most
    }

    /// How many permits are out; more than [`Self::most`] for a while after the capacity has become smaller.
    #[must_use]
    pub fn used(&self) -> usize {
        let size = lock(&self.size);
        (size.most + size.surplus).saturating_sub(self.free.available_permits())
    }

    pub fn resize(&self, most: usize) {
        let mut size = lock(&self.size);
        if most > size.most {
            let more = most - size.most;
            let kept = more.min(size.surplus);
            size.surplus -= kept;
            self.free.add_permits(more - kept);
        } else {
            let fewer = size.most - most;
            size.surplus += fewer - self.free.forget_permits(fewer);
        }
        size.most = most;
    }

    #[must_use]
    pub fn try_acquire(self: &Arc<Self>) -> Option<CapacityPermit> {
        self.free.try_acquire().ok()?.forget();
        Some(CapacityPermit(Arc::clone(self)))
    }

    /// Waits for a permit to be free.
    pub async fn acquire(self: &Arc<Self>) -> Option<CapacityPermit> {
        // The semaphore is never closed.
        self.free.acquire().await.ok()?.forget();
        Some(CapacityPermit(Arc::clone(self)))
    }
}

impl Drop for CapacityPermit {
    fn drop(&mut self) {
        let Self(capacity) = self;
        let mut size = lock(&capacity.size);
        if size.surplus > 0 {
            size.surplus -= 1;
        } else {
            capacity.free.add_permits(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(capacity: &Arc<Capacity>, count: usize) -> Vec<CapacityPermit> {
        (0..count).filter_map(|_| capacity.try_acquire()).collect()
    }

    #[test]
    fn what_is_out_counts_when_the_capacity_becomes_smaller() {
        let capacity = Arc::new(Capacity::new(6));
        let mut out = take(&capacity, 5);
        capacity.resize(2);
        assert_eq!((capacity.most(), capacity.used()), (2, 5));
        out.truncate(2);
        assert!(capacity.try_acquire().is_none(), "two are out");
        out.truncate(1);
        let again = take(&capacity, 5);
        assert_eq!((again.len(), capacity.used()), (1, 2));
        drop((out, again));
        assert_eq!(take(&capacity, 9).len(), 2);
        assert_eq!(capacity.used(), 0);
    }

    #[test]
    fn what_is_out_counts_when_the_capacity_grows_again() {
        let capacity = Arc::new(Capacity::new(6));
        let out = take(&capacity, 6);
        capacity.resize(1);
        capacity.resize(4);
        assert!(capacity.try_acquire().is_none(), "six are out");
        capacity.resize(8);
        assert_eq!(take(&capacity, 9).len(), 2);
        drop(out);
        assert_eq!(take(&capacity, 9).len(), 8);
    }

    #[tokio::test]
    async fn whoever_waits_gets_what_a_larger_capacity_brings() {
        let capacity = Arc::new(Capacity::new(1));
        let _out = take(&capacity, 1);
        let (got, ()) = tokio::join!(capacity.acquire(), async { capacity.resize(2) });
        assert!(got.is_some());
    }
}
