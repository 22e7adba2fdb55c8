//! What each step of the journey costs by itself: `cargo bench -p waxwing`.

#![expect(missing_docs, reason = "criterion's macros make public functions without any")]

mod commit;
mod content;
mod native;
mod plugins;
mod sample;
mod sign;

use criterion::{criterion_group, criterion_main};

criterion_group!(
    journey,
    plugins::plan,
    plugins::render,
    plugins::cold_renderer,
    native::render,
    content::accept,
    content::compose,
    commit::commit,
    sign::signatures
);
criterion_main!(journey);
