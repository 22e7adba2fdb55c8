//! Logs and metrics. No address, no key and no body goes into either.

pub mod logs;
pub mod metrics;
