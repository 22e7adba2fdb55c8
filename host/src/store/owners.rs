//! Who owns an account: what the rule of the last owner (`people/owners`) is decided on.

use super::database::{Row, Tx, column, sql};
use crate::id::{AccountId, UserId};
use crate::store::StoreError;

/// An account with its owners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountOwners {
    pub account: AccountId,
    pub account_name: String,
    pub owners: Vec<Owner>,
}

/// An owner, or somebody who is invited as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub user: UserId,
    /// Whether the owner has accepted the invitation and chosen a password.
    pub can_log_in: bool,
}

/// The account with its owners; nothing where it has none.
pub(super) async fn owners_of(
    tx: &mut Tx,
    account: AccountId,
) -> Result<Vec<AccountOwners>, StoreError> {
    let rows = sql("-- owners_of
         SELECT m.account_id, a.name, m.user_id,
                (u.password IS NOT NULL AND m.is_accepted = TRUE) AS can_log_in
         FROM memberships m JOIN accounts a ON a.id = m.account_id JOIN users u ON u.id = m.user_id
         WHERE m.account_id = $1 AND m.role = 'owner'")
    .bind(account)
    .all(tx)
    .await?;
    by_account(&rows)
}

/// The accounts that a person is in, each with its owners.
pub(super) async fn owners_around(
    tx: &mut Tx,
    user: UserId,
) -> Result<Vec<AccountOwners>, StoreError> {
    let rows = sql("-- owners_around
         SELECT m.account_id, a.name, m.user_id,
                (u.password IS NOT NULL AND m.is_accepted = TRUE) AS can_log_in
         FROM memberships own JOIN memberships m ON m.account_id = own.account_id
              JOIN accounts a ON a.id = m.account_id JOIN users u ON u.id = m.user_id
         WHERE own.user_id = $1 AND m.role = 'owner' ORDER BY m.account_id")
    .bind(user)
    .all(tx)
    .await?;
    by_account(&rows)
}

/// Rows in the order of their accounts.
fn by_account(rows: &[Row]) -> Result<Vec<AccountOwners>, StoreError> {
    let mut accounts: Vec<AccountOwners> = Vec::new();
    for row in rows {
        let account: AccountId = column(row, "account_id")?;
        let (user, can_log_in) = (column(row, "user_id")?, column(row, "can_log_in")?);
        let owner = Owner { user, can_log_in };
        match accounts.last_mut().filter(|it| it.account == account) {
            Some(it) => it.owners.push(owner),
            None => accounts.push(AccountOwners {
                account,
                account_name: column(row, "name")?,
                owners: vec![owner],
            }),
        }
    }
    Ok(accounts)
}
