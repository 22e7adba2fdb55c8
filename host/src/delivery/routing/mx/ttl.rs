//! How long the result of a lookup is cached.

use std::time::Duration;

/// Upper bound of a cached MX result, whatever TTL its records have.
pub const MAX_TTL: Duration = Duration::from_hours(1);
pub const MIN_TTL: Duration = Duration::from_secs(30);
/// How long expired hosts serve while a new lookup runs.
pub const STALE_TTL: Duration = Duration::from_mins(5);
pub const PERMANENT_FAILURE_TTL: Duration = Duration::from_mins(5);
pub const TEMPORARY_FAILURE_TTL: Duration = Duration::from_secs(30);
