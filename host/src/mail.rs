//! Mail as bytes: what a mail library does not already do.

pub mod mime;
pub mod path;
