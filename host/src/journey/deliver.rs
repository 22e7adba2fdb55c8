//! Deliver: find a place, lease, sign, attempt, settle. At least once, with a stable Message-ID.

pub mod attempt;
pub mod carry;
pub mod destination;
pub mod exchange;
pub mod health;
mod lanes;
mod letter;
mod look_ups;
pub mod memory;
pub mod novices;
pub mod outcome;
mod passed;
pub mod placement;
mod recovery;
pub mod return_path;
pub mod route;
mod sandbox;
pub mod schedule;
mod settling;
pub mod sign;
pub mod smtp;
mod spawner;
mod tried;
mod troubled;
mod unresolved;
#[cfg(test)]
mod tests;
mod worker;

pub use sandbox::Sandbox;
pub use spawner::Spawner;
pub use troubled::Troubled;
pub use worker::Worker;
