//! An operator acts as an account: sees what its people see, and may do what its owner may. Each change is written down
//! as the operator's, acting as the account.

use super::audit::PersonsChange;
use super::{Membership, Origin, People, Person};
use crate::account::AccountState;
use crate::account::role::Role;
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::store::{PersonRow, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum ActingError {
    #[error("only operators of the server act as an account")]
    NoOperator,
    #[error("the password was given too long ago; give it once more")]
    StepUp,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl People {
    /// Lets an operator act as an account until [`People::end_acting`], or the end of the session.
    pub async fn act_as(
        &self,
        person: &Person,
        account: AccountId,
        from: &Origin,
    ) -> Result<(), ActingError> {
        let now = self.clock.now();
        if !person.user.is_operator {
            return Err(ActingError::NoOperator);
        }
        if !person.is_verified(now) {
            return Err(ActingError::StepUp);
        }
        // For its message. Nobody works in an account that is being deleted.
        if self.store.account(account, now).await?.account.state == AccountState::Deleting {
            return Err(StoreError::Missing { noun: "account", name: account.to_string() }.into());
        }
        // Before it begins: what is done as an account is never without its beginning.
        self.record_acted(person, (account, "act_as"), from).await;
        Ok(self.store.change_session_acting(person.session.id, Some(account)).await?)
    }

    /// Ends it; answers the account.
    pub async fn end_acting(
        &self,
        person: &Person,
        from: &Origin,
    ) -> Result<Option<AccountId>, StoreError> {
        let Some(account) = person.session.acting_as else { return Ok(None) };
        self.store.change_session_acting(person.session.id, None).await?;
        self.record_acted(person, (account, "end_act_as"), from).await;
        Ok(Some(account))
    }

    /// The account that an operator acts as; none for everybody else, and where it is gone or being deleted.
    pub(super) async fn acted(
        &self,
        user: &PersonRow,
        acting_as: Option<AccountId>,
        now: Timestamp,
    ) -> Result<Option<Membership>, StoreError> {
        let Some(account) = acting_as.filter(|_| user.is_operator) else { return Ok(None) };
        let row = match self.store.account(account, now).await {
            Ok(row) if row.account.state == AccountState::Deleting => return Ok(None),
            Ok(row) => row.account,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Membership {
            account,
            account_name: row.name,
            role: Role::Owner,
            is_acting: true,
            is_suspended: row.state == AccountState::Suspended,
        }))
    }

    async fn record_acted(
        &self,
        person: &Person,
        (account, action): (AccountId, &'static str),
        from: &Origin,
    ) {
        self.record_change(PersonsChange {
            user: (person.user.id, &person.user.email),
            account: Some(account),
            action,
            subject: Some(account.to_string()),
            from,
        })
        .await;
    }
}
