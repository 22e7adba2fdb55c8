//! A message to one recipient: its address, its states, its events.

pub mod state;
pub mod waits_for;

pub use waxwing_mail::{address, status};
