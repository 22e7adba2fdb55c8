//! Who is a user of the server, and of which account: what `waxwing user` does.

use std::time::Duration;

use super::audit::PersonsChange;
use super::{Origin, PasswordError, People};
use crate::account::role::Role;
use crate::id::{AccountId, UserId};
use crate::message::address::EmailAddress;
use crate::store::{LinkPurpose, NewUser, PersonRow, StoreError};

use super::Secret;

pub const MAX_USERS_PER_PAGE: u32 = 500;
/// Between two links that are mailed to one person.
const LINK_PAUSE: Duration = Duration::from_mins(2);

/// Somebody to invite.
#[derive(Debug, Clone)]
pub struct NewMember {
    pub email: EmailAddress,
    pub membership: Option<(AccountId, Role)>,
    pub is_operator: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    #[error("there is a user `{0}` already; `waxwing user role` gives a role in a further account")]
    Exists(EmailAddress),
    #[error("there is no user `{0}`; `waxwing user list` lists them")]
    Missing(EmailAddress),
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
        if !self.store.add_user(&user).await? {
            return Err(MemberError::Exists(user.email));
        }
        let link = self.make_link(LinkPurpose::Invitation, Some(user.id)).await?;
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
        let newest = self.store.newest_link(user.id).await?;
        if newest.is_some_and(|it| it.created_at.after(LINK_PAUSE) > now) {
            return Ok(None);
        }
        let purpose = match user.password {
            Some(_) => LinkPurpose::Reset,
            None => LinkPurpose::Invitation,
        };
        let link = self.make_link(purpose, Some(user.id)).await?;
        self.record_change(PersonsChange {
            user: (user.id, &user.email),
            account: None,
            action: "make_reset_link",
            subject: Some(user.id.to_string()),
            from,
        })
        .await;
        Ok(Some((user, link)))
    }

    /// Gives a user a role in an account, whatever it was before.
    pub async fn give_role(
        &self,
        email: &EmailAddress,
        account: AccountId,
        role: Role,
    ) -> Result<PersonRow, MemberError> {
        let user = self.named(email).await?;
        let now = self.clock.now();
        self.store.account(account, now).await?;
        self.store.set_role(user.id, account, role, now).await?;
        Ok(user)
    }

    /// Removes a user with all sessions, links and roles.
    pub async fn remove(&self, email: &EmailAddress) -> Result<PersonRow, MemberError> {
        let user = self.named(email).await?;
        self.store.remove_user(user.id).await?;
        Ok(user)
    }
}
