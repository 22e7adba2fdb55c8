//! One-time links: the set-up of a server, invitations, resets, and the log-in of `waxwing dev`.

use std::time::Duration;

use super::audit::PersonsChange;
use super::{Enrolment, FactorError, Origin, PasswordError, Passwords, People, Secret};
use crate::account::Account;
use crate::account::plan::Plan;
use crate::account::role::Role;
use crate::clock::Timestamp;
use crate::id::{AccountId, UserId};
use crate::message::address::EmailAddress;
use crate::message::line::{ONE_LINE, is_one_line};
use crate::store::{
    Credentials, LinkPurpose, LinkRow, MembershipRow, NewUser, PersonRow, StoreError,
};

const SET_UP: Duration = Duration::from_hours(1);
/// How long the link of an invitation works.
pub(super) const INVITATION: Duration = Duration::from_hours(7 * 24);
const RESET: Duration = Duration::from_hours(1);
const LOG_IN: Duration = Duration::from_hours(1);
const MAX_ACCOUNT_NAME_CHARS: usize = 100;

/// A link that works.
#[derive(Debug)]
pub struct OneTimeLink {
    pub purpose: LinkPurpose,
    /// None for a set-up.
    pub user: Option<PersonRow>,
    /// The account that the link invites to; none where that invitation was withdrawn meanwhile.
    pub place: Option<MembershipRow>,
    pub expires_at: Timestamp,
}

/// What the first operator has typed.
#[derive(Debug, Clone, Default)]
pub struct SetUp {
    pub email: String,
    pub password: String,
    pub account: String,
    /// The secret of the page's QR code.
    pub enrolment: String,
    pub code: String,
}

/// What an invited person, or one who has lost the password, has typed.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    pub password: String,
    pub enrolment: String,
    /// Empty where no factor is wanted.
    pub code: String,
}

#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("this link was used, or its time is over")]
    Over,
    #[error("there is an operator already; log in, or reset a password with `waxwing user reset`")]
    IsSetUp,
    #[error("must be an e-mail address, as in ada@example.com")]
    Email,
    #[error("there is a user with this e-mail address already")]
    EmailTaken,
    #[error("must be 1 to {MAX_ACCOUNT_NAME_CHARS} characters {ONE_LINE}")]
    AccountName,
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[error(transparent)]
    Factor(#[from] FactorError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LinkError {
    /// The field of the form that is at fault; none where it is the link.
    #[must_use]
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::Email | Self::EmailTaken => Some("email"),
            Self::AccountName => Some("account"),
            Self::Password(_) => Some("password"),
            Self::Factor(FactorError::WrongCode | FactorError::Malformed) => Some("code"),
            Self::Over | Self::IsSetUp | Self::Factor(FactorError::Store(_)) | Self::Store(_) => {
                None
            }
        }
    }
}

/// The path of a link on the dashboard.
#[must_use]
pub fn link_path(purpose: LinkPurpose, link: &Secret) -> String {
    let page = match purpose {
        LinkPurpose::SetUp => "setup",
        LinkPurpose::Invitation => "invite",
        LinkPurpose::Reset => "reset",
        LinkPurpose::LogIn | LinkPurpose::SecondStep => "login",
    };
    format!("/{page}/{}", link.reveal())
}

impl People {
    /// A new link; its secret is told this once. None for the user: a set-up.
    pub async fn make_link(
        &self,
        purpose: LinkPurpose,
        user: Option<UserId>,
    ) -> Result<Secret, StoreError> {
        self.add_link(purpose, user, None).await
    }

    /// A new link for a person without a password. Whoever takes the link accepts the invitation to the account.
    pub(super) async fn make_invitation(
        &self,
        user: UserId,
        account: Option<AccountId>,
    ) -> Result<Secret, StoreError> {
        self.add_link(LinkPurpose::Invitation, Some(user), account).await
    }

    async fn add_link(
        &self,
        purpose: LinkPurpose,
        user: Option<UserId>,
        account: Option<AccountId>,
    ) -> Result<Secret, StoreError> {
        let life = match purpose {
            LinkPurpose::SetUp => SET_UP,
            LinkPurpose::Invitation => INVITATION,
            LinkPurpose::Reset => RESET,
            LinkPurpose::LogIn | LinkPurpose::SecondStep => LOG_IN,
        };
        let (secret, now) = (Secret::random(), self.clock.now());
        let expires_at = now.after(life);
        let link = LinkRow { purpose, user, account, created_at: now, expires_at };
        self.store.add_link(&secret.hash(), &link).await?;
        Ok(secret)
    }

    /// The link with that secret, if it works.
    pub async fn find_link(&self, secret: &str) -> Result<OneTimeLink, LinkError> {
        let secret: Secret = secret.parse().map_err(|_| LinkError::Over)?;
        let link = self.store.link(&secret.hash(), self.clock.now()).await?;
        let link = link.ok_or(LinkError::Over)?;
        let user = match link.user {
            Some(user) => Some(self.store.user(user).await?.ok_or(LinkError::Over)?),
            None => None,
        };
        let place = if let (Some(user), Some(account)) = (&user, link.account) {
            let memberships = self.store.memberships(user.id).await?;
            memberships.into_iter().find(|it| it.account == account)
        } else {
            None
        };
        Ok(OneTimeLink { purpose: link.purpose, user, place, expires_at: link.expires_at })
    }

    /// Makes the first operator, as the owner of an account, and logs the operator in. Answers the session and the
    /// recovery codes, which are shown this once.
    ///
    /// # Errors
    /// The first thing that is wrong with what was typed; the link works on.
    pub async fn set_up(
        &self,
        link: &str,
        typed: &SetUp,
        from: &Origin,
    ) -> Result<(Secret, Vec<String>), LinkError> {
        let found = self.find_link(link).await?;
        if found.purpose != LinkPurpose::SetUp {
            return Err(LinkError::Over);
        }
        if self.store.has_operator().await? {
            return Err(LinkError::IsSetUp);
        }
        let email: EmailAddress = typed.email.trim().parse().map_err(|_| LinkError::Email)?;
        Passwords::check(&typed.password)?;
        let name = typed.account.trim();
        if name.is_empty() || name.chars().count() > MAX_ACCOUNT_NAME_CHARS || !is_one_line(name) {
            return Err(LinkError::AccountName);
        }
        let now = self.clock.now();
        let id = UserId::new(now);
        let enrolment = Enrolment::of(&typed.enrolment)?;
        let (factor, codes) = enrolment.prove(self, id, &typed.code, now)?;
        if self.store.user_by_email(&email).await?.is_some() {
            return Err(LinkError::EmailTaken);
        }
        let password = self.passwords.hash(&typed.password, from.ip).await?;
        // The account of that name, where an earlier use of the command line has made it.
        let accounts = self.store.accounts(now).await?;
        let made = accounts.iter().find(|it| it.account.name == name).map(|it| it.account.id);
        let (account, opened) = if let Some(account) = made {
            (account, None)
        } else {
            let account = Account::new(name, Plan::named("free"), now);
            (account.id, Some(account))
        };
        let new = NewUser {
            id,
            email,
            password: Some(password),
            is_operator: true,
            membership: Some((account, Role::Owner)),
            at: now,
        };
        let secret: Secret = link.parse().map_err(|_| LinkError::Over)?;
        if !self.store.set_up(&secret.hash(), opened.as_ref(), (&new, &factor)).await? {
            return Err(LinkError::Over);
        }
        self.record_change(PersonsChange {
            user: (id, &new.email),
            account: Some(account),
            action: "set_up",
            subject: Some(id.to_string()),
            from,
        })
        .await;
        let (session, _) = self.open_session(id, from).await?;
        Ok((session, codes))
    }

    /// Gives an invited person, or one who has lost the password, the password that was typed; with it the person accepts
    /// the invitation to the account that the link is about. Logs the person in, unless a second factor is still to be
    /// asked for: a link stands for the password alone.
    ///
    /// # Errors
    /// The first thing that is wrong with what was typed; the link works on.
    pub async fn choose_password(
        &self,
        link: &str,
        typed: &Choice,
        from: &Origin,
    ) -> Result<(Option<Secret>, Vec<String>), LinkError> {
        let found = self.find_link(link).await?;
        let action = match found.purpose {
            LinkPurpose::Invitation => "accept_invitation",
            LinkPurpose::Reset => "reset_password",
            LinkPurpose::SetUp | LinkPurpose::LogIn | LinkPurpose::SecondStep => {
                return Err(LinkError::Over);
            }
        };
        let user = found.user.ok_or(LinkError::Over)?;
        Passwords::check(&typed.password)?;
        let now = self.clock.now();
        let (factor, codes) = match typed.code.trim() {
            "" => (None, Vec::new()),
            _ if user.has_factor => (None, Vec::new()),
            code => {
                let enrolment = Enrolment::of(&typed.enrolment)?;
                let (factor, codes) = enrolment.prove(self, user.id, code, now)?;
                (Some(factor), codes)
            }
        };
        let password = self.passwords.hash(&typed.password, from.ip).await?;
        let credentials = Credentials { user: user.id, password, factor, at: now };
        let secret: Secret = link.parse().map_err(|_| LinkError::Over)?;
        if !self.store.take_credentials(&secret.hash(), &credentials).await? {
            return Err(LinkError::Over);
        }
        self.record_change(PersonsChange {
            user: (user.id, &user.email),
            account: found.place.map(|it| it.account),
            action,
            subject: Some(user.id.to_string()),
            from,
        })
        .await;
        if user.has_factor {
            return Ok((None, codes));
        }
        let (session, _) = self.open_session(user.id, from).await?;
        Ok((Some(session), codes))
    }
}
