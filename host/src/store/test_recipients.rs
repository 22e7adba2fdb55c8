//! Addresses that tests of templates really go to, and the mails that ask their holders.

use super::Store;
use super::database::{Row, Tx, column, moment, moment_or_none, sql};
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::store::StoreError;

/// An address of an account's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRecipientRow {
    /// In lower case throughout.
    pub address: String,
    pub created_at: Timestamp,
    /// None until its holder has agreed.
    pub confirmed_at: Option<Timestamp>,
}

/// A mail that asks the holder of an address.
#[derive(Debug, Clone)]
pub struct ConfirmationMail {
    /// Of the secret in its link.
    pub hash: [u8; 32],
    pub account: AccountId,
    /// In lower case throughout.
    pub address: String,
    pub at: Timestamp,
}

/// What is known when an address is to be asked.
#[derive(Debug, Clone)]
pub struct AskingFacts {
    /// How the address stands on the list.
    pub row: Option<TestRecipientRow>,
    /// Addresses of the list, confirmed or not.
    pub listed: u32,
    pub of_account: RecentMails,
    /// From any account.
    pub to_address: RecentMails,
}

/// Mails that still count against a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentMails {
    pub count: u32,
    pub oldest: Option<Timestamp>,
}

/// Whose address a link confirms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    pub account: AccountId,
    pub address: String,
}

impl Store {
    /// An account's list, in the order of the addresses.
    pub async fn test_recipients(
        &self,
        account: AccountId,
    ) -> Result<Vec<TestRecipientRow>, StoreError> {
        let rows = sql("-- test_recipients
             SELECT address, created_at, confirmed_at FROM test_recipients
             WHERE account_id = $1 ORDER BY address")
        .bind(account)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(recipient_row).collect()
    }

    /// Lists an address and keeps the hash of the link that its holder is asked by, if `decide` lets it. Mails from
    /// before `since` count no more.
    ///
    /// # Errors
    /// The database failed. What `decide` refuses is within the answer.
    pub async fn ask_test_recipient<E>(
        &self,
        mail: &ConfirmationMail,
        since: Timestamp,
        decide: impl FnOnce(AskingFacts) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut tx = self.db.begin("ask_test_recipient").await?;
        let facts = asking_facts(&mut tx, mail, since).await?;
        if let Err(refused) = decide(facts) {
            return Ok(Err(refused));
        }
        sql("-- ask_test_recipient
             INSERT INTO test_recipients (account_id, address, created_at) VALUES ($1, $2, $3)
             ON CONFLICT (account_id, address) DO NOTHING")
        .bind(mail.account)
        .bind(&mail.address)
        .bind(mail.at.millis())
        .run(&mut tx)
        .await?;
        sql("-- ask_test_recipient: the mail
             INSERT INTO confirmation_mails (hash, account_id, address, created_at)
             VALUES ($1, $2, $3, $4)")
        .bind(mail.hash.to_vec())
        .bind(mail.account)
        .bind(&mail.address)
        .bind(mail.at.millis())
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// Takes back what [`Self::ask_test_recipient`] has written, because the mail was not sent.
    pub async fn unask_test_recipient(&self, mail: &ConfirmationMail) -> Result<(), StoreError> {
        let mut tx = self.db.begin("unask_test_recipient").await?;
        sql("-- unask_test_recipient: the mail\nDELETE FROM confirmation_mails WHERE hash = $1")
            .bind(mail.hash.to_vec())
            .run(&mut tx)
            .await?;
        // One that an earlier mail has asked stays.
        sql("-- unask_test_recipient
             DELETE FROM test_recipients
             WHERE account_id = $1 AND address = $2 AND created_at = $3 AND confirmed_at IS NULL")
        .bind(mail.account)
        .bind(&mail.address)
        .bind(mail.at.millis())
        .run(&mut tx)
        .await?;
        tx.commit().await
    }

    /// Takes an address off an account's list, and ends its links; whether it was there.
    pub async fn remove_test_recipient(
        &self,
        account: AccountId,
        address: &str,
    ) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("remove_test_recipient").await?;
        let removed = sql("-- remove_test_recipient
             DELETE FROM test_recipients WHERE account_id = $1 AND address = $2")
        .bind(account)
        .bind(address)
        .run(&mut tx)
        .await?;
        close_links(&mut tx, account, address).await?;
        tx.commit().await?;
        Ok(removed == 1)
    }

    /// What the link with that hash confirms, if it works: one made after `since`, and neither used nor ended.
    pub async fn confirmation(
        &self,
        hash: &[u8; 32],
        since: Timestamp,
    ) -> Result<Option<Confirmation>, StoreError> {
        let row = sql(CONFIRMATION)
            .bind(hash.to_vec())
            .bind(since.millis())
            .optional(&self.db.readers)
            .await?;
        row.as_ref().map(confirmation_row).transpose()
    }

    /// Confirms the address of a link that works, and ends all links to the address from its account.
    pub async fn confirm_test_recipient(
        &self,
        hash: &[u8; 32],
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Confirmation>, StoreError> {
        let mut tx = self.db.begin("confirm_test_recipient").await?;
        let row =
            sql(CONFIRMATION).bind(hash.to_vec()).bind(since.millis()).optional(&mut tx).await?;
        let Some(row) = row else { return Ok(None) };
        let confirmation = confirmation_row(&row)?;
        sql("-- confirm_test_recipient
             UPDATE test_recipients SET confirmed_at = $3
             WHERE account_id = $1 AND address = $2 AND confirmed_at IS NULL")
        .bind(confirmation.account)
        .bind(&confirmation.address)
        .bind(now.millis())
        .run(&mut tx)
        .await?;
        close_links(&mut tx, confirmation.account, &confirmation.address).await?;
        tx.commit().await?;
        Ok(Some(confirmation))
    }

    /// Drops mails from before a moment, at most `limit`. Answers how many went.
    pub async fn drop_confirmations(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        sql("-- drop_confirmations
             DELETE FROM confirmation_mails
             WHERE hash IN (SELECT hash FROM confirmation_mails WHERE created_at <= $1 LIMIT $2)")
        .bind(before.millis())
        .bind(limit)
        .run(&self.db.writer)
        .await
    }
}

const CONFIRMATION: &str = "-- confirmation
    SELECT account_id, address FROM confirmation_mails
    WHERE hash = $1 AND created_at > $2 AND is_open = TRUE";

async fn asking_facts(
    tx: &mut Tx,
    mail: &ConfirmationMail,
    since: Timestamp,
) -> Result<AskingFacts, StoreError> {
    let row = sql("-- asking_facts: the address
         SELECT address, created_at, confirmed_at FROM test_recipients
         WHERE account_id = $1 AND address = $2")
    .bind(mail.account)
    .bind(&mail.address)
    .optional(&mut *tx)
    .await?;
    let listed = sql(
        "-- asking_facts: listed\nSELECT count(*) AS listed FROM test_recipients WHERE account_id = $1",
    )
    .bind(mail.account)
    .one(&mut *tx)
    .await?;
    let of_account = sql("-- asking_facts: of the account
         SELECT count(*) AS mails, min(created_at) AS oldest FROM confirmation_mails
         WHERE account_id = $1 AND created_at > $2")
    .bind(mail.account)
    .bind(since.millis())
    .one(&mut *tx)
    .await?;
    let to_address = sql("-- asking_facts: to the address
         SELECT count(*) AS mails, min(created_at) AS oldest FROM confirmation_mails
         WHERE address = $1 AND created_at > $2")
    .bind(&mail.address)
    .bind(since.millis())
    .one(&mut *tx)
    .await?;
    Ok(AskingFacts {
        row: row.as_ref().map(recipient_row).transpose()?,
        listed: column(&listed, "listed")?,
        of_account: recent(&of_account)?,
        to_address: recent(&to_address)?,
    })
}

async fn close_links(tx: &mut Tx, account: AccountId, address: &str) -> Result<(), StoreError> {
    sql("-- close_links
         UPDATE confirmation_mails SET is_open = FALSE
         WHERE account_id = $1 AND address = $2 AND is_open = TRUE")
    .bind(account)
    .bind(address)
    .run(tx)
    .await
    .map(|_| ())
}

fn recent(row: &Row) -> Result<RecentMails, StoreError> {
    Ok(RecentMails { count: column(row, "mails")?, oldest: moment_or_none(row, "oldest")? })
}

fn recipient_row(row: &Row) -> Result<TestRecipientRow, StoreError> {
    Ok(TestRecipientRow {
        address: column(row, "address")?,
        created_at: moment(row, "created_at")?,
        confirmed_at: moment_or_none(row, "confirmed_at")?,
    })
}

fn confirmation_row(row: &Row) -> Result<Confirmation, StoreError> {
    Ok(Confirmation { account: column(row, "account_id")?, address: column(row, "address")? })
}
