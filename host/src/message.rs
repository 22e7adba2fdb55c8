//! The states of a message and what it waits for; addresses and status codes come from `waxwing_mail`.

pub mod state;
pub mod waits_for;

pub use waxwing_mail::{address, status};
