//! Reads query strings; what cannot be read is answered 400 and says why.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use http::StatusCode;

use super::problem::Problem;
use crate::clock::Timestamp;
use crate::journey::accept::refusal::{Fault, Refusal};

const DEFAULT_PAGE_ITEMS: u32 = 50;
const MAX_PAGE_ITEMS: u32 = 500;

/// A query that could be read.
///
/// # Errors
/// A parameter is unknown, stands twice, or is of another type.
pub fn read<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    query.map(|Query(query)| query).map_err(|rejection| {
        let text = rejection.body_text();
        let reason = text.rsplit_once("query string: ").map_or(text.as_str(), |(_, it)| it);
        let message = format!("the query is not valid: {reason}");
        Problem::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    })
}

/// How many things a page has.
///
/// # Errors
/// None are asked for.
pub fn limit(asked: Option<u32>) -> Result<u32, Problem> {
    match asked.unwrap_or(DEFAULT_PAGE_ITEMS) {
        0 => Err(Refusal::fault("limit", "invalid", "must be at least 1").into()),
        some => Ok(some.min(MAX_PAGE_ITEMS)),
    }
}

/// The faults of a query whose parameters are read one by one.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// A parameter that may be absent.
    pub fn read<T, E: std::fmt::Display>(
        &mut self,
        field: &str,
        text: Option<&str>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        match parse(text?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.0.push(Fault::new(field, "invalid", error.to_string()));
                None
            }
        }
    }

    /// A moment that may be absent.
    pub fn moment(&mut self, field: &str, text: Option<&str>) -> Option<Timestamp> {
        let wanted = "must be RFC 3339, as in 2026-12-24T18:00:00Z";
        self.read(field, text, |text| Timestamp::parse_rfc3339(text).ok_or(wanted))
    }
}
