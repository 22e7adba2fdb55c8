//! Delivery: find a place, lease, sign, attempt, settle. At least once, with a stable Message-ID.
//!
//! The rooms stand in their order: none imports one that stands below it here.

pub mod limits;
mod lock;
pub mod outcome;

pub mod smtp;

pub mod routing;

pub mod shaping;

pub mod attempt;

pub mod queue;

#[cfg(test)]
mod tests;
