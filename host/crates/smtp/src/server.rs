//! The server's side: [`dialog`] speaks the protocol, [`reply`] is the only place with codes.

pub mod command;
pub mod data;
pub mod dialog;
#[cfg(any(test, feature = "exercise"))]
pub mod exercise;
pub mod line;
pub mod reply;
pub mod sasl;

mod envelope;
