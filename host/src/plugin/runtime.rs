//! What runs a component: its bytes, its machine code, its instances, and what each of them may use.

pub mod artifact;
pub mod bindings;
pub mod bounded_file;
pub mod cache;
pub mod compiler;
pub mod engine;
pub mod error;
pub mod generation;
mod guest_metrics;
pub mod identity;
pub mod inspect;
pub mod instance;
pub mod kind;
pub mod limits;
pub mod loader;
pub mod log;
mod meter;
pub mod pool;
pub mod sandbox;
pub mod schema;
mod ticker;
pub mod signature;
pub mod stage;
pub mod world;
