//! From a configuration to a running server, and back.

pub mod data_dir;
pub mod domains;
mod lifecycle;
mod listeners;
pub mod plugins;
mod relay;
pub mod smtp;
mod tasks;
pub mod tls;
mod wire;

pub use lifecycle::run;
pub use wire::{Running, StartError, start};
