//! People: their passwords and memberships.

use super::Store;
use super::accounts::insert_account;
use super::database::{Row, Statement, Tx, column, either, moment, parsed, sql};
use super::factors::{NewFactor, delete_factor, put_factor};
use super::invitations::{NewInvitation, RecentInvitations, add_invitation, recent_invitations};
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

/// What a person is to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MembershipRow {
    pub account: AccountId,
    pub account_name: String,
    pub role: Role,
}

/// Somebody who is in an account.
#[derive(Debug, Clone)]
pub struct MemberRow {
    pub user: PersonRow,
    pub role: Role,
    pub since: Timestamp,
}

/// What a change of a member is decided on.
#[derive(Debug, Clone)]
pub struct MemberFacts {
    pub is_member: bool,
    /// The owners of the account, and whether each has chosen a password.
    pub owners: Vec<(UserId, bool)>,
    /// Whether the person has a password, is an operator, or is in another account.
    pub outlives_membership: bool,
}

/// What becomes of a member of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberChange {
    Role(Role),
    /// Out of the account.
    Out,
    /// Removed as a person, with all that is the person's.
    Removed,
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

/// What stands when somebody is to be taken into an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoiningFacts {
    /// How many are in the account.
    pub people: u32,
    /// Somebody has the address.
    pub is_known: bool,
    /// And is in the account.
    pub is_member: bool,
    /// And the address counts as theirs: no owner of an account was shown the link that their log-in goes back to.
    pub is_proven: bool,
    pub invitations: RecentInvitations,
}

/// Who takes somebody into an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinedBy {
    /// An owner of the account; a new person is mailed an invitation, which counts for a time.
    Owner { counts_until: Timestamp },
    /// The operator of the server.
    Operator,
}

/// Who was taken into an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    pub user: UserId,
    pub is_new: bool,
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
    /// not proven before, the factor ends, too, for it may be another's. Answers whether it did.
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

    /// Changes a password. All other sessions and all links end with it: resets, and log-ins before their second step.
    /// The session that is kept is not verified: nobody was asked for the second factor.
    pub async fn change_password(
        &self,
        (user, password): (UserId, &str),
        kept: SessionId,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin("change_password").await?;
        set_password(user, password).run(&mut tx).await?;
        end_other_sessions(user, kept).run(&mut tx).await?;
        sql("-- change_password: links\nDELETE FROM one_time_links WHERE user_id = $1")
            .bind(user)
            .run(&mut tx)
            .await?;
        tx.commit().await
    }

    /// The accounts of a person, in the order in which they were opened.
    pub async fn memberships(&self, user: UserId) -> Result<Vec<MembershipRow>, StoreError> {
        let rows = sql("-- memberships
             SELECT m.account_id, a.name, m.role
             FROM memberships m JOIN accounts a ON a.id = m.account_id
             WHERE m.user_id = $1 ORDER BY m.account_id")
        .bind(user)
        .all(&self.db.readers)
        .await?;
        let row = |row: &Row| {
            Ok(MembershipRow {
                account: column(row, "account_id")?,
                account_name: column(row, "name")?,
                role: parsed(row, "memberships", "role")?,
            })
        };
        rows.iter().map(row).collect()
    }

    /// The people of an account, in the order in which they were made, behind `after`.
    pub async fn members(
        &self,
        account: AccountId,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<MemberRow>, StoreError> {
        let rows = sql("-- members
             SELECT u.id, u.email, u.password, u.is_operator, u.created_at, m.role, m.created_at AS since,
                    EXISTS (SELECT 1 FROM factors WHERE user_id = u.id) AS has_factor
             FROM memberships m JOIN users u ON u.id = m.user_id
             WHERE m.account_id = $1 AND m.user_id > $2 ORDER BY m.user_id LIMIT $3")
        .bind(account)
        .bind(after.unwrap_or(Identifier::MIN))
        .bind(limit)
        .all(&self.db.readers)
        .await?;
        let row = |row: &Row| {
            Ok(MemberRow {
                user: user_row(row)?,
                role: parsed(row, "memberships", "role")?,
                since: moment(row, "since")?,
            })
        };
        rows.iter().map(row).collect()
    }

    /// Takes somebody into an account, or gives a member another role, as `decide` lets it: whoever has the address of
    /// `new` already, else a new person.
    ///
    /// # Errors
    /// The database failed. What `decide` refuses is within the answer.
    pub async fn join_account<E>(
        &self,
        new: &NewUser,
        (account, role): (AccountId, Role),
        by: JoinedBy,
        decide: impl Fn(&JoiningFacts) -> Result<(), E>,
    ) -> Result<Result<Joined, E>, StoreError> {
        let mut tx = self.db.begin("join_account").await?;
        let row = sql("-- join_account: facts
             SELECT (SELECT count(*) FROM memberships WHERE account_id = $2) AS people,
                    (SELECT id FROM users WHERE email = $1) AS known,
                    EXISTS (SELECT 1 FROM users u JOIN memberships m ON m.user_id = u.id
                            WHERE u.email = $1 AND m.account_id = $2) AS is_member,
                    EXISTS (SELECT 1 FROM users WHERE email = $1 AND address_proven = TRUE) AS is_proven")
        .bind(new.email.to_string().to_lowercase())
        .bind(account)
        .one(&mut tx)
        .await?;
        let known: Option<UserId> = column(&row, "known")?;
        let facts = JoiningFacts {
            people: column(&row, "people")?,
            is_known: known.is_some(),
            is_member: column(&row, "is_member")?,
            is_proven: column(&row, "is_proven")?,
            invitations: recent_invitations(&mut tx, (account, &new.email), new.at).await?,
        };
        if let Err(refused) = decide(&facts) {
            return Ok(Err(refused));
        }
        let user = known.unwrap_or(new.id);
        if known.is_none() {
            insert_user(&mut tx, &NewUser { membership: None, ..new.clone() }).await?;
            if let JoinedBy::Owner { counts_until: expires_at } = by {
                let invitation =
                    NewInvitation { account, email: &new.email, at: new.at, expires_at };
                add_invitation(&mut tx, invitation).await?;
            }
        }
        sql("-- join_account
             INSERT INTO memberships (user_id, account_id, role, created_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (user_id, account_id) DO UPDATE SET role = excluded.role")
        .bind(user)
        .bind(account)
        .bind(role.as_str())
        .bind(new.at.millis())
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(Ok(Joined { user, is_new: known.is_none() }))
    }

    /// Changes a member of an account as `decide` says.
    ///
    /// # Errors
    /// The database failed. What `decide` refuses is within the answer.
    pub async fn change_member<E>(
        &self,
        account: AccountId,
        user: UserId,
        decide: impl Fn(&MemberFacts) -> Result<MemberChange, E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut tx = self.db.begin("change_member").await?;
        let owners = sql("-- change_member: owners
             SELECT m.user_id, u.password IS NOT NULL AS can_log_in
             FROM memberships m JOIN users u ON u.id = m.user_id
             WHERE m.account_id = $1 AND m.role = 'owner'")
        .bind(account)
        .all(&mut tx)
        .await?;
        let person = sql("-- change_member: person
             SELECT EXISTS (SELECT 1 FROM memberships WHERE user_id = $1 AND account_id = $2) AS is_member,
                    EXISTS (SELECT 1 FROM users
                            WHERE id = $1 AND (password IS NOT NULL OR is_operator = TRUE))
                    OR EXISTS (SELECT 1 FROM memberships WHERE user_id = $1 AND account_id <> $2) AS is_known")
        .bind(user)
        .bind(account)
        .one(&mut tx)
        .await?;
        let owner = |row: &Row| Ok((column(row, "user_id")?, column(row, "can_log_in")?));
        let facts = MemberFacts {
            is_member: column(&person, "is_member")?,
            owners: owners.iter().map(owner).collect::<Result<_, StoreError>>()?,
            outlives_membership: column(&person, "is_known")?,
        };
        let change = match decide(&facts) {
            Ok(change) => change,
            Err(refused) => return Ok(Err(refused)),
        };
        match change {
            MemberChange::Role(role) => {
                sql("-- change_member
                     UPDATE memberships SET role = $3 WHERE user_id = $1 AND account_id = $2")
                .bind(user)
                .bind(account)
                .bind(role.as_str())
                .run(&mut tx)
                .await?;
            }
            MemberChange::Out => {
                sql("-- change_member: out
                     DELETE FROM memberships WHERE user_id = $1 AND account_id = $2")
                .bind(user)
                .bind(account)
                .run(&mut tx)
                .await?;
            }
            MemberChange::Removed => {
                delete_user(&mut tx, user).await?;
            }
        }
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// Removes a person with all that is the person's; answers whether there was one.
    pub async fn remove_user(&self, user: UserId) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("remove_user").await?;
        let is_removed = delete_user(&mut tx, user).await?;
        tx.commit().await?;
        Ok(is_removed)
    }
}

async fn delete_user(tx: &mut Tx, user: UserId) -> Result<bool, StoreError> {
    for statement in [
        "-- remove_user: sessions\nDELETE FROM sessions WHERE user_id = $1",
        "-- remove_user: links\nDELETE FROM one_time_links WHERE user_id = $1",
        "-- remove_user: factors\nDELETE FROM factors WHERE user_id = $1",
        "-- remove_user: codes\nDELETE FROM recovery_codes WHERE user_id = $1",
        "-- remove_user: memberships\nDELETE FROM memberships WHERE user_id = $1",
    ] {
        sql(statement).bind(user).run(&mut *tx).await?;
    }
    let removed = sql("-- remove_user\nDELETE FROM users WHERE id = $1");
    let removed = removed.bind(user).run(&mut *tx).await?;
    Ok(removed == 1)
}

async fn insert_user(tx: &mut Tx, new: &NewUser) -> Result<bool, StoreError> {
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

fn user_row(row: &Row) -> Result<PersonRow, StoreError> {
    Ok(PersonRow {
        id: column(row, "id")?,
        email: parsed(row, "users", "email")?,
        password: column(row, "password")?,
        is_operator: column(row, "is_operator")?,
        has_factor: column(row, "has_factor")?,
        created_at: moment(row, "created_at")?,
    })
}
