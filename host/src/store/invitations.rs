//! Invitations that owners of accounts mail, and what bounds them.

use super::Store;
use super::database::{Tx, column, moment_or_none, sql};
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::message::address::EmailAddress;
use crate::store::StoreError;

/// An invitation that an owner of an account mails.
#[derive(Debug, Clone, Copy)]
pub struct NewInvitation<'a> {
    pub account: AccountId,
    pub email: &'a EmailAddress,
    pub at: Timestamp,
    /// Until when it counts.
    pub expires_at: Timestamp,
}

/// What was mailed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentInvitations {
    /// Invitations of the account that count.
    pub count: u32,
    /// When the first of them counts no more.
    pub first_end: Option<Timestamp>,
    /// When the address was last invited, from any account.
    pub newest_to_address: Option<Timestamp>,
}

impl Store {
    /// Notes that somebody is invited once more, if `decide` allows it. From then on the invitation is as old as this mail.
    ///
    /// # Errors
    /// The database failed. What `decide` refuses is within the answer.
    pub async fn invite_again<E>(
        &self,
        new: NewInvitation<'_>,
        decide: impl FnOnce(RecentInvitations) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut tx = self.db.begin("invite_again").await?;
        let recent = recent_invitations(&mut tx, (new.account, new.email), new.at).await?;
        if let Err(refused) = decide(recent) {
            return Ok(Err(refused));
        }
        add_invitation(&mut tx, new).await?;
        sql("-- invite_again
             UPDATE memberships SET created_at = $3
             WHERE account_id = $1 AND is_accepted = FALSE
               AND user_id = (SELECT id FROM users WHERE email = $2)")
        .bind(new.account)
        .bind(new.email.to_string().to_lowercase())
        .bind(new.at.millis())
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(Ok(()))
    }
}

pub(super) async fn recent_invitations(
    tx: &mut Tx,
    (account, email): (AccountId, &EmailAddress),
    now: Timestamp,
) -> Result<RecentInvitations, StoreError> {
    let of_account = sql("-- recent_invitations
         SELECT count(*) AS invitations, min(expires_at) AS first_end FROM invitations
         WHERE account_id = $1 AND expires_at > $2")
    .bind(account)
    .bind(now.millis())
    .one(&mut *tx)
    .await?;
    let to_address = sql("-- recent_invitations: to the address
         SELECT max(created_at) AS newest FROM invitations WHERE address = $1")
    .bind(email.to_string().to_lowercase())
    .one(&mut *tx)
    .await?;
    Ok(RecentInvitations {
        count: column(&of_account, "invitations")?,
        first_end: moment_or_none(&of_account, "first_end")?,
        newest_to_address: moment_or_none(&to_address, "newest")?,
    })
}

pub(super) async fn add_invitation(tx: &mut Tx, new: NewInvitation<'_>) -> Result<(), StoreError> {
    sql("-- add_invitation
         INSERT INTO invitations (account_id, address, created_at, expires_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (account_id, address, created_at) DO NOTHING")
    .bind(new.account)
    .bind(new.email.to_string().to_lowercase())
    .bind(new.at.millis())
    .bind(new.expires_at.millis())
    .run(tx)
    .await
    .map(|_| ())
}
