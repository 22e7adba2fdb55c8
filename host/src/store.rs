//! Where everything is kept. The hot path reads through [`facts`]; `commit` writes through the store.

mod beside;
mod error;
pub mod facts;
pub mod records;
pub mod seal;
pub mod sqlite;

pub use beside::beside;
pub use error::StoreError;
pub use sqlite::Sqlite as Store;
