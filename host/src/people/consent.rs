//! What people decide about themselves: to accept an invitation to an account, to decline it, and to leave.

use super::audit::PersonsChange;
use super::team::{TeamError, without};
use super::{Origin, People, Person};
use crate::id::AccountId;
use crate::store::{
    ActorId, AuditRow, MemberChange, MemberFacts, MembershipRow, MembershipState, StoreError,
};

impl People {
    /// Takes the invitation of an account, and shows the account from now on. Answers whether an invitation waited.
    pub async fn accept_invitation(
        &self,
        person: &Person,
        account: AccountId,
        from: &Origin,
    ) -> Result<bool, StoreError> {
        let (user, now) = (&person.user, self.clock.now());
        if !self.store.accept_invitation(user.id, account, now).await? {
            return Ok(false);
        }
        self.record_change(PersonsChange {
            user: (user.id, &user.email),
            account: Some(account),
            action: "accept_invitation",
            subject: Some(user.id.to_string()),
            from,
        })
        .await;
        self.store.change_session_account(person.session.id, account).await?;
        Ok(true)
    }

    /// Declines the invitation of an account. Answers whether one waited.
    pub async fn decline_invitation(
        &self,
        person: &Person,
        account: AccountId,
    ) -> Result<bool, StoreError> {
        let user = &person.user;
        if !self.store.decline_invitation(user.id, account).await? {
            return Ok(false);
        }
        let row = AuditRow {
            at: self.clock.now(),
            account: Some(account),
            actor: ActorId::User(user.id),
            acting: false,
            actor_name: Some(user.email.to_string()),
            action: "decline_invitation".to_owned(),
            subject: Some(user.id.to_string()),
            // The account's people read the log, and the person is none of them.
            ip: None,
        };
        self.store.record_made_change(&row).await;
        Ok(true)
    }

    /// The account that somebody wants to leave.
    ///
    /// # Errors
    /// The person is not in it.
    pub async fn own_account(
        &self,
        person: &Person,
        account: AccountId,
    ) -> Result<MembershipRow, TeamError> {
        let memberships = self.store.memberships(person.user.id).await?;
        let mut own = memberships.into_iter().filter(|it| it.state == MembershipState::Accepted);
        own.find(|it| it.account == account).ok_or(TeamError::Missing)
    }

    /// Takes a person out of an account, as the person wishes; the last owner who can log in stays.
    pub async fn leave_account(
        &self,
        person: &Person,
        account: AccountId,
        from: &Origin,
    ) -> Result<(), TeamError> {
        let user = &person.user;
        self.own_account(person, account).await?;
        // Whoever leaves stays a user of the server.
        let decide = |facts: &MemberFacts| without(facts, user.id).map(|_| MemberChange::Out);
        self.store.change_member(account, user.id, decide).await??;
        self.record_change(PersonsChange {
            user: (user.id, &user.email),
            account: Some(account),
            action: "leave_account",
            subject: Some(user.id.to_string()),
            from,
        })
        .await;
        Ok(())
    }
}
