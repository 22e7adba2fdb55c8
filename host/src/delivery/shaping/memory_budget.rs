//! The memory that messages under way share. Large messages never use the part of small ones, and
//! messages to hosts on probation leave half to the others.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest small message, in octets.
pub const SMALL_MESSAGE: u32 = 256 << 10;
/// Octets of a semaphore permit.
const UNIT: u32 = 1_024;
/// A message is held twice: as it was stored, and signed.
const COPIES: u32 = 2;

/// Whether the hosts of a message have a good record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reputation {
    /// They accepted or rejected messages before.
    Known,
    /// No record, or failures since.
    Unknown,
}

#[derive(Debug)]
pub struct MemoryBudget {
    small: Pool,
    large: Pool,
    /// The part of the large messages' memory that hosts on probation may use.
    unknown: Pool,
}

#[derive(Debug)]
pub struct MemoryPermit {
    _memory: OwnedSemaphorePermit,
    _part: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
struct Pool {
    free: Arc<Semaphore>,
    units: u32,
}

impl MemoryBudget {
    /// Half of the octets is for small messages.
    #[must_use]
    pub fn new(octets: usize) -> Self {
        let (half, quarter) = (octets / 2, octets / 4);
        Self { small: Pool::new(half), large: Pool::new(half), unknown: Pool::new(quarter) }
    }

    /// Takes the memory of a message, if it is free; a message larger than all of it takes all.
    #[must_use]
    pub fn take(&self, octets: u32, repute: Reputation) -> Option<MemoryPermit> {
        let units = octets.saturating_mul(COPIES).div_ceil(UNIT);
        if octets <= SMALL_MESSAGE {
            return Some(MemoryPermit { _memory: self.small.take(units)?, _part: None });
        }
        let (units, part) = match repute {
            Reputation::Known => (units, None),
            Reputation::Unknown => (units.min(self.unknown.units), Some(self.unknown.take(units)?)),
        };
        Some(MemoryPermit { _memory: self.large.take(units)?, _part: part })
    }
}

impl Pool {
    fn new(octets: usize) -> Self {
        let units = octets / usize::try_from(UNIT).unwrap_or(1);
        let units = units.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        let free = Arc::new(Semaphore::new(units));
        Self { free, units: u32::try_from(units).unwrap_or(u32::MAX) }
    }

    fn take(&self, units: u32) -> Option<OwnedSemaphorePermit> {
        let units = units.clamp(1, self.units);
        Arc::clone(&self.free).try_acquire_many_owned(units).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_messages_hold_up_no_small_ones() {
        let memory = MemoryBudget::new(1 << 20);
        let _all = memory.take(50 << 20, Reputation::Known).expect("one alone, however large");
        assert!(memory.take(300 << 10, Reputation::Known).is_none());
        assert!(memory.take(10 << 10, Reputation::Known).is_some());
    }

    #[test]
    fn hosts_that_are_not_known_leave_half_of_it() {
        let memory = MemoryBudget::new(4 << 20);
        let _unknown = memory.take(50 << 20, Reputation::Unknown);
        assert!(memory.take(300 << 10, Reputation::Unknown).is_none());
        assert!(memory.take(300 << 10, Reputation::Known).is_some());
    }
}
