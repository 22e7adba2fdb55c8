//! People and their passwords. What they are to accounts stands in `memberships`.

use super::Store;
use super::accounts::insert_account;
use super::database::{Row, Statement, Tx, column, either, moment, parsed, sql};
use super::factors::{NewFactor, delete_factor, put_factor};
use super::owners::{AccountOwners, owners_around};
use super::sessions::end_other_sessions;
use crate::account::Account;
use crate::account::role::Role;
use crate::clock::Timestamp;
use crate::id::{AccountId, Identifier, SessionId, UserId};
use crate::message::address::EmailAddress;
use crate::store::StoreError;

/// Somebody who logs in.
#[derive(Debug, Clone)]
pub struct PersonRow {
    pub id: UserId,
    pub email: EmailAddress,
    /// Argon2id as a PHC string; none until the invitation is taken.
    pub password: Option<String>,
    pub is_operator: bool,
    /// Whether a log-in asks for a code, too.
    pub has_factor: bool,
    pub created_at: Timestamp,
}

/// A person to add.
#[derive(Debug, Clone)]
pub struct NewUser {
    pub id: UserId,
    pub email: EmailAddress,
    pub password: Option<String>,
    pub is_operator: bool,
    pub membership: Option<(AccountId, Role)>,
    pub at: Timestamp,
}

/// What a one-time link of an existing person changes.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub user: UserId,
    pub password: String,
    /// `None` keeps the factor.
    pub factor: Option<NewFactor>,
    pub at: Timestamp,
}

impl Store {
    /// Adds a person; answers false where the address is taken.
    pub async fn add_user(&self, new: &NewUser) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("add_user").await?;
        if !insert_user(&mut tx, new).await? {
            return Ok(false);
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Adds the first operator with a factor, and opens the operator's account where it is new, if the link still works:
    /// all of it, or nothing. Answers whether it did.
    pub async fn set_up(
        &self,
        link: &[u8; 32],
        opened: Option<&Account>,
        (new, factor): (&NewUser, &NewFactor),
    ) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("set_up").await?;
        if !super::one_time_links::take(&mut tx, link, new.at).await? {
            return Ok(false);
        }
        if let Some(account) = opened {
            insert_account(account).run(&mut tx).await?;
        }
        if !insert_user(&mut tx, new).await? {
            return Ok(false);
        }
        put_factor(&mut tx, new.id, factor, new.at).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Gives a person the password, and the factor, that came over a one-time link, if the link still works. Ends all
    /// of the person's sessions and other links. Whoever comes by a link that no owner was shown has the address; if it was
    /// not proven before, the factor ends, too, for it may be another's. Where the link invites to an account, the person
    /// accepts that with it. Answers whether it did.
    pub async fn take_credentials(
        &self,
        link: &[u8; 32],
        new: &Credentials,
    ) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("take_credentials").await?;
        let proven = sql("-- take_credentials: the address
             UPDATE users SET address_proven = TRUE
             WHERE id = $1 AND address_proven = FALSE
                   AND NOT EXISTS (SELECT 1 FROM one_time_links WHERE hash = $2 AND is_shown = TRUE)")
        .bind(new.user)
        .bind(link.to_vec())
        .run(&mut tx)
        .await?;
        if proven == 1 {
            delete_factor(&mut tx, new.user).await?;
        }
        sql("-- take_credentials: the account
             UPDATE memberships SET is_accepted = TRUE, used_at = $3
             WHERE user_id = $1 AND account_id = (SELECT account_id FROM one_time_links WHERE hash = $2)")
        .bind(new.user)
        .bind(link.to_vec())
        .bind(new.at.millis())
        .run(&mut tx)
        .await?;
        if !super::one_time_links::take(&mut tx, link, new.at).await? {
            return Ok(false);
        }
        set_password(new.user, &new.password).run(&mut tx).await?;
        if let Some(factor) = &new.factor {
            put_factor(&mut tx, new.user, factor, new.at).await?;
        }
        for statement in [
            "-- take_credentials: sessions\nDELETE FROM sessions WHERE user_id = $1",
            "-- take_credentials: links\nDELETE FROM one_time_links WHERE user_id = $1",
        ] {
            sql(statement).bind(new.user).run(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// The person with that address.
    pub async fn user_by_email(
        &self,
        email: &EmailAddress,
    ) -> Result<Option<PersonRow>, StoreError> {
        let row = sql("-- user_by_email
             SELECT id, email, password, is_operator, created_at,
                    EXISTS (SELECT 1 FROM factors WHERE user_id = users.id) AS has_factor
             FROM users WHERE email = $1")
        .bind(email.to_string().to_lowercase())
        .optional(&self.db.readers)
        .await?;
        row.map(|row| user_row(&row)).transpose()
    }

    /// One person; none where there is no such person.
    pub async fn user(&self, id: UserId) -> Result<Option<PersonRow>, StoreError> {
        let row = sql("-- user
             SELECT id, email, password, is_operator, created_at,
                    EXISTS (SELECT 1 FROM factors WHERE user_id = users.id) AS has_factor
             FROM users WHERE id = $1")
        .bind(id)
        .optional(&self.db.readers)
        .await?;
        row.map(|row| user_row(&row)).transpose()
    }

    /// People in the order of their making, behind `after`.
    pub async fn users_after(
        &self,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<PersonRow>, StoreError> {
        let rows = sql("-- users_after
             SELECT id, email, password, is_operator, created_at,
                    EXISTS (SELECT 1 FROM factors WHERE user_id = users.id) AS has_factor
             FROM users WHERE id > $1 ORDER BY id LIMIT $2")
        .bind(after.unwrap_or(Identifier::MIN))
        .bind(limit)
        .all(&self.db.pages)
        .await?;
        rows.iter().map(user_row).collect()
    }

    /// Whether somebody can log in and manage the server.
    pub async fn has_operator(&self) -> Result<bool, StoreError> {
        let row = sql(either(
            "-- has_operator
             SELECT 1 AS one FROM users WHERE is_operator = 1 AND password IS NOT NULL LIMIT 1",
            "-- postgres: has_operator
             SELECT 1 AS one FROM users WHERE is_operator AND password IS NOT NULL LIMIT 1",
        ))
        .optional(&self.db.readers)
        .await?;
        Ok(row.is_some())
    }

    /// Changes the password from the one that was compared to another; answers false where it has changed since. All other
    /// sessions and all links end with it: resets, and log-ins before their second step. The session that is kept is not
    /// verified: nobody was asked for the second factor.
    pub async fn change_password(
        &self,
        user: UserId,
        (before, after): (Option<&str>, &str),
        kept: SessionId,
    ) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("change_password").await?;
        let row = sql("-- change_password: before\nSELECT password FROM users WHERE id = $1")
            .bind(user)
            .optional(&mut tx)
            .await?;
        let now: Option<String> = match &row {
            Some(row) => column(row, "password")?,
            None => return Ok(false),
        };
        if now.as_deref() != before {
            return Ok(false);
        }
        set_password(user, after).run(&mut tx).await?;
        end_other_sessions(user, kept).run(&mut tx).await?;
        sql("-- change_password: links\nDELETE FROM one_time_links WHERE user_id = $1")
            .bind(user)
            .run(&mut tx)
            .await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Removes a person with all that is the person's, as `decide` lets it, which is given the accounts that the person
    /// is in.
    ///
    /// # Errors
    /// The database failed. What `decide` refuses is within the answer.
    pub async fn remove_user<E>(
        &self,
        user: UserId,
        decide: impl FnOnce(&[AccountOwners]) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut tx = self.db.begin("remove_user").await?;
        let accounts = owners_around(&mut tx, user).await?;
        if let Err(refused) = decide(&accounts) {
            return Ok(Err(refused));
        }
        delete_user(&mut tx, user).await?;
        tx.commit().await?;
        Ok(Ok(()))
    }
}

pub(super) async fn delete_user(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    for statement in [
        "-- remove_user: sessions\nDELETE FROM sessions WHERE user_id = $1",
        "-- remove_user: links\nDELETE FROM one_time_links WHERE user_id = $1",
        "-- remove_user: factors\nDELETE FROM factors WHERE user_id = $1",
        "-- remove_user: codes\nDELETE FROM recovery_codes WHERE user_id = $1",
        "-- remove_user: memberships\nDELETE FROM memberships WHERE user_id = $1",
        "-- remove_user\nDELETE FROM users WHERE id = $1",
    ] {
        sql(statement).bind(user).run(&mut *tx).await?;
    }
    Ok(())
}

pub(super) async fn insert_user(tx: &mut Tx, new: &NewUser) -> Result<bool, StoreError> {
    let added = sql("-- add_user
         INSERT INTO users (id, email, password, is_operator, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (email) DO NOTHING")
    .bind(new.id)
    .bind(new.email.to_string().to_lowercase())
    .bind(new.password.clone())
    .bind(new.is_operator)
    .bind(new.at.millis())
    .run(&mut *tx)
    .await?;
    if added == 0 {
        return Ok(false);
    }
    if let Some((account, role)) = new.membership {
        sql("-- add_user: membership
             INSERT INTO memberships (user_id, account_id, role, created_at) VALUES ($1, $2, $3, $4)")
        .bind(new.id)
        .bind(account)
        .bind(role.as_str())
        .bind(new.at.millis())
        .run(&mut *tx)
        .await?;
    }
    Ok(true)
}

fn set_password(user: UserId, password: &str) -> Statement<'_> {
    sql("-- change_password\nUPDATE users SET password = $2 WHERE id = $1")
        .bind(user)
        .bind(password)
}

pub(super) fn user_row(row: &Row) -> Result<PersonRow, StoreError> {
    Ok(PersonRow {
        id: column(row, "id")?,
        email: parsed(row, "users", "email")?,
        password: column(row, "password")?,
        is_operator: column(row, "is_operator")?,
        has_factor: column(row, "has_factor")?,
        created_at: moment(row, "created_at")?,
    })
}
