#![doc = include_str!("../ARCHITECTURE.md")]

// Lowest layer first; tests/tidy enforces it (ARCHITECTURE.md, Layers).
pub mod clock;
pub mod hexadecimal;
pub mod plural;
pub mod private_file;
pub mod yielding;
pub mod id;

pub mod domain;
pub mod fair_share;
pub mod nodes;
pub mod trace;

pub mod message;

pub mod account;
pub mod credit;
pub mod template;

pub mod dns;
pub mod mail;
pub mod plugin;
pub mod store;
pub mod trust;

pub mod backup;
pub mod delivery;
pub mod journey;
pub mod management;
pub mod upkeep;
pub mod webhooks;

pub mod authoring;
pub mod health;
pub mod people;

pub mod api;
pub mod inbox;
pub mod relay;

pub mod dashboard;

pub mod config;
pub mod telemetry;
pub mod server;

pub mod cli;

#[cfg(test)]
mod generated_docs;
