//! Work that no message waits for.

pub mod replay;
pub mod retention;
pub mod verify_domains;
