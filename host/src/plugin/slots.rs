//! What answers which call now, what survives a restart, and the one task that changes it.

pub mod files;
pub mod supervisor;
mod orders;
pub mod plugins;
mod replacement;
mod rollback;
pub mod start;
pub mod state;
pub mod status;
pub mod table;
