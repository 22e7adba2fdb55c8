//! The structure, held against the code: layers, the steps of the journey, what has one home.

#![expect(clippy::panic, reason = "a broken rule ends the test with its list")]

mod bounds;
mod claims;
mod frozen_interface;
mod homes;
mod imports;
mod layers;
mod links;
mod log_fields;
mod sources;
mod test_names;
