//! The delivery queue: which messages are due, who leases them, and when they are tried again.

pub(super) mod lanes;
pub mod retry_schedule;
mod settling;
pub mod spawner;
pub mod worker;
