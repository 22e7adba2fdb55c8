//! The memory that messages under way share. Large ones wait for each other and never for small ones,
//! nor small ones for them.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Octets of a message that counts as small.
pub const SMALL: u32 = 64 << 10;
/// Octets in a unit.
const UNIT: u32 = 1_024;
/// A message and its signed copy.
const COPIES: u32 = 2;

/// Memory for messages.
#[derive(Debug)]
pub struct Memory {
    small: Semaphore,
    large: Semaphore,
    /// Units of each.
    units: u32,
}

impl Memory {
    /// So many octets: half of them for small messages.
    #[must_use]
    pub fn new(octets: usize) -> Self {
        let units = octets / 2 / usize::try_from(UNIT).unwrap_or(1);
        let units = units.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self {
            small: Semaphore::new(units),
            large: Semaphore::new(units),
            units: u32::try_from(units).unwrap_or(u32::MAX),
        }
    }

    /// Waits for the memory of a message; one that is larger than all of it gets all.
    pub async fn take(&self, octets: u32) -> Option<SemaphorePermit<'_>> {
        let pool = if octets <= SMALL { &self.small } else { &self.large };
        let units = octets.saturating_mul(COPIES).div_ceil(UNIT);
        // Never closed, so the only answer is the memory.
        pool.acquire_many(units.clamp(1, self.units)).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn large_messages_hold_up_no_small_ones() {
        let memory = Memory::new(1 << 20);
        let _all = memory.take(50 << 20).await.expect("one alone, however large");
        assert!(memory.take(100 << 10).now_or_never().is_none());
        assert!(memory.take(10 << 10).now_or_never().is_some());
    }
}
