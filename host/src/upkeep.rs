//! Work beside the sending of messages: retention, checks of sender domains, recorded plugin calls made again.

pub mod replay;
pub mod retention;
pub mod verify_domains;
