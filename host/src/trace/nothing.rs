//! What a binary without the feature `otlp` has in place of traces.

use std::time::{Duration, Instant};

use http::HeaderMap;

use super::Attempted;
use crate::id::{AccountId, MessageId};

/// How a request arrived.
#[derive(Debug, Clone, Default)]
pub struct Arrival(());

/// When something began and ended.
#[derive(Debug, Clone, Copy)]
pub struct Times(());

impl Arrival {
    #[must_use]
    pub fn over_http(_: Instant, _: &HeaderMap) -> Self {
        Self(())
    }

    #[must_use]
    pub fn over_smtp(_: Instant) -> Self {
        Self(())
    }
}

impl Times {
    #[must_use]
    pub fn since(_: Instant) -> Self {
        Self(())
    }

    #[must_use]
    pub fn of_the_last(_: Duration) -> Self {
        Self(())
    }
}

pub fn step(_: MessageId, _: &'static str, _: Times) {}

pub fn accepted(_: &Arrival, _: AccountId, _: Times, _: impl Iterator<Item = MessageId>) {}

pub fn attempt(_: MessageId, _: Times, _: &Attempted<'_>) {}

pub fn posted(_: &str, _: Times, _: Option<u16>) {}
