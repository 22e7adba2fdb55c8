//! What a session with the listener for reports and its driver exchange: settings and steps.

use std::sync::Arc;

use crate::relay::bounces::{Addresses, Mail};

/// Names and limits of a session.
#[derive(Debug)]
pub struct ListenerSettings {
    /// What the server calls itself.
    pub hostname: String,
    /// The largest message, in octets.
    pub message_bytes: usize,
    /// For whom mail is taken.
    pub addresses: Arc<Addresses>,
}

/// How the bytes are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Not at all: there is no certificate.
    None,
    /// Not yet: STARTTLS is offered.
    Offered,
    Tls,
}

/// What the driver does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Write the output, then give more bytes.
    Wait,
    /// Write the output, then go on with the same input: the output buffer is full.
    Flush,
    /// Write the output, shake hands, then [`super::Dialog::secured`].
    StartTls,
    /// A message is whole; then [`super::Dialog::stored`].
    Store(Box<Mail>),
    /// Write the output, then close.
    Close,
}

/// A report that cannot be stored now: the reply lets the client retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreUnavailable;
