//! SMTP without I/O (sans-I/O): bytes go in; replies and events come out.
//!
//! [`server`] is a submission server's session (RFC 5321, 6409); other listeners reuse its parts. [`client`]
//! reads replies and writes a message for the wire. Authentication, retries and the meaning of a refusal are
//! the caller's.

pub mod client;
pub mod server;
