//! What is written into the audit log of a change by a person. Changes by keys are written by the API, those of the
//! command line by the command line.

use super::sessions::{Origin, shown};
use super::{People, Person};
use crate::id::{AccountId, UserId};
use crate::message::address::EmailAddress;
use crate::store::{ActorId, AuditRow, PersonRow};

/// A change that a person has made.
#[derive(Debug, Clone)]
pub struct PersonsChange<'a> {
    pub user: (UserId, &'a EmailAddress),
    pub account: Option<AccountId>,
    pub action: &'static str,
    pub subject: Option<String>,
    pub from: &'a Origin,
}

/// In which capacity a person makes a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capacity {
    /// Their own.
    Own,
    /// As an operator who acts as the account.
    Acting,
}

impl People {
    pub async fn record_change(&self, change: PersonsChange<'_>) {
        self.record_in(Capacity::Own, change).await;
    }

    async fn record_in(&self, capacity: Capacity, change: PersonsChange<'_>) {
        let (user, email) = change.user;
        let row = AuditRow {
            at: self.clock.now(),
            account: change.account,
            actor: ActorId::User(user),
            acting: capacity == Capacity::Acting,
            actor_name: Some(email.to_string()),
            action: change.action.to_owned(),
            subject: change.subject,
            ip: Some(change.from.ip.to_string()),
        };
        self.store.record_made_change(&row).await;
    }

    /// A change that belongs to the person, as of the password: it stands in the log of the account that the session shows
    /// where the person is in it, else of the one used last, and of the server where the person is in none. An account that
    /// an operator acts as has nothing to do with it.
    pub(super) async fn record_own(
        &self,
        (user, account): (&PersonRow, Option<AccountId>),
        (action, subject): (&'static str, Option<String>),
        from: &Origin,
    ) {
        // A store that does not answer takes no entry either, and that is logged.
        let memberships = self.store.memberships(user.id).await.unwrap_or_default();
        self.record_change(PersonsChange {
            user: (user.id, &user.email),
            account: shown(&memberships, account).map(|it| it.account),
            action,
            subject,
            from,
        })
        .await;
    }

    /// A change in the account that the person's session shows.
    pub async fn record_in_account(
        &self,
        person: &Person,
        (action, subject): (&'static str, Option<String>),
        from: &Origin,
    ) {
        let change = PersonsChange {
            user: (person.user.id, &person.user.email),
            account: person.membership.as_ref().map(|it| it.account),
            action,
            subject,
            from,
        };
        let is_acting = person.membership.as_ref().is_some_and(|it| it.is_acting);
        let capacity = if is_acting { Capacity::Acting } else { Capacity::Own };
        self.record_in(capacity, change).await;
    }
}
