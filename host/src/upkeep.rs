//! Work that no message waits for.

pub mod retention;
pub mod verify_domains;
