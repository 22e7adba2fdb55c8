//! Backups of a server whose store is a file: taken while it works, encrypted to recipients of age, read again before they
//! count, kept in a directory or at an object store; and how one is brought back.
//!
//! What is in a backup is one state of the database, and beside it the master key, the certificates that the server keeps, the
//! plugins and what the plugin host remembers. A server that starts on a restored backup holds delivery (`store`): mail that
//! waited may have gone out since.

pub mod age;
mod archive;
mod blocking;
mod destination;
mod error;
mod make;
mod restore;
mod schedule;

pub use archive::Manifest;
pub use blocking::blocking;
pub use destination::{Destination, ObjectStoreSettings, sync, taken_at};
pub use error::BackupError;
pub use make::{Source, Taken, back_up};
pub use restore::unpack;
pub use schedule::{LastBackup, Schedule};
