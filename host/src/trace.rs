//! Traces of messages, in a binary with the cargo feature `otlp`. Without the feature all of this is nothing, and what calls
//! it costs nothing.
//!
//! The trace of a message has the message's own 128 bits as its identifier, and its first span the last 64 of them. So
//! whoever has a `msg_…` finds the trace, and a delivery or a webhook days later, in another process, belongs to it. What
//! goes into a span is what goes into the log: no address, key or body (`host/TRACES.md`).

#[cfg(feature = "otlp")]
mod export;
#[cfg(not(feature = "otlp"))]
mod nothing;

#[cfg(feature = "otlp")]
pub use export::{Arrival, Times, accepted, attempt, export_to, flush, posted, step};
#[cfg(not(feature = "otlp"))]
pub use nothing::{Arrival, Times, accepted, attempt, posted, step};

/// What came of an attempt to deliver a message.
#[derive(Debug, Clone, Copy)]
pub struct Attempted<'a> {
    /// From 1.
    pub number: u32,
    pub route: &'a str,
    pub host: Option<&'a str>,
    pub state: &'a str,
    /// The code of the reply.
    pub code: Option<u16>,
}
