//! A server under test: a real process on free ports, with a data directory of its own.
//!
//! `WAXWING_TEST_STORE=postgres` gives each a database of PostgreSQL as its store ([`OwnDatabase`]); elsewhere the store
//! is a file. [`Server`] starts, kills and restarts it, [`Database`] looks into its store, [`Answer`] holds every answer
//! against the contract, [`Mail`] is what arrived in the sandbox inbox. Nothing here sleeps for luck: every wait is for a
//! condition, with a bound.

mod account;
mod answer;
mod binary;
mod cli;
mod clock;
mod database;
mod documents;
mod domains;
mod half_sent;
mod inbox;
mod launch;
mod openapi;
mod own_database;
mod plugins;
mod receiver;
mod seed;
mod server;
mod smtp;
mod soundness;
mod wait;
mod webhooks;

pub use account::Account;
pub use answer::{Answer, assert_problem};
pub use binary::binary;
pub use clock::{from_now, now_ms};
pub use database::{Database, Sql, either, told};
pub use documents::{Document, documents, workspace};
pub use domains::{Domain, Record, name_server};
pub use half_sent::HalfSent;
pub use inbox::Mail;
pub use launch::{Launch, waxwing};
pub use own_database::{OwnDatabase, only_on_a_file};
pub use receiver::{Conduct, Posted, Receiver};
pub use server::{Server, http_client};
pub use smtp::{Port, Smtp, SmtpReply};
pub use soundness::UNSOUND;
pub use wait::{until, until_async};
pub use webhooks::Webhook;
