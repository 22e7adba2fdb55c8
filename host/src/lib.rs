//! The host of Waxwing. `ARCHITECTURE.md` tells how the parts fit; the modules stand in the order
//! of their layers, lowest first.

pub mod clock;
pub mod id;

pub mod account;
pub mod credit;
pub mod domain;
pub mod message;
pub mod template;

pub mod plugin;
pub mod store;
