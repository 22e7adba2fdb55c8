//! Mail as bytes: what a mail library does not already do. What needs no clock, id or key, and nothing of our own
//! header fields, stands in `crates/mail`.

pub mod dkim;
pub mod mime;
pub mod raw;
pub mod submission_fixups;
pub mod verp;

pub use waxwing_mail::{encoded_header, field, mailbox, mta_sts, report, sandbox_path, seven_bit};
