//! Links that work once.

use super::Store;
use super::database::{Row, Tx, column, moment, sql, word};
use crate::clock::Timestamp;
use crate::id::{AccountId, UserId};
use crate::store::StoreError;

/// What a link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPurpose {
    /// The first operator makes an account of the server.
    SetUp,
    /// A person who was added chooses a password.
    Invitation,
    /// A person who has lost the password chooses another.
    Reset,
    /// `waxwing dev` lets its owner in.
    LogIn,
    /// The password was right, and the code of the second factor is still to come.
    SecondStep,
}

/// A link as the server keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRow {
    pub purpose: LinkPurpose,
    /// None for a set-up.
    pub user: Option<UserId>,
    /// The account that whoever takes the link accepts an invitation to.
    pub account: Option<AccountId>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl LinkPurpose {
    pub const ALL: [Self; 5] =
        [Self::SetUp, Self::Invitation, Self::Reset, Self::LogIn, Self::SecondStep];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::Invitation => "invitation",
            Self::Reset => "reset",
            Self::LogIn => "log-in",
            Self::SecondStep => "second-step",
        }
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

impl Store {
    /// Keeps a link under the hash of its secret.
    pub async fn add_link(&self, hash: &[u8; 32], link: &LinkRow) -> Result<(), StoreError> {
        sql("-- add_link
             INSERT INTO one_time_links (hash, purpose, user_id, account_id, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)")
        .bind(hash.to_vec())
        .bind(link.purpose.as_str())
        .bind(link.user)
        .bind(link.account)
        .bind(link.created_at.millis())
        .bind(link.expires_at.millis())
        .run(&self.db.writer)
        .await
        .map(|_| ())
    }

    /// The link whose secret has that hash, unless it is used or over.
    pub async fn link(
        &self,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<LinkRow>, StoreError> {
        let row = sql("-- link
             SELECT purpose, user_id, account_id, created_at, expires_at
             FROM one_time_links WHERE hash = $1 AND expires_at > $2")
        .bind(hash.to_vec())
        .bind(now.millis())
        .optional(&self.db.readers)
        .await?;
        row.map(|row| link_row(&row)).transpose()
    }

    /// The newest link by which a person chooses a password, over or not.
    pub async fn newest_password_link(&self, user: UserId) -> Result<Option<LinkRow>, StoreError> {
        let row = sql("-- newest_password_link
             SELECT purpose, user_id, account_id, created_at, expires_at
             FROM one_time_links WHERE user_id = $1 AND purpose IN ($2, $3)
             ORDER BY created_at DESC LIMIT 1")
        .bind(user)
        .bind(LinkPurpose::Invitation.as_str())
        .bind(LinkPurpose::Reset.as_str())
        .optional(&self.db.readers)
        .await?;
        row.map(|row| link_row(&row)).transpose()
    }

    /// Counts a code that is tried with a link; answers false where `most` were tried before, or the link does not work.
    pub async fn try_code(
        &self,
        hash: &[u8; 32],
        most: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let counted = sql("-- try_code
             UPDATE one_time_links SET codes_tried = codes_tried + 1
             WHERE hash = $1 AND expires_at > $2 AND codes_tried < $3")
        .bind(hash.to_vec())
        .bind(now.millis())
        .bind(most)
        .run(&self.db.writer)
        .await?;
        Ok(counted == 1)
    }

    /// Notes that the owner of a person's only account is shown a link of the person, who has no password yet: by this
    /// link nobody proves to have the address. Notes nothing, and answers false, where the person is somebody elsewhere:
    /// the owner would get in there, too.
    pub async fn show_link(&self, user: UserId, hash: &[u8; 32]) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("show_link").await?;
        let unproven = sql("-- show_link
             UPDATE users SET address_proven = FALSE
             WHERE id = $1 AND password IS NULL AND is_operator = FALSE
                   AND (SELECT count(*) FROM memberships WHERE user_id = $1) = 1")
        .bind(user)
        .run(&mut tx)
        .await?;
        let shown = sql("-- show_link: the link
             UPDATE one_time_links SET is_shown = TRUE WHERE hash = $1 AND user_id = $2")
        .bind(hash.to_vec())
        .bind(user)
        .run(&mut tx)
        .await?;
        if unproven != 1 || shown != 1 {
            return Ok(false);
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Uses a link up; answers whether it still worked.
    pub async fn take_link(&self, hash: &[u8; 32], now: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("take_link").await?;
        let is_taken = take(&mut tx, hash, now).await?;
        tx.commit().await?;
        Ok(is_taken)
    }
}

/// Uses a link up; answers whether it still worked.
pub(super) async fn take(tx: &mut Tx, hash: &[u8; 32], now: Timestamp) -> Result<bool, StoreError> {
    let taken = sql("-- take_link\nDELETE FROM one_time_links WHERE hash = $1 AND expires_at > $2")
        .bind(hash.to_vec())
        .bind(now.millis())
        .run(tx)
        .await?;
    Ok(taken == 1)
}

fn link_row(row: &Row) -> Result<LinkRow, StoreError> {
    Ok(LinkRow {
        purpose: word(row, "one_time_links", "purpose", LinkPurpose::of)?,
        user: column(row, "user_id")?,
        account: column(row, "account_id")?,
        created_at: moment(row, "created_at")?,
        expires_at: moment(row, "expires_at")?,
    })
}
