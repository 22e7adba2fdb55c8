//! The sandbox inbox: where mail goes that must not leave this machine, and where developers read it.
//!
//! `dev` and test keys deliver here. On one machine it has a file of its own, so that nothing in it can slow or
//! fill the store; nodes that share a database have it there, so that each of them shows all of it. It is bounded: old
//! mail makes room for new.

pub mod store;
pub mod smtp;
pub mod web;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use crate::store::StoreError;

/// Why the inbox could not open, or could not keep a message.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// The inbox's file cannot be opened, written or read.
    #[error("the sandbox inbox's file failed in {operation}: {source}")]
    File {
        /// What was being done.
        operation: &'static str,
        /// The error of the database.
        source: sqlx::Error,
    },
    /// The database that nodes share.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An address that other machines can reach.
    #[error(
        "the sandbox inbox takes mail without authentication and is not fit for a network: give it \
         a loopback address such as 127.0.0.1:2525 instead of {0}"
    )]
    NotLoopback(SocketAddr),
}

impl InboxError {
    /// Adds the operation to the error of the database.
    fn during(operation: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::File { operation, source }
    }
}
