//! Sessions: how long a log-in lasts, which account it shows, and how it ends.

use std::net::IpAddr;
use std::time::Duration;

use super::{Membership, People, Person, Secret};
use crate::clock::Timestamp;
use crate::id::{AccountId, SessionId, UserId};
use crate::store::{MembershipRow, MembershipState, SessionRow, StoreError};

/// A session that nobody uses ends.
const SESSION_IDLE: Duration = Duration::from_hours(12);
/// However much it is used.
pub const SESSION_LIFE: Duration = Duration::from_hours(30 * 24);
/// How long the password that was given counts for what is dangerous.
pub const STEP_UP: Duration = Duration::from_mins(15);
/// The store is not written for each page.
const SEEN_EVERY: Duration = Duration::from_mins(1);
const MAX_AGENT_CHARS: usize = 200;

/// Where a request came from.
#[derive(Debug, Clone)]
pub struct Origin {
    pub ip: IpAddr,
    /// The browser, in its own words.
    pub agent: String,
}

impl People {
    /// Opens a session with a new secret for the browser's cookie.
    pub async fn open_session(
        &self,
        user: UserId,
        from: &Origin,
    ) -> Result<(Secret, SessionRow), StoreError> {
        let (secret, now) = (Secret::random(), self.clock.now());
        let memberships = self.store.memberships(user).await?;
        let session = SessionRow {
            id: SessionId::new(now),
            user,
            account: last_used(&memberships).map(|it| it.account),
            acting_as: None,
            created_at: now,
            seen_at: now,
            verified_at: now,
            expires_at: end(now, now),
            ip: from.ip.to_string(),
            agent: from.agent.chars().take(MAX_AGENT_CHARS).collect(),
        };
        self.store.add_session(&secret.hash(), &session).await?;
        Ok((secret, session))
    }

    /// Who has that secret; nobody where the session is over.
    pub async fn person(
        &self,
        secret: &Secret,
        ip: IpAddr,
        by: SeenBy,
    ) -> Result<Option<Person>, StoreError> {
        let now = self.clock.now();
        let Some(mut session) = self.store.session(&secret.hash(), now).await? else {
            return Ok(None);
        };
        let Some(user) = self.store.user(session.user).await? else { return Ok(None) };
        if by == SeenBy::Person && session.seen_at.after(SEEN_EVERY) <= now {
            session.seen_at = now;
            session.expires_at = end(session.created_at, now);
            session.ip = ip.to_string();
            self.store.touch_session(&session).await?;
            if let Some(account) = session.account.filter(|_| session.acting_as.is_none()) {
                self.store.note_account_used(user.id, account, now).await?;
            }
        }
        if let Some(membership) = self.acted(&user, session.acting_as, now).await? {
            return Ok(Some(Person { user, session, membership: Some(membership) }));
        }
        // The role is read with each request: who loses it has lost it.
        let memberships = self.store.memberships(user.id).await?;
        let membership = shown(&memberships, session.account);
        if let Some(other) = membership
            && session.account.is_some_and(|it| it != other.account)
        {
            // The account that it showed is gone. From now on it stays with this one, whatever other sessions open.
            session.account = Some(other.account);
            self.store.change_session_account(session.id, other.account).await?;
        }
        Ok(Some(Person { user, session, membership: membership.map(Membership::of) }))
    }

    /// Shows another account of the person; answers whether the person is in it.
    pub async fn show_account(
        &self,
        person: &Person,
        account: AccountId,
    ) -> Result<bool, StoreError> {
        let memberships = self.store.memberships(person.user.id).await?;
        let is_member = accepted(&memberships).any(|it| it.account == account);
        if is_member {
            self.store.change_session_account(person.session.id, account).await?;
            let now = self.clock.now();
            self.store.note_account_used(person.user.id, account, now).await?;
        }
        Ok(is_member)
    }
}

/// The accounts that a person is in, without those that wait for an answer.
fn accepted(memberships: &[MembershipRow]) -> impl DoubleEndedIterator<Item = &MembershipRow> {
    memberships.iter().filter(|it| it.state == MembershipState::Accepted)
}

/// The membership in the account that a session shows; where the person is not in that account any more, the membership in the
/// account that was used last.
pub(super) fn shown(
    memberships: &[MembershipRow],
    account: Option<AccountId>,
) -> Option<&MembershipRow> {
    let mut own = accepted(memberships);
    own.find(|it| Some(it.account) == account).or_else(|| last_used(memberships))
}

/// The account that a log-in opens; the one that was opened first where none was used yet.
fn last_used(memberships: &[MembershipRow]) -> Option<&MembershipRow> {
    // Of several equal ones `max_by_key` answers the last: from behind, that is the oldest account.
    accepted(memberships).rev().max_by_key(|it| it.used_at)
}

/// Who has made a request of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenBy {
    /// It keeps the session.
    Person,
    /// A page that was left open, and asks by itself.
    Page,
}

impl Person {
    /// Whether the password was given not long ago.
    #[must_use]
    pub fn is_verified(&self, now: Timestamp) -> bool {
        self.session.verified_at.after(STEP_UP) > now
    }
}

fn end(created_at: Timestamp, seen_at: Timestamp) -> Timestamp {
    created_at.after(SESSION_LIFE).min(seen_at.after(SESSION_IDLE))
}
