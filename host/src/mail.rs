//! Mail as bytes: what a mail library does not already do.

pub mod carriable;
pub mod dkim;
pub mod encoded_header;
pub mod field;
pub mod mailbox;
pub mod mime;
pub mod mta_sts;
pub mod path;
pub mod raw;
pub mod report;
pub mod seven_bit;
pub mod verp;
