//! The facade between the store and its database: connections, transactions, statements, what is bound and
//! what is read. No other file of the store knows which database there is; a second one is added here.

mod arg;
mod connections;
mod convert;
mod inline;
mod migrations;
mod row;
mod sqlite;
mod statement;

pub(super) use arg::{IntoArg, args, digits, to_json};
pub(super) use connections::{Connections, Database, Tx};
#[cfg(test)]
pub(super) use connections::{On, Purpose};
pub(super) use convert::convert;
#[cfg(test)]
pub(super) use migrations::BASELINE;
pub(super) use row::{
    Row, column, inconsistent, json, json_or_empty, moment, moment_or_none, parsed, word,
};
#[cfg(test)]
pub(super) use sqlite::{PAGE_READERS, READERS, page_readers};
pub(super) use sqlite::{check, open};
pub(super) use statement::{Statement, each, inserts, sql};
