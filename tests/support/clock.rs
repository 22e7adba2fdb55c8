//! Moments, as the API and the database read them.

use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The moment after so much time, to the millisecond, as in `2026-11-26T12:00:00.25Z`.
///
/// # Panics
/// Its year has five digits.
#[must_use]
pub fn from_now(after: Duration) -> String {
    let moment = (OffsetDateTime::now_utc() + after).truncate_to_millisecond();
    moment.format(&Rfc3339).expect("a year of four digits")
}

/// Milliseconds since 1970.
///
/// # Panics
/// They are more than 63 bits.
#[must_use]
pub fn now_ms() -> i64 {
    let nanoseconds = OffsetDateTime::now_utc().unix_timestamp_nanos();
    i64::try_from(nanoseconds / 1_000_000).expect("63 bits")
}
