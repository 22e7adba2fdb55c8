//! Work beside the sending of messages: retention, deletion of accounts, checks of sender domains, recorded plugin calls
//! made again.

pub mod account_deletion;
pub mod replay;
pub mod retention;
pub mod verify_domains;
