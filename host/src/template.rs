//! Templates: what an account writes once and sends many times; layouts and partials, which templates share.

pub mod compiled;
pub mod contract;
pub mod imported;
pub mod kind;
pub mod locale;
pub mod slug;
pub mod source;
pub mod trial;
pub mod variable;
pub mod version;
