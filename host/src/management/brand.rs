//! The brand of an account: its change, with what the audit log says of the change.

use super::acts::{self, Act};
use crate::account::brand::{Brand, BrandChanges};
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::store::{Store, StoreError};

/// Changes the brand of an account. Answers the brand as it is then, and the act for the audit log.
///
/// # Errors
/// There is no such account, or the database failed.
pub async fn change(
    store: &Store,
    account: AccountId,
    changes: &BrandChanges,
    now: Timestamp,
) -> Result<(Brand, Act), StoreError> {
    let before = store.account(account, now).await?.account.brand;
    let after = store.change_brand(account, changes).await?;
    let act = acts::brand_changed(account, &before, &after);
    Ok((after, act))
}
