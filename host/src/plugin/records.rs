//! The JSON form of a plugin's calls and answers: golden cases, samples and replays read and write it.
//!
//! An input may leave members out; a member that is not known is an error. Two answers are equal
//! when their JSON is equal.

pub mod answer;
mod call;
mod change_summary;
pub mod decision;
mod differences;
mod json_form;
pub mod sample;
pub mod send_outcome;

pub use call::{Call, Input, RecordError};
pub use change_summary::summarize_change;
pub use differences::differences;

#[cfg(test)]
mod tests;
