//! Plugin slots: the live table (which plugin serves which call), the slot state on disk or in a
//! database that nodes share, and the supervisor task that alone changes both.

pub mod files;
pub mod supervisor;
mod orders;
pub mod plugins;
mod replacement;
mod rollback;
pub mod shared;
pub mod slot_store;
pub mod start;
pub mod state;
pub mod status;
pub mod table;
