//! Templates: what an account writes once and sends many times.

pub mod imported;
pub mod slug;
mod trial;
pub mod version;
