//! How much mail a destination gets, and when: connections, rates, memory, back-off and recovery.

pub mod admission;
pub mod backoff;
mod capacity;
pub mod destination;
pub mod lookup_slots;
pub mod memory_budget;
pub mod probation;
pub mod reason;
pub(super) mod requeue;
pub(super) mod round_skips;
pub mod unresolved_domains;
pub mod unresponsive;
