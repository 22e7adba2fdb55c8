//! The facade between the store and its database: connections, transactions, statements, what is bound and
//! what is read. No other file of the store knows which database there is.

mod arg;
mod connections;
mod convert;
mod inline;
mod migrations;
mod postgres;
mod purpose;
mod row;
mod sqlite;
mod statement;

pub(super) use arg::{IntoArg, args, digits, to_json};
pub(super) use connections::{Connections, Database, Tx};
#[cfg(test)]
pub(super) use connections::{On, Pool};
pub(super) use convert::convert;
#[cfg(test)]
pub(super) use migrations::BASELINE;
#[cfg(test)]
pub(super) use postgres::for_server;
#[cfg(test)]
pub(super) use purpose::Purpose;
pub(super) use sqlite::copy as copy_file;
pub(super) use row::{
    Row, column, inconsistent, json, json_or_empty, moment, moment_or_none, parsed, word,
};
#[cfg(test)]
pub(super) use sqlite::{PAGE_READERS, READERS, page_readers};
pub(super) use statement::{Sql, Statement, each, either, inserts, sql};

use sqlx::postgres::PgConnection;

use crate::store::{Place, StoreError};

/// Holds a database for one server.
#[derive(Debug)]
pub struct Claim(
    #[expect(dead_code, reason = "the lock lasts as long as its session")] Option<PgConnection>,
);

/// Takes the database for one server, where several could reach it.
pub(super) async fn claim(place: &Place) -> Result<Claim, StoreError> {
    match place {
        Place::File(_) => Ok(Claim(None)),
        Place::Server(url) => Box::pin(postgres::claim(url)).await.map(|it| Claim(Some(it))),
    }
}

/// Opens the database, makes it where it is missing, and brings its schema up to date.
pub(super) async fn open(place: &Place) -> Result<Database, StoreError> {
    match place {
        Place::File(file) => sqlite::open(file).await,
        Place::Server(url) => Box::pin(postgres::open(url)).await,
    }
}

/// Whether [`open`] could open it, or a server could convert it before. Changes nothing.
pub(super) async fn check(place: &Place) -> Result<(), StoreError> {
    match place {
        Place::File(file) => sqlite::check(file).await,
        Place::Server(url) => Box::pin(postgres::check(url)).await,
    }
}
