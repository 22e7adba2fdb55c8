//! Log-in: the password, then the second factor where there is one; and the password once more before what is
//! dangerous.

use std::time::Duration;

use super::audit::PersonsChange;
use super::{Origin, PasswordError, Passwords, People, Person, Secret};
use crate::id::SessionId;
use crate::message::address::EmailAddress;
use crate::store::{LinkPurpose, LinkRow, PersonRow, StoreError};

/// Between the password and the code.
const SECOND_STEP: Duration = Duration::from_mins(5);
/// Codes that may be tried in one log-in, whatever addresses they come from.
const MAX_CODES: u32 = 5;

/// What a right password leads to.
#[derive(Debug)]
pub enum LoggedIn {
    /// A session, for the browser's cookie.
    Session(Secret),
    /// The code of the second factor is missing. The secret goes through the form.
    SecondStep(Secret),
}

#[derive(Debug, thiserror::Error)]
pub enum LogInError {
    #[error("no user has this e-mail address with this password")]
    Wrong,
    #[error(
        "this code is not right, or was used before; wait for the next one, or use a recovery code"
    )]
    WrongCode,
    #[error("the log-in took too long, or too many codes were tried; begin again")]
    Over,
    /// Words of the shared bucket.
    #[error("too many log-ins from your address; try again in {0} s")]
    TooMany(u64),
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LogInError {
    fn is_wrong_guess(&self) -> bool {
        match self {
            Self::Wrong | Self::WrongCode | Self::Over => true,
            Self::TooMany(_) | Self::Password(_) | Self::Store(_) => false,
        }
    }
}

impl People {
    /// Logs somebody in with address and password. Nobody's address takes as long as anybody's.
    pub async fn log_in(
        &self,
        email: &str,
        password: &str,
        from: &Origin,
    ) -> Result<LoggedIn, LogInError> {
        let user = self.counted(from, self.user_with(email, password, from)).await?;
        if !user.has_factor {
            return Ok(LoggedIn::Session(self.begin(&user, from).await?));
        }
        let (secret, now) = (Secret::random(), self.clock.now());
        let link = LinkRow {
            purpose: LinkPurpose::SecondStep,
            user: Some(user.id),
            account: None,
            created_at: now,
            expires_at: now.after(SECOND_STEP),
        };
        self.store.add_link(&secret.hash(), &link).await?;
        if !self.is_still_so(&user).await? {
            self.store.take_link(&secret.hash(), now).await?;
            return Err(LogInError::Wrong);
        }
        Ok(LoggedIn::SecondStep(secret))
    }

    /// The user with that address and that password.
    async fn user_with(
        &self,
        email: &str,
        password: &str,
        from: &Origin,
    ) -> Result<PersonRow, LogInError> {
        let user = match email.trim().parse::<EmailAddress>() {
            Ok(email) => self.store.user_by_email(&email).await?,
            Err(_) => None,
        };
        let hash = user.as_ref().and_then(|user| user.password.as_deref());
        let is_right = self.passwords.is_right(password, hash, from.ip).await?;
        user.filter(|_| is_right).ok_or(LogInError::Wrong)
    }

    /// Takes the code, or a recovery code, behind a right password.
    pub async fn second_step(
        &self,
        step: &str,
        code: &str,
        from: &Origin,
    ) -> Result<Secret, LogInError> {
        let user = self.counted(from, self.user_of_step(step, code, from)).await?;
        self.begin(&user, from).await
    }

    /// The user whom the right code logs in. The step cannot be taken again.
    async fn user_of_step(
        &self,
        step: &str,
        code: &str,
        from: &Origin,
    ) -> Result<PersonRow, LogInError> {
        let now = self.clock.now();
        let step: Secret = step.parse().map_err(|_| LogInError::Over)?;
        let link = self.store.link(&step.hash(), now).await?;
        let link = link.filter(|it| it.purpose == LinkPurpose::SecondStep);
        let user = link.and_then(|it| it.user).ok_or(LogInError::Over)?;
        // Counted before it is compared: codes that come at once are not more.
        if !self.store.try_code(&step.hash(), MAX_CODES, now).await? {
            return Err(LogInError::Over);
        }
        // Read before the step is taken: a change of the password removes the steps that were begun with the old password.
        let user = self.store.user(user).await?.ok_or(LogInError::Over)?;
        if !self.is_second_step((&user, None), code, from).await? {
            return Err(LogInError::WrongCode);
        }
        if self.store.take_link(&step.hash(), now).await? {
            Ok(user)
        } else {
            Err(LogInError::Over)
        }
    }

    /// Opens a session with the link that `waxwing dev` has printed.
    pub async fn log_in_by_link(&self, link: &str, from: &Origin) -> Result<Secret, LogInError> {
        let now = self.clock.now();
        let secret: Secret = link.parse().map_err(|_| LogInError::Over)?;
        let link = self.store.link(&secret.hash(), now).await?;
        let link = link.filter(|it| it.purpose == LinkPurpose::LogIn);
        let user = link.and_then(|it| it.user).ok_or(LogInError::Over)?;
        let user = self.store.user(user).await?.ok_or(LogInError::Over)?;
        if !self.store.take_link(&secret.hash(), now).await? {
            return Err(LogInError::Over);
        }
        self.begin(&user, from).await
    }

    /// Takes the password, and the code where there is a factor, once more.
    pub async fn step_up(
        &self,
        person: &Person,
        (password, code): (&str, &str),
        from: &Origin,
    ) -> Result<(), LogInError> {
        self.counted(from, self.check_both(person, (password, code), from)).await?;
        Ok(self.store.verify_session(person.session.id, self.clock.now()).await?)
    }

    /// Changes the password of somebody who knows the one before; all other sessions end.
    pub async fn change_password(
        &self,
        person: &Person,
        (before, after): (&str, &str),
        from: &Origin,
    ) -> Result<(), LogInError> {
        Passwords::check(after)?;
        self.counted(from, self.check_again(person, before, from)).await?;
        let hash = self.passwords.hash(after, from.ip).await?;
        let passwords = (person.user.password.as_deref(), hash.as_str());
        if !self.store.change_password(person.user.id, passwords, person.session.id).await? {
            return Err(LogInError::Wrong);
        }
        let change = ("change_password", None);
        self.record_own((&person.user, person.session.account), change, from).await;
        Ok(())
    }

    /// Ends one of the person's sessions; answers whether there was one.
    pub async fn end_session(
        &self,
        person: &Person,
        id: SessionId,
        from: &Origin,
    ) -> Result<bool, StoreError> {
        let is_ended = self.store.end_session(person.user.id, id).await?;
        if is_ended {
            let change = ("end_session", Some(id.to_string()));
            self.record_own((&person.user, person.session.account), change, from).await;
        }
        Ok(is_ended)
    }

    async fn check_both(
        &self,
        person: &Person,
        (password, code): (&str, &str),
        from: &Origin,
    ) -> Result<(), LogInError> {
        self.check_again(person, password, from).await?;
        let own = (&person.user, person.session.account);
        if person.user.has_factor && !self.is_second_step(own, code, from).await? {
            return Err(LogInError::WrongCode);
        }
        Ok(())
    }

    async fn check_again(
        &self,
        person: &Person,
        password: &str,
        from: &Origin,
    ) -> Result<(), LogInError> {
        let hash = person.user.password.as_deref();
        let is_right = self.passwords.is_right(password, hash, from.ip).await?;
        if is_right { Ok(()) } else { Err(LogInError::Wrong) }
    }

    /// Counts a guess of a password or of a code. It is taken from the bucket before it is compared, so that no more guesses
    /// than the bucket holds are compared at one time, and is given back unless it was wrong. A right password gives back
    /// no earlier guess.
    async fn counted<T>(
        &self,
        from: &Origin,
        guess: impl Future<Output = Result<T, LogInError>>,
    ) -> Result<T, LogInError> {
        self.take_attempt(from)?;
        let guessed = guess.await;
        if !guessed.as_ref().is_err_and(LogInError::is_wrong_guess) {
            self.rate_limits.give_back_attempt(from.ip);
        }
        guessed
    }

    /// Opens a session for a user whose password and code were compared with those of `user`.
    async fn begin(&self, user: &PersonRow, from: &Origin) -> Result<Secret, LogInError> {
        let (secret, session) = self.open_session(user.id, from).await?;
        if !self.is_still_so(user).await? {
            self.store.end_session(user.id, session.id).await?;
            return Err(LogInError::Wrong);
        }
        self.record_change(PersonsChange {
            user: (user.id, &user.email),
            account: session.account,
            action: "log_in",
            subject: Some(session.id.to_string()),
            from,
        })
        .await;
        Ok(secret)
    }

    /// Whether the user still has the password and the factors that were compared. A comparison takes a while, and a change
    /// of the password ends only the sessions and steps that are there at that moment: a session or a step that is added
    /// later asks here, and is removed.
    async fn is_still_so(&self, compared: &PersonRow) -> Result<bool, StoreError> {
        let user = self.store.user(compared.id).await?;
        let is_same = |it: &PersonRow| {
            it.password == compared.password && it.has_factor == compared.has_factor
        };
        Ok(user.as_ref().is_some_and(is_same))
    }

    /// Takes from the bucket that guesses of passwords and of keys fill.
    pub fn take_attempt(&self, from: &Origin) -> Result<(), LogInError> {
        let taken = self.rate_limits.take_password_attempt(from.ip);
        taken.map_err(|wait| LogInError::TooMany(wait.as_secs() + 1))
    }
}

#[cfg(test)]
mod tests;
