//! The facade between the store and its database: connections, transactions, statements, what is bound and
//! what is read. No other file of the store knows which database there is.

mod arg;
mod connections;
mod convert;
mod inline;
mod migrations;
mod postgres;
mod purpose;
mod quick_check;
mod row;
mod sqlite;
mod statement;
pub mod transfer;
mod writers;

pub(super) use arg::{IntoArg, args, digits, to_json};
pub(super) use connections::{Connections, Database, Tx};
#[cfg(test)]
pub(super) use connections::{On, Pool};
pub(super) use convert::{bytes_in_use, convert, earlier_schema};
pub(super) use inline::Size;
pub(super) use migrations::needed;
#[cfg(test)]
pub(super) use migrations::{BASELINE, POSTGRES, migration};
#[cfg(test)]
pub(super) use postgres::{for_server, open as open_server};
#[cfg(test)]
pub(super) use purpose::Purpose;
pub use quick_check::Integrity;
pub(super) use row::{
    Row, column, inconsistent, json, json_or_empty, moment, moment_or_none, parsed, word,
};
#[cfg(test)]
pub(super) use sqlite::{PAGE_READERS, READERS, page_readers};
pub(super) use sqlite::{copy as copy_file, migrate as migrate_file};
pub(super) use statement::{Sql, Statement, beside, each, either, inserts, sql};

use std::time::Duration;

use crate::store::{Place, StoreError};

/// Opens the database, makes it where it is missing, and brings its schema up to date.
pub(super) async fn open(place: &Place) -> Result<Database, StoreError> {
    match place {
        Place::File(file) => sqlite::open(file).await,
        Place::Server(url) => Box::pin(postgres::open(url, &migrations::POSTGRES)).await,
    }
}

/// Reads all of a file; a database that a server keeps has means of its own.
pub(super) async fn integrity(
    database: &Database,
    within: Duration,
) -> Result<Integrity, StoreError> {
    match database.file() {
        Some(file) => quick_check::quick_check(&file.connect_options(), within).await,
        None => Ok(Integrity::KeptByServer),
    }
}

/// Whether [`open`] could open it, or a server could convert it before. Changes nothing.
pub(super) async fn check(place: &Place) -> Result<(), StoreError> {
    match place {
        Place::File(file) => sqlite::check(file).await,
        Place::Server(url) => Box::pin(postgres::check(url)).await,
    }
}

/// What is noted under a name in a database that is not opened. Changes nothing.
pub(super) async fn noted(place: &Place, name: &str) -> Result<Option<String>, StoreError> {
    match place {
        Place::File(file) => sqlite::noted(file, name).await,
        Place::Server(url) => Box::pin(postgres::noted(url, name)).await,
    }
}
