//! The client's side: replies out of a stream of octets, what a server offers, a message for the wire, and a
//! transcript of it all.

pub mod content;
pub mod extensions;
pub mod reader;
pub mod reply;
pub mod transcript;
pub mod violation;
