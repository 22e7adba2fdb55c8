//! SMTP without I/O (sans-I/O): bytes go in; replies and events come out.
//!
//! [`server`] is a submission server's session (RFC 5321, 6409); other listeners reuse its parts. [`client`]
//! parses replies and dot-stuffs a message for DATA. Authentication, retries and the classification of refusals are
//! the caller's.

pub mod client;
pub mod server;
