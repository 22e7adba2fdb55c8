//! What DNS records say: their text, tag lists, and what several resolvers mean together.

mod chain;
mod outcome;
mod read;
mod reading;
mod slip;
mod tags;
mod text;

pub use chain::is_circle;
pub use outcome::{NoRecords, records};
pub use read::{read, read_each, together};
pub use reading::Reading;
pub use slip::{Slip, slip};
pub use tags::{TagFault, Tags};
pub use text::{bare, is_within, quoted, same_host, shown, unquoted};
