//! What each step of the journey costs by itself: `cargo bench -p waxwing`.

#![expect(missing_docs, reason = "criterion's macros make public functions without any")]

mod commit;
mod content;
mod native;
mod plugins;
mod process_time;
mod sample;
mod sign;

use criterion::{Criterion, criterion_group, criterion_main};
use process_time::ProcessTime;

criterion_group!(
    journey,
    plugins::plan,
    plugins::render,
    plugins::cold_renderer,
    native::render,
    content::accept,
    content::compose,
    sign::signatures
);
criterion_group! {
    name = stored;
    config = Criterion::default().with_measurement(ProcessTime);
    targets = commit::commit
}
criterion_main!(journey, stored);
