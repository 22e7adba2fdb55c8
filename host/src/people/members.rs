//! Who is a user of the server, and of which account: what `waxwing user` does.

use std::time::Duration;

use super::audit::PersonsChange;
use super::owners::{LastOwner, keep_an_owner};
use super::{Origin, PasswordError, People};
use crate::account::role::Role;
use crate::id::{AccountId, UserId};
use crate::management::acts::{self, Act};
use crate::message::address::EmailAddress;
use crate::store::{JoinedBy, JoiningFacts, LinkPurpose, NewUser, PersonRow, StoreError};

use super::Secret;

pub const MAX_USERS_PER_PAGE: u32 = 500;
/// People of one account.
pub const MAX_MEMBERS: u32 = 200;
/// Between two links that are mailed to one person.
pub(super) const LINK_PAUSE: Duration = Duration::from_mins(2);

/// Somebody to invite.
#[derive(Debug, Clone)]
pub struct NewMember {
    pub email: EmailAddress,
    pub membership: Option<(AccountId, Role)>,
    pub is_operator: bool,
}

impl NewMember {
    /// The invitation as the audit log names it.
    #[must_use]
    pub fn act(&self) -> Act {
        match self.membership {
            Some(place) if !self.is_operator => acts::invited(&self.email, place),
            place => acts::operator_invited(&self.email, place),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    #[error("there is a user `{0}` already; `waxwing user role` gives a role in a further account")]
    Exists(EmailAddress),
    #[error("there is no user `{0}`; `waxwing user list` lists them")]
    Missing(EmailAddress),
    /// Whoever was shown the link may have taken it.
    #[error(
        "the invitation of `{0}` was shown to the owner of another account, so the log-in may not be theirs; they \
         choose another password first, by “Forgotten password” of the log-in page or a link of `waxwing user reset`"
    )]
    Unproven(EmailAddress),
    #[error("an account has at most {MAX_MEMBERS} people")]
    Full,
    #[error(transparent)]
    LastOwner(#[from] LastOwner),
    #[error("a user who is no operator needs an account: add --account and --role")]
    NoAccount,
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl People {
    /// Adds a user without a password, and makes the link with which the user chooses one.
    pub async fn invite(&self, new: NewMember) -> Result<(UserId, Secret), MemberError> {
        if new.membership.is_none() && !new.is_operator {
            return Err(MemberError::NoAccount);
        }
        let now = self.clock.now();
        if let Some((account, _)) = new.membership {
            // For its message.
            self.store.account(account, now).await?;
        }
        let user = NewUser {
            id: UserId::new(now),
            email: new.email,
            password: None,
            is_operator: new.is_operator,
            membership: new.membership,
            at: now,
        };
        let exists = || MemberError::Exists(user.email.clone());
        match user.membership {
            Some(place) => {
                let decide = |facts: &JoiningFacts| {
                    if facts.known.is_some() { Err(exists()) } else { has_room(facts) }
                };
                self.store.join_account(&user, place, JoinedBy::Operator, decide).await??;
            }
            None if self.store.add_user(&user).await? => {}
            None => return Err(exists()),
        }
        let account = user.membership.map(|(account, _)| account);
        let link = self.make_invitation(user.id, account).await?;
        Ok((user.id, link))
    }

    /// The user with that address.
    pub async fn named(&self, email: &EmailAddress) -> Result<PersonRow, MemberError> {
        let found = self.store.user_by_email(email).await?;
        found.ok_or_else(|| MemberError::Missing(email.clone()))
    }

    /// Makes a link with which a user chooses another password.
    pub async fn reset(
        &self,
        email: &EmailAddress,
    ) -> Result<(PersonRow, LinkPurpose, Secret), MemberError> {
        let user = self.named(email).await?;
        let purpose = match user.password {
            Some(_) => LinkPurpose::Reset,
            None => LinkPurpose::Invitation,
        };
        let link = self.make_link(purpose, Some(user.id)).await?;
        Ok((user, purpose, link))
    }

    /// Makes the link for somebody who has lost the password, or has never chosen one. None where nobody has that
    /// address, or a link was made a moment ago: whoever knows an address could fill its mailbox.
    pub async fn forgotten(
        &self,
        email: &str,
        from: &Origin,
    ) -> Result<Option<(PersonRow, Secret)>, StoreError> {
        let Ok(email) = email.trim().parse::<EmailAddress>() else { return Ok(None) };
        let Some(user) = self.store.user_by_email(&email).await? else { return Ok(None) };
        let now = self.clock.now();
        let newest = self.store.newest_password_link(user.id).await?;
        if newest.is_some_and(|it| it.created_at.after(LINK_PAUSE) > now) {
            return Ok(None);
        }
        let purpose = match user.password {
            Some(_) => LinkPurpose::Reset,
            None => LinkPurpose::Invitation,
        };
        let link = self.make_link(purpose, Some(user.id)).await?;
        let (action, subject) = acts::reset_link_made(&user.email).in_account();
        self.record_change(PersonsChange {
            user: (user.id, &user.email),
            account: None,
            action,
            subject,
            from,
        })
        .await;
        Ok(Some((user, link)))
    }

    /// Gives a user a role in an account, whatever it was before; an invitation that waits for the user is taken with it.
    /// The last owner who can log in stays one.
    pub async fn give_role(
        &self,
        email: &EmailAddress,
        account: AccountId,
        role: Role,
    ) -> Result<PersonRow, MemberError> {
        let user = self.named(email).await?;
        let now = self.clock.now();
        self.store.account(account, now).await?;
        let place = (account, role);
        let known = NewUser {
            id: user.id,
            email: user.email.clone(),
            password: None,
            is_operator: false,
            membership: Some(place),
            at: now,
        };
        let decide = |facts: &JoiningFacts| match facts.state {
            Some(_) if role == Role::Owner => Ok(()),
            Some(_) => keep_an_owner(&facts.owned, user.id).map_err(MemberError::from),
            None if facts.known.is_none() => Err(MemberError::Missing(email.clone())),
            None => may_come(facts, email),
        };
        self.store.join_account(&known, place, JoinedBy::Operator, decide).await??;
        Ok(user)
    }

    /// Removes a user with all sessions, links and roles; refused for the last owner of an account who can log in.
    pub async fn remove(&self, email: &EmailAddress) -> Result<PersonRow, MemberError> {
        let user = self.named(email).await?;
        self.store.remove_user(user.id, |accounts| keep_an_owner(accounts, user.id)).await??;
        Ok(user)
    }
}

/// Whether somebody, known or not, may come into the account.
pub(super) fn may_come(facts: &JoiningFacts, email: &EmailAddress) -> Result<(), MemberError> {
    if facts.known.is_some() && !facts.is_proven {
        return Err(MemberError::Unproven(email.clone()));
    }
    has_room(facts)
}

/// Whether one more may come into the account.
fn has_room(facts: &JoiningFacts) -> Result<(), MemberError> {
    if facts.people < MAX_MEMBERS { Ok(()) } else { Err(MemberError::Full) }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;
    use crate::clock::Timestamp;
    use crate::store::{Joined, Store, test_data};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    async fn join(store: &Store, account: AccountId, name: &str) -> Result<Joined, MemberError> {
        let place = (account, Role::Member);
        let new = NewUser {
            id: UserId::new(NOW),
            email: format!("{name}@example.com").parse().expect("an address"),
            password: None,
            is_operator: false,
            membership: Some(place),
            at: NOW,
        };
        let decide = |facts: &JoiningFacts| {
            if facts.state.is_some() {
                Err(MemberError::Exists(new.email.clone()))
            } else {
                has_room(facts)
            }
        };
        store.join_account(&new, place, JoinedBy::Operator, decide).await.expect("stored")
    }

    #[tokio::test]
    async fn who_comes_at_once_comes_once_and_no_more_than_there_is_room() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let account = test_data::open_account(&store, 5, NOW).await;
        let same = join_all((0..8).map(|_| join(&store, account, "ada"))).await;
        assert_eq!(same.iter().filter(|it| it.is_ok()).count(), 1, "{same:?}");
        for number in 2..MAX_MEMBERS {
            join(&store, account, &format!("n{number}")).await.expect("there is room");
        }
        let names: Vec<String> = (0..8).map(|number| format!("late{number}")).collect();
        let late = join_all(names.iter().map(|name| join(&store, account, name))).await;
        assert_eq!(late.iter().filter(|it| it.is_ok()).count(), 1, "{late:?}");
        let first = store.members(account, None, MAX_MEMBERS + 9).await.expect("readable");
        assert_eq!(first.len(), usize::try_from(MAX_MEMBERS).expect("small"));
        let after = first.get(149).map(|it| it.user.id);
        assert_eq!(store.members(account, after, 100).await.expect("readable").len(), 50);
    }
}
