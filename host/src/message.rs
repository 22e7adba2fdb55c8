//! A message to one recipient: its address, its states, its events.

pub mod address;
pub mod state;
pub mod status;
pub mod waits_for;
