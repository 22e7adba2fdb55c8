//! Delivery: admit, lease, attempt (signed), settle. At least once, with a stable Message-ID.
//!
//! The submodules stand in their order: none imports one that stands below it here.

pub(crate) mod limits;
mod lock;
pub(crate) mod outcome;

pub(crate) mod smtp;

pub(crate) mod routing;

pub(crate) mod shaping;

pub(crate) mod attempt;

pub(crate) mod queue;

#[cfg(test)]
mod tests;
