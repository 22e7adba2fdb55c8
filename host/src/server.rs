//! From a configuration to a running server, and back.

mod bounces;
mod check;
pub mod cli_settings;
mod connection_limits;
mod dashboard;
pub mod data_dir;
mod delivery;
mod descriptors;
mod directory;
pub mod domain_checks;
mod http;
mod inbox;
mod key_file;
mod lifecycle;
mod limits;
mod listeners;
mod maintenance;
pub mod master_key;
pub mod plugins;
mod relay;
mod reload;
pub mod resolvers;
mod service_manager;
mod settings;
pub mod smtp;
mod start_error;
mod tasks;
mod tcp_listener;
pub mod tls;
pub mod webhooks;
mod start;

pub use check::check;
pub use lifecycle::run;
pub use start::{RunningServer, start};
pub use start_error::StartError;
