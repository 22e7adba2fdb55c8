//! The states of a message, what it waits for and where it came from; addresses, lines and status codes come from `waxwing_mail`.

pub mod channel;
pub mod state;
pub mod waits_for;

pub use waxwing_mail::{address, line, status};
