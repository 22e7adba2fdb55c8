//! Who is in which account, with which role, and who is invited and has not answered yet.

use super::Store;
use super::database::{Row, column, moment, moment_or_none, parsed, sql, word};
use super::invitations::{NewInvitation, RecentInvitations, add_invitation, recent_invitations};
use super::owners::{AccountOwners, owners_of};
use super::users::{NewUser, PersonRow, delete_user, insert_user, user_row};
use crate::account::AccountState;
use crate::account::role::Role;
use crate::clock::Timestamp;
use crate::id::{AccountId, Identifier, UserId};
use crate::store::StoreError;

/// What a person is to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MembershipRow {
    pub account: AccountId,
    pub account_name: String,
    pub account_state: AccountState,
    pub role: Role,
    pub state: MembershipState,
    /// When the person last used the account.
    pub used_at: Option<Timestamp>,
}

/// Whether a person has agreed to be in an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MembershipState {
    /// An owner has invited the person, who has not answered: the person reads nothing of the account.
    Invited,
    Accepted,
}

/// Somebody who is in an account, or is invited to it.
#[derive(Debug, Clone)]
pub struct MemberRow {
    pub user: PersonRow,
    pub role: Role,
    pub state: MembershipState,
    pub since: Timestamp,
}

/// What a change of a member is decided on.
#[derive(Debug, Clone)]
pub struct MemberFacts {
    pub is_member: bool,
    /// The account with its owners; nothing where it has none.
    pub owned: Vec<AccountOwners>,
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

/// What stands when somebody is to be taken into an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoiningFacts {
    /// How many are in the account, or invited.
    pub people: u32,
    /// Who has the address.
    pub known: Option<UserId>,
    /// What they are to the account.
    pub state: Option<MembershipState>,
    /// Whether the address counts as theirs: no owner of an account was shown the link that their log-in goes back to.
    pub is_proven: bool,
    /// The account with its owners; nothing where it has none.
    pub owned: Vec<AccountOwners>,
    pub invitations: RecentInvitations,
}

/// Who takes somebody into an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinedBy {
    /// An owner of the account: the person is mailed an invitation, which counts for a time, and answers it.
    Owner { counts_until: Timestamp },
    /// The operator of the server, who asks nobody.
    Operator,
}

/// Who was taken into an account, or is invited to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    pub user: UserId,
    pub is_new: bool,
}

impl MembershipState {
    fn of(is_accepted: bool) -> Self {
        if is_accepted { Self::Accepted } else { Self::Invited }
    }
}

impl MemberRow {
    /// Whether an invitation waits for the person: to the account, or to the server.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.state == MembershipState::Invited || self.user.password.is_none()
    }
}

impl Store {
    /// The accounts that a person is in, or invited to, in the order in which they were opened, without accounts that are being
    /// deleted: nobody works in those any more.
    pub async fn memberships(&self, user: UserId) -> Result<Vec<MembershipRow>, StoreError> {
        let rows = sql("-- memberships
             SELECT m.account_id, a.name, a.state, m.role, m.is_accepted, m.used_at
             FROM memberships m JOIN accounts a ON a.id = m.account_id
             WHERE m.user_id = $1 AND a.state <> 'deleting' ORDER BY m.account_id")
        .bind(user)
        .all(&self.db.readers)
        .await?;
        let row = |row: &Row| {
            Ok(MembershipRow {
                account: column(row, "account_id")?,
                account_name: column(row, "name")?,
                account_state: word(row, "accounts", "state", AccountState::from_name)?,
                role: parsed(row, "memberships", "role")?,
                state: MembershipState::of(column(row, "is_accepted")?),
                used_at: moment_or_none(row, "used_at")?,
            })
        };
        rows.iter().map(row).collect()
    }

    /// The people of an account and those who are invited, in the order in which they were made, behind `after`.
    pub async fn members(
        &self,
        account: AccountId,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<MemberRow>, StoreError> {
        let rows = sql("-- members
             SELECT u.id, u.email, u.password, u.is_operator, u.created_at, m.role, m.is_accepted,
                    m.created_at AS since,
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
                state: MembershipState::of(column(row, "is_accepted")?),
                since: moment(row, "since")?,
            })
        };
        rows.iter().map(row).collect()
    }

    /// Takes somebody into an account, or gives a member another role, as `decide` lets it: whoever has the address of
    /// `new` already, else a new person. Whom an owner takes in is invited, and has to accept.
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
                    (SELECT m.is_accepted FROM users u JOIN memberships m ON m.user_id = u.id
                     WHERE u.email = $1 AND m.account_id = $2) AS is_accepted,
                    EXISTS (SELECT 1 FROM users WHERE email = $1 AND address_proven = TRUE) AS is_proven")
        .bind(new.email.to_string().to_lowercase())
        .bind(account)
        .one(&mut tx)
        .await?;
        let is_accepted: Option<bool> = column(&row, "is_accepted")?;
        let facts = JoiningFacts {
            people: column(&row, "people")?,
            known: column(&row, "known")?,
            state: is_accepted.map(MembershipState::of),
            is_proven: column(&row, "is_proven")?,
            owned: owners_of(&mut tx, account).await?,
            invitations: recent_invitations(&mut tx, (account, &new.email), new.at).await?,
        };
        if let Err(refused) = decide(&facts) {
            return Ok(Err(refused));
        }
        let user = facts.known.unwrap_or(new.id);
        if facts.known.is_none() {
            insert_user(&mut tx, &NewUser { membership: None, ..new.clone() }).await?;
        }
        let is_accepted = match by {
            JoinedBy::Operator => true,
            JoinedBy::Owner { counts_until: expires_at } => {
                let invitation =
                    NewInvitation { account, email: &new.email, at: new.at, expires_at };
                add_invitation(&mut tx, invitation).await?;
                false
            }
        };
        sql("-- join_account
             INSERT INTO memberships (user_id, account_id, role, created_at, is_accepted)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (user_id, account_id)
             DO UPDATE SET role = excluded.role, is_accepted = excluded.is_accepted")
        .bind(user)
        .bind(account)
        .bind(role.as_str())
        .bind(new.at.millis())
        .bind(is_accepted)
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(Ok(Joined { user, is_new: facts.known.is_none() }))
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
        let owned = owners_of(&mut tx, account).await?;
        let person = sql("-- change_member: person
             SELECT EXISTS (SELECT 1 FROM memberships WHERE user_id = $1 AND account_id = $2) AS is_member,
                    EXISTS (SELECT 1 FROM users
                            WHERE id = $1 AND (password IS NOT NULL OR is_operator = TRUE))
                    OR EXISTS (SELECT 1 FROM memberships WHERE user_id = $1 AND account_id <> $2)
                        AS outlives_membership")
        .bind(user)
        .bind(account)
        .one(&mut tx)
        .await?;
        let facts = MemberFacts {
            is_member: column(&person, "is_member")?,
            owned,
            outlives_membership: column(&person, "outlives_membership")?,
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
            MemberChange::Removed => delete_user(&mut tx, user).await?,
        }
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// Takes an invitation; answers whether one waited.
    pub async fn accept_invitation(
        &self,
        user: UserId,
        account: AccountId,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let accepted = sql("-- accept_invitation
             UPDATE memberships SET is_accepted = TRUE, used_at = $3
             WHERE user_id = $1 AND account_id = $2 AND is_accepted = FALSE")
        .bind(user)
        .bind(account)
        .bind(at.millis())
        .run(&self.db.writer)
        .await?;
        Ok(accepted == 1)
    }

    /// Drops an invitation that was not taken; answers whether one waited.
    pub async fn decline_invitation(
        &self,
        user: UserId,
        account: AccountId,
    ) -> Result<bool, StoreError> {
        let declined = sql("-- decline_invitation
             DELETE FROM memberships WHERE user_id = $1 AND account_id = $2 AND is_accepted = FALSE")
        .bind(user)
        .bind(account)
        .run(&self.db.writer)
        .await?;
        Ok(declined == 1)
    }

    /// Notes that a person uses an account: the next log-in opens it.
    pub async fn note_account_used(
        &self,
        user: UserId,
        account: AccountId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        sql("-- note_account_used
             UPDATE memberships SET used_at = $3 WHERE user_id = $1 AND account_id = $2")
        .bind(user)
        .bind(account)
        .bind(at.millis())
        .run(&self.db.writer)
        .await
        .map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::store::test_data;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    /// Invites somebody with a password as an owner, or lets the operator take the person in.
    async fn join(store: &Store, account: AccountId, name: &str, by: JoinedBy) -> UserId {
        let new = NewUser {
            id: UserId::new(NOW),
            email: format!("{name}@example.com").parse().expect("an address"),
            password: Some("a hash".to_owned()),
            is_operator: false,
            membership: None,
            at: NOW,
        };
        let place = (account, Role::Owner);
        let decide = |_: &JoiningFacts| Ok::<(), Infallible>(());
        let joined = store.join_account(&new, place, by, decide).await.expect("stored");
        joined.unwrap_or_else(|never| match never {}).user
    }

    /// Who owns the account and can log in, as a change of a member is told.
    async fn owners(store: &Store, account: AccountId, user: UserId) -> Vec<UserId> {
        let decide = |facts: &MemberFacts| {
            let owners = facts.owned.iter().flat_map(|it| &it.owners);
            Err(owners.filter(|it| it.can_log_in).map(|it| it.user).collect::<Vec<_>>())
        };
        store.change_member(account, user, decide).await.expect("readable").expect_err("refused")
    }

    #[tokio::test]
    async fn an_invitation_counts_for_nothing_until_it_is_accepted_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = test_data::open(&directory).await;
        let account = test_data::open_account(&store, 5, NOW).await;
        let ada = join(&store, account, "ada", JoinedBy::Operator).await;
        let by = JoinedBy::Owner { counts_until: NOW };
        let bo = join(&store, account, "bo", by).await;
        let cy = join(&store, account, "cy", by).await;
        assert_eq!(owners(&store, account, ada).await, [ada]);
        assert!(store.decline_invitation(cy, account).await.expect("written"));
        assert!(!store.accept_invitation(cy, account, NOW).await.expect("written"));
        assert!(store.accept_invitation(bo, account, NOW).await.expect("written"));
        assert!(!store.accept_invitation(bo, account, NOW).await.expect("written"));
        assert!(!store.decline_invitation(bo, account).await.expect("written"), "it is taken");
        let mut both = owners(&store, account, ada).await;
        both.sort();
        let mut wanted = [ada, bo];
        wanted.sort();
        assert_eq!(both, wanted);
        let of_bo = store.memberships(bo).await.expect("readable");
        assert_eq!((of_bo[0].state, of_bo[0].used_at), (MembershipState::Accepted, Some(NOW)));
        assert!(store.memberships(cy).await.expect("readable").is_empty());
    }

    #[tokio::test]
    async fn a_removal_that_is_refused_removes_nothing_of_the_person() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = test_data::open(&directory).await;
        let one = test_data::open_account(&store, 5, NOW).await;
        let two = test_data::open_account(&store, 5, NOW).await;
        let ada = join(&store, one, "ada", JoinedBy::Operator).await;
        assert_eq!(join(&store, two, "ada", JoinedBy::Operator).await, ada);
        let bo = join(&store, two, "bo", JoinedBy::Operator).await;
        let refused = store.remove_user(ada, |accounts| {
            let counts = accounts.iter().map(|it| (it.account, it.owners.len()));
            Err(counts.collect::<Vec<_>>())
        });
        let mut told = refused.await.expect("readable").expect_err("refused");
        told.sort();
        let mut wanted = [(one, 1), (two, 2)];
        wanted.sort();
        assert_eq!(told, wanted, "all accounts of the person, each with its owners");
        assert_eq!(store.memberships(ada).await.expect("readable").len(), 2);
        let removed = store.remove_user(ada, |_| Ok::<(), Infallible>(())).await;
        assert_eq!(removed.expect("written"), Ok(()));
        assert!(store.user(ada).await.expect("readable").is_none());
        assert_eq!(owners(&store, two, bo).await, [bo]);
    }
}
