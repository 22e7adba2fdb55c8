//! What the operator says of a slot: `<slot>.toml`, and whose calls come to it.

pub mod binding;
pub mod settings_file;
pub mod slot;
