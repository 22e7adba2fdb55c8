//! Logs, metrics and, with the feature `otlp`, traces. No address, no key and no body goes into either.

pub mod logs;
pub mod metrics;
#[cfg(feature = "otlp")]
pub mod traces;
