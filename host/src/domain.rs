//! Sender domains: their names, and how far their verification has come.

pub mod name;
pub mod state;
