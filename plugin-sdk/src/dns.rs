//! What DNS records say: their text, tag lists, and what several resolvers mean together.

mod reading;
mod tags;
mod text;

pub use reading::{NoRecords, Reading, read, read_each, records, together};
pub use tags::{TagFault, Tags};
pub use text::{bare, is_within, same_host, shown, unquoted};
