//! The people of an account: who is invited, with which role, and who goes.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::links::INVITATION;
use super::members::{LINK_PAUSE, MAX_MEMBERS, may_come};
use super::owners::{LastOwner, keep_an_owner};
use super::{MemberError, Membership, Origin, People, Person, Secret};
use crate::account::role::{Role, RoleTooLow};
use crate::clock::Timestamp;
use crate::id::{AccountId, Identifier as _, UserId};
use crate::management::acts;
use crate::message::address::EmailAddress;
use crate::store::{
    JoinedBy, JoiningFacts, MemberChange, MemberFacts, MemberRow, MembershipState, NewInvitation,
    NewUser, PersonRow, RecentInvitations, StoreError,
};

/// Invitations that the owners of an account mail within [`INVITATION_COUNTS`].
const MAX_INVITATIONS: u32 = 50;
const INVITATION_COUNTS: Duration = Duration::from_hours(24);

/// Somebody in the account.
#[derive(Debug)]
pub struct TeamMember {
    /// What the account calls the person; before the person has accepted, not the identifier of the user.
    pub id: UserId,
    pub row: MemberRow,
    /// When a link in the e-mail of the invitation expires; none of somebody who has accepted and has a password. Before the
    /// person has accepted, this follows from the time of the invitation, also where the e-mail had no link: an account does
    /// not learn whether somebody has a log-in here.
    pub invited_until: Option<Timestamp>,
}

/// Somebody who was given a role.
#[derive(Debug)]
pub struct Invited {
    pub user: PersonRow,
    pub role: Role,
    /// To choose a password with. None for somebody who has a log-in, or was invited elsewhere: a link for them would
    /// let this account's owner into others. They find the invitation on the page of their accounts.
    pub link: Option<Secret>,
}

#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    #[error(transparent)]
    Role(#[from] RoleTooLow),
    #[error("the password was given too long ago; give it once more")]
    StepUp,
    #[error("must be an e-mail address, as in ada@example.com")]
    Email,
    #[error("{0} is in this account already, or invited; change the role in the list")]
    IsMember(EmailAddress),
    #[error(transparent)]
    LastOwner(#[from] LastOwner),
    /// Whoever owns an account could fill a mailbox.
    #[error("this address was invited a moment ago; it may be invited again in {0} s")]
    TooSoon(u64),
    #[error(
        "an account sends at most {MAX_INVITATIONS} invitations a day; it may send the next in {0} min"
    )]
    TooMany(u64),
    #[error("there is nobody like this in the account")]
    Missing,
    #[error(transparent)]
    Member(#[from] MemberError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl People {
    /// Who is in the account that the session shows.
    pub async fn team(&self, person: &Person) -> Result<Vec<TeamMember>, TeamError> {
        let membership = person.membership.as_ref().ok_or(TeamError::Missing)?;
        Ok(self.team_of(membership.account).await?)
    }

    /// Who is in an account, in the order in which they came, or were invited.
    pub async fn team_of(&self, account: AccountId) -> Result<Vec<TeamMember>, StoreError> {
        let mut members = self.store.members(account, None, MAX_MEMBERS).await?;
        // By identifiers, those would stand first who were users before they were invited.
        members.sort_by_key(|it| (it.since, it.user.id));
        let mut team = Vec::new();
        for row in members {
            team.push(self.team_member(account, row).await?);
        }
        Ok(team)
    }

    /// A member of an account, as the account may see the person.
    pub async fn team_member(
        &self,
        account: AccountId,
        row: MemberRow,
    ) -> Result<TeamMember, StoreError> {
        let (id, invited_until) = match (row.state, &row.user.password) {
            (MembershipState::Invited, _) => {
                (invited_id(account, row.user.id), Some(row.since.after(INVITATION)))
            }
            (MembershipState::Accepted, Some(_)) => (row.user.id, None),
            (MembershipState::Accepted, None) => {
                let newest = self.store.newest_password_link(row.user.id).await?;
                (row.user.id, newest.map(|it| it.expires_at))
            }
        };
        Ok(TeamMember { id, row, invited_until })
    }

    /// Invites somebody to the account that the session shows. Nothing of the account is theirs to see before they accept.
    pub async fn invite_to_account(
        &self,
        person: &Person,
        (email, role): (&str, Role),
        from: &Origin,
    ) -> Result<Invited, TeamError> {
        let account = self.owner(person)?.account;
        let invited = self.invite_into(account, (email, role)).await?;
        let act = acts::invited(&invited.user.email, (account, role));
        self.record_in_account(person, act.in_account(), from).await;
        Ok(invited)
    }

    /// Invites somebody to an account. The caller has checked that this may be done, and records the change.
    pub async fn invite_into(
        &self,
        account: AccountId,
        (email, role): (&str, Role),
    ) -> Result<Invited, TeamError> {
        let email: EmailAddress = email.trim().parse().map_err(|_| TeamError::Email)?;
        let (place, now) = ((account, role), self.clock.now());
        let new = NewUser {
            id: UserId::new(now),
            email: email.clone(),
            password: None,
            is_operator: false,
            membership: Some(place),
            at: now,
        };
        let decide = |facts: &JoiningFacts| {
            if facts.state.is_some() {
                return Err(TeamError::IsMember(email.clone()));
            }
            may_come(facts, &email)?;
            may_invite(facts.invitations, now)
        };
        let by = JoinedBy::Owner { counts_until: now.after(INVITATION_COUNTS) };
        let joined = self.store.join_account(&new, place, by, decide).await??;
        let link = if joined.is_new {
            Some(self.make_invitation(joined.user, Some(account)).await?)
        } else {
            None
        };
        let user = self.store.user(joined.user).await?.ok_or(TeamError::Missing)?;
        Ok(Invited { user, role, link })
    }

    /// Invites a pending person once more, with a new link where the person has no log-in. Refused within the pause after
    /// the last invitation of the address.
    pub async fn invite_again(
        &self,
        person: &Person,
        user: UserId,
        from: &Origin,
    ) -> Result<Invited, TeamError> {
        let account = self.owner(person)?.account;
        let invited = self.invite_again_into(account, user).await?;
        let act = acts::invited_again(&invited.user.email);
        self.record_in_account(person, act.in_account(), from).await;
        Ok(invited)
    }

    /// Invites a pending person of an account once more. The caller has checked that this may be done, and records the change.
    pub async fn invite_again_into(
        &self,
        account: AccountId,
        user: UserId,
    ) -> Result<Invited, TeamError> {
        let member = self.member(account, user).await?;
        if !member.is_pending() {
            return Err(TeamError::IsMember(member.user.email));
        }
        let (user, role, now) = (member.user, member.role, self.clock.now());
        let new = NewInvitation {
            account,
            email: &user.email,
            at: now,
            expires_at: now.after(INVITATION_COUNTS),
        };
        self.store.invite_again(new, |recent| may_invite(recent, now)).await??;
        let memberships = self.store.memberships(user.id).await?;
        let link = if user.password.is_some() || user.is_operator || memberships.len() > 1 {
            None
        } else {
            Some(self.make_invitation(user.id, Some(account)).await?)
        };
        Ok(Invited { user, role, link })
    }

    /// Whether an owner who has invited somebody may see the link. It proves nobody's address from then on.
    pub async fn show_link(&self, invited: &PersonRow, link: &Secret) -> Result<bool, StoreError> {
        self.store.show_link(invited.id, &link.hash()).await
    }

    /// Gives somebody of the account another role.
    pub async fn change_role(
        &self,
        person: &Person,
        (user, role): (UserId, Role),
        from: &Origin,
    ) -> Result<(), TeamError> {
        let account = self.owner(person)?.account;
        let email = self.change_role_in(account, (user, role)).await?;
        let act = acts::role_given(account, &email, role);
        self.record_in_account(person, act.in_account(), from).await;
        Ok(())
    }

    /// Gives somebody of an account another role. The caller has checked that this may be done, and records the change.
    pub async fn change_role_in(
        &self,
        account: AccountId,
        (user, role): (UserId, Role),
    ) -> Result<EmailAddress, TeamError> {
        let user = self.member(account, user).await?.user;
        let decide = |facts: &MemberFacts| with_role(facts, user.id, role);
        self.store.change_member(account, user.id, decide).await??;
        Ok(user.email)
    }

    /// Takes somebody out of the account; an invitation that nobody has taken is gone with it.
    pub async fn remove_from_account(
        &self,
        person: &Person,
        user: UserId,
        from: &Origin,
    ) -> Result<(), TeamError> {
        let account = self.owner(person)?.account;
        let act = acts::member_removed(&self.remove_from(account, user).await?);
        self.record_in_account(person, act.in_account(), from).await;
        Ok(())
    }

    /// Takes somebody out of an account. The caller has checked that this may be done, and records the change.
    pub async fn remove_from(
        &self,
        account: AccountId,
        user: UserId,
    ) -> Result<EmailAddress, TeamError> {
        let user = self.member(account, user).await?.user;
        let decide = |facts: &MemberFacts| without(facts, user.id);
        self.store.change_member(account, user.id, decide).await??;
        Ok(user.email)
    }

    /// Somebody of the account, by the identifier of the user, or by that of the invitation, also when it was accepted.
    pub async fn member(&self, account: AccountId, user: UserId) -> Result<MemberRow, TeamError> {
        let members = self.store.members(account, None, MAX_MEMBERS).await?;
        let is_it = |it: &MemberRow| it.user.id == user || invited_id(account, it.user.id) == user;
        members.into_iter().find(is_it).ok_or(TeamError::Missing)
    }

    fn owner<'a>(&self, person: &'a Person) -> Result<&'a Membership, TeamError> {
        let membership = person.membership.as_ref().ok_or(TeamError::Missing)?;
        membership.at_least(Role::Owner)?;
        if !person.is_verified(self.clock.now()) {
            return Err(TeamError::StepUp);
        }
        Ok(membership)
    }
}

/// What an account calls somebody whom it has invited. The identifier of a user tells when the user was made, and so whether
/// there was one before the invitation.
fn invited_id(account: AccountId, user: UserId) -> UserId {
    let hash: [u8; 32] = Sha256::new()
        .chain_update(b"invited")
        .chain_update(account.to_bytes())
        .chain_update(user.to_bytes())
        .finalize()
        .into();
    let mut id = [0; 16];
    id.copy_from_slice(&hash[..16]);
    UserId::from_bytes(id)
}

/// Whether an address may be mailed an invitation.
fn may_invite(recent: RecentInvitations, now: Timestamp) -> Result<(), TeamError> {
    let pause = recent.newest_to_address.map(|it| now.until(it.after(LINK_PAUSE)));
    if let Some(wait) = pause.filter(|it| !it.is_zero()) {
        return Err(TeamError::TooSoon(wait.as_secs() + 1));
    }
    if recent.count < MAX_INVITATIONS {
        return Ok(());
    }
    let wait = recent.first_end.map_or(INVITATION_COUNTS, |it| now.until(it));
    Err(TeamError::TooMany(wait.as_secs() / 60 + 1))
}

/// Gives a member another role, unless nobody who can log in would own the account any more.
fn with_role(facts: &MemberFacts, user: UserId, role: Role) -> Result<MemberChange, TeamError> {
    if !facts.is_member {
        return Err(TeamError::Missing);
    }
    if role != Role::Owner {
        keep_an_owner(&facts.owned, user)?;
    }
    Ok(MemberChange::Role(role))
}

/// Takes a member out. A person who never chose a password and is nowhere else is removed altogether.
pub(super) fn without(facts: &MemberFacts, user: UserId) -> Result<MemberChange, TeamError> {
    if !facts.is_member {
        return Err(TeamError::Missing);
    }
    keep_an_owner(&facts.owned, user)?;
    Ok(if facts.outlives_membership { MemberChange::Out } else { MemberChange::Removed })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn an_address_is_invited_after_a_pause_and_an_account_so_many_a_day() {
        let none = RecentInvitations { count: 0, first_end: None, newest_to_address: None };
        assert!(may_invite(none, NOW).is_ok());
        let newest = |ago| RecentInvitations { newest_to_address: Some(NOW.before(ago)), ..none };
        let soon = may_invite(newest(Duration::from_secs(30)), NOW);
        assert!(matches!(soon, Err(TeamError::TooSoon(91))), "{soon:?}");
        assert!(may_invite(newest(LINK_PAUSE), NOW).is_ok());
        let first_end = Some(NOW.after(Duration::from_mins(90)));
        let most = RecentInvitations { count: MAX_INVITATIONS, first_end, ..none };
        let full = may_invite(most, NOW);
        assert!(matches!(full, Err(TeamError::TooMany(91))), "{full:?}");
        let less = RecentInvitations { count: MAX_INVITATIONS - 1, ..most };
        assert!(may_invite(less, NOW).is_ok());
    }
}
