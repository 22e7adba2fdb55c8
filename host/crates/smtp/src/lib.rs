//! SMTP without I/O: bytes go in, replies, questions and facts come out.
//!
//! [`server`] is the session of a submission server (RFC 5321, 6409) as a value that tests, a fuzzer and a socket
//! drive alike; the parts that it is made of serve other listeners too. [`client`] reads what servers say, and
//! writes a message as it goes over the wire. What a refusal means, which key is good and when to try again is
//! decided by others.

pub mod client;
pub mod server;
