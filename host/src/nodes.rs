//! Several servers over one database: who does what. All work belongs to one of 64 shares, and each share to one node
//! at a time. A node works for its own shares only, and begins nothing after the time for which the database counts on
//! it. Where the database is a file there is one node, and everything is its own.
//!
//! This is pure, or in memory: `store/nodes` keeps the shares, and `server/membership` renews them.

mod membership;
mod share;

pub use membership::{Held, HeldShares, Membership, part};
pub use share::{Epoch, Job, Placed, SHARES, Share, moves};

/// From this clock skew on, in milliseconds, a node is reported: other nodes do at another time what the node has planned.
pub const LARGE_SKEW_MS: i64 = 2_000;
