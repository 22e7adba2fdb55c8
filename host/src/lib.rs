//! The host of Waxwing. `ARCHITECTURE.md` tells how the parts fit; the modules stand in the order
//! of their layers, lowest first.

pub mod clock;
pub mod id;

pub mod account;
pub mod credit;
pub mod domain;
pub mod message;
pub mod template;

pub mod mail;
pub mod plugin;
pub mod store;

pub mod journey;

pub mod api;
pub mod inbox;
pub mod upkeep;

pub mod config;
pub mod server;
pub mod telemetry;

pub mod cli;
