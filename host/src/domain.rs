//! Sender domains: their names, their DKIM keys, and how far their verification has come.

pub mod key;
pub mod look_alike;
pub mod state;
pub mod verification;

pub use waxwing_mail::domain_name as name;
