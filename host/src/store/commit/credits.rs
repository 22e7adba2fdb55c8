//! Tells accounts whose credits the debits of a transaction have made low, or used up.

use std::collections::HashMap;

use serde_json::json;

use super::super::database::Tx;
use super::super::events::tell;
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::store::StoreError;

/// Writes `credits.low` for balances that fell below `low`, and `credits.exhausted` for those at zero.
pub async fn tell_balances(
    tx: &mut Tx,
    before: &HashMap<AccountId, i64>,
    after: &HashMap<AccountId, i64>,
    low: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    for (account, had) in before {
        let has = after.get(account).copied().unwrap_or(*had);
        let subject = account.to_string();
        let facts = json!({"balance": has, "threshold": low});
        if has < low && *had >= low {
            tell(tx, "credits.low", &subject, &subject, &facts, now).await?;
        }
        if has == 0 && *had > 0 {
            tell(tx, "credits.exhausted", &subject, &subject, &facts, now).await?;
        }
    }
    Ok(())
}
