//! A server under test: a real process on free ports, with a data directory of its own.
//!
//! [`Server`] starts, kills and restarts it, [`Answer`] holds every answer against the contract,
//! [`Mail`] is what arrived in the sandbox inbox. Nothing here sleeps for luck: every wait is for a
//! condition, with a bound.

mod account;
mod answer;
mod binary;
mod cli;
mod documents;
mod domains;
mod inbox;
mod launch;
mod openapi;
mod plugins;
mod receiver;
mod seed;
mod server;
mod smtp;
mod wait;
mod webhooks;

pub use account::Account;
pub use answer::{Answer, assert_problem};
pub use binary::binary;
pub use documents::{Document, documents, workspace};
pub use domains::{Domain, Record, name_server};
pub use inbox::Mail;
pub use launch::{Launch, waxwing};
pub use receiver::{Conduct, Posted, Receiver};
pub use server::{Server, http_client};
pub use smtp::{Port, Smtp, SmtpReply};
pub use wait::{until, until_async};
pub use webhooks::Webhook;
