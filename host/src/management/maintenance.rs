//! Read-only mode: what an operator may say of it.

use crate::clock::Timestamp;
use crate::message::line::{ONE_LINE, is_one_line};
use crate::store::{Maintenance, MaintenanceDelivery, Store, StoreError};

/// The reason stands in each refusal, also in a line of SMTP.
pub const MAX_REASON_CHARS: usize = 200;

/// Why read-only mode is not switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReason {
    #[error("must say why the server takes nothing; clients are told")]
    Missing,
    #[error("must be at most {MAX_REASON_CHARS} characters {ONE_LINE}")]
    Text,
}

/// A reason that clients can be told.
pub fn reason(text: &str) -> Result<String, InvalidReason> {
    let text = text.trim();
    if text.is_empty() {
        return Err(InvalidReason::Missing);
    }
    if text.chars().count() > MAX_REASON_CHARS || !is_one_line(text) {
        return Err(InvalidReason::Text);
    }
    Ok(text.to_owned())
}

/// Switches read-only mode on. Where it is on already, it keeps its beginning, and its reason and its delivery change.
pub async fn switch_on(
    store: &Store,
    reason: String,
    delivery: MaintenanceDelivery,
    now: Timestamp,
) -> Result<Maintenance, StoreError> {
    let since = store.maintenance().await?.map_or(now, |it| it.since);
    let wanted = Maintenance { reason, since, delivery };
    store.set_maintenance(Some(&wanted)).await?;
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_that_says_something() {
        assert_eq!(reason(" moving to a new disk ").as_deref(), Ok("moving to a new disk"));
        assert_eq!(reason("  "), Err(InvalidReason::Missing));
        assert_eq!(reason("a\r\n250 OK"), Err(InvalidReason::Text));
        assert!(reason(&"é".repeat(MAX_REASON_CHARS)).is_ok());
        assert_eq!(reason(&"é".repeat(MAX_REASON_CHARS + 1)), Err(InvalidReason::Text));
    }
}
