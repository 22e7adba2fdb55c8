//! The addresses that a request wants to have suppressed.

use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::journey::accept::json::not_an_object;
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::message::address::EmailAddress;
use crate::message::line::{ONE_LINE, is_one_line};
use crate::store::records::{NewSuppression, SuppressionKind};

/// Addresses of one request, at most.
const MAX_BATCH_ADDRESSES: usize = 1_000;
const MAX_REASON_CHARS: usize = 500;
/// What an address may come with.
pub const FIELDS: [&str; 3] = ["address", "reason", "expiresAt"];

/// The addresses of a batch.
pub fn items(body: &Value) -> Result<&[Value], Refusal> {
    let wanted = format!("must be a list of 1 to {MAX_BATCH_ADDRESSES} addresses to suppress");
    match body.get("data").and_then(Value::as_array) {
        None => Err(Refusal::fault("data", "missing", wanted)),
        Some(items) if items.is_empty() => Err(Refusal::fault("data", "empty", wanted)),
        Some(items) if items.len() > MAX_BATCH_ADDRESSES => {
            Err(Refusal::fault("data", "too_many", wanted))
        }
        Some(items) => Ok(items),
    }
}

/// One address, or all that is wrong with it.
pub fn wanted(
    account: AccountId,
    body: &Value,
    now: Timestamp,
) -> Result<NewSuppression, Vec<Fault>> {
    let Some(body) = body.as_object() else {
        return Err(vec![not_an_object("a suppression", body)]);
    };
    let address = address(body);
    let reason = reason(body);
    let expires_at = expires_at(body, now);
    match (address, reason, expires_at) {
        (Ok(address), Ok(reason), Ok(expires_at)) => Ok(NewSuppression {
            account_id: account,
            address,
            kind: SuppressionKind::Manual,
            reason,
            message_id: None,
            expires_at,
        }),
        (address, reason, expires_at) => {
            let faults = [address.err(), reason.err(), expires_at.err()];
            Err(faults.into_iter().flatten().collect())
        }
    }
}

fn address(body: &Map<String, Value>) -> Result<String, Fault> {
    let text = text(body, "address")?;
    let text = text.ok_or_else(|| Fault::new("address", "missing", "is required"))?;
    let address = text.parse::<EmailAddress>();
    address
        .map(|it| it.folded())
        .map_err(|error| Fault::new("address", "invalid", error.to_string()))
}

fn reason(body: &Map<String, Value>) -> Result<String, Fault> {
    let reason = text(body, "reason")?.unwrap_or("by the account holder");
    if reason.chars().count() > MAX_REASON_CHARS {
        let message = format!("may have at most {MAX_REASON_CHARS} characters");
        return Err(Fault::new("reason", "too_long", message));
    }
    if !is_one_line(reason) {
        let message = format!("must be {ONE_LINE}");
        return Err(Fault::new("reason", "invalid", message));
    }
    Ok(reason.to_owned())
}

fn expires_at(body: &Map<String, Value>, now: Timestamp) -> Result<Option<Timestamp>, Fault> {
    let Some(text) = text(body, "expiresAt")? else { return Ok(None) };
    match Timestamp::parse_rfc3339(text) {
        Some(moment) if moment > now => Ok(Some(moment)),
        Some(_) => Err(Fault::new("expiresAt", "past", "must be a moment to come")),
        None => {
            let wanted = "must be RFC 3339, as in 2026-12-24T18:00:00Z";
            Err(Fault::new("expiresAt", "invalid", wanted))
        }
    }
}

/// A text that may be absent or null.
fn text<'a>(body: &'a Map<String, Value>, field: &str) -> Result<Option<&'a str>, Fault> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(Fault::new(field, "type", "must be a string"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn read(body: &Value) -> Result<NewSuppression, Vec<String>> {
        let wanted = wanted(AccountId::new(NOW), body, NOW);
        wanted.map_err(|faults| faults.into_iter().map(|it| it.field).collect())
    }

    #[test]
    fn an_address_is_folded_and_stays_for_ever_where_nothing_else_is_said() {
        let new = read(&json!({"address": "Ada@Example.COM", "reason": null})).expect("valid");
        assert_eq!((new.address.as_str(), new.expires_at), ("ada@example.com", None));
        assert_eq!(new.kind, SuppressionKind::Manual);
    }

    #[test]
    fn all_faults_are_named_at_once() {
        let faults = read(&json!({"reason": "a\nb", "expiresAt": "2020-01-01T00:00:00Z"}));
        assert_eq!(faults, Err(["address", "reason", "expiresAt"].map(str::to_owned).to_vec()));
        let faults = read(&json!({"address": 5, "reason": "x".repeat(501), "expiresAt": "soon"}));
        assert_eq!(faults.map(|_| ()).expect_err("faulty").len(), 3);
        assert_eq!(read(&json!([])), Err(vec![String::new()]));
    }

    #[test]
    fn a_batch_has_one_to_a_thousand_addresses() {
        for (count, fits) in [(0, false), (1, true), (1_000, true), (1_001, false)] {
            let body = json!({"data": vec![json!({}); count]});
            assert_eq!(items(&body).is_ok(), fits, "{count}");
        }
        assert!(items(&json!([])).is_err());
    }
}
