//! Guests of the server's tests, as components: good ones to swap between, and bad ones.
//!
//! Most are examples of this package, built for `wasm32-wasip2` when the first test asks; the
//! others are made from those, byte by byte. `README.md` beside this package lists them all.

mod build;
mod damage;
mod encode;
mod grown;

pub use build::{NAMES, build, component};
pub use damage::{at_version, flipped, newer, table_bomb, truncated};
pub use grown::{big_slow, endless_start, greedy_start, many_blocks};

#[cfg(test)]
mod tests;
