//! What PostgreSQL says of an error, by its SQLSTATE.

/// `query_canceled`: the time of a list is over.
pub const CANCELED: &str = "57014";
/// `read_only_sql_transaction`: the host has become a standby; `admin_shutdown`, `crash_shutdown` and
/// `cannot_connect_now`.
const LOST: [&str; 4] = ["25006", "57P01", "57P02", "57P03"];

/// The SQLSTATE of an error.
pub fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).map(Into::into)
}

/// Whether the connection is of no use any more, and most likely those beside it neither.
pub fn is_lost(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(_)) || code(error).is_some_and(|it| LOST.contains(&&*it))
}
