//! The people of an account: who is invited, with which role, and who goes.

use super::members::{MAX_MEMBERS, may_come};
use super::{MemberError, Membership, Origin, People, Person, Secret};
use crate::account::role::{Role, RoleTooLow};
use crate::clock::Timestamp;
use crate::id::UserId;
use crate::message::address::EmailAddress;
use crate::store::{
    JoiningFacts, LinkPurpose, MemberChange, MemberFacts, MemberRow, NewUser, PersonRow, StoreError,
};

/// Somebody in the account.
#[derive(Debug)]
pub struct TeamMember {
    pub row: MemberRow,
    /// Until when the invitation works, of somebody who has not taken it yet.
    pub invited_until: Option<Timestamp>,
}

/// Somebody who was given a role.
#[derive(Debug)]
pub struct Invited {
    pub user: PersonRow,
    /// To choose a password with. None for somebody who has a log-in, or was invited elsewhere: a link for them would
    /// let this account's owner into others.
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
    #[error("{0} is in this account already; change the role in the list")]
    IsMember(EmailAddress),
    #[error(
        "an account keeps at least one owner who can log in; make somebody else an owner first"
    )]
    LastOwner,
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
        let mut team = Vec::new();
        for row in self.store.members(membership.account, None, MAX_MEMBERS).await? {
            let invited_until = match row.user.password {
                Some(_) => None,
                None => self.store.newest_link(row.user.id).await?.map(|it| it.expires_at),
            };
            team.push(TeamMember { row, invited_until });
        }
        Ok(team)
    }

    /// Gives somebody a role in the account that the session shows.
    pub async fn invite_to_account(
        &self,
        person: &Person,
        (email, role): (&str, Role),
        from: &Origin,
    ) -> Result<Invited, TeamError> {
        let membership = self.owner(person)?;
        let email: EmailAddress = email.trim().parse().map_err(|_| TeamError::Email)?;
        let place = (membership.account, role);
        let new = NewUser {
            id: UserId::new(self.clock.now()),
            email: email.clone(),
            password: None,
            is_operator: false,
            membership: Some(place),
            at: self.clock.now(),
        };
        let decide = |facts: &JoiningFacts| {
            if facts.is_member {
                return Err(TeamError::IsMember(email.clone()));
            }
            Ok(may_come(*facts, &email)?)
        };
        let joined = self.store.join_account(&new, place, decide).await??;
        let link = if joined.is_new {
            Some(self.make_link(LinkPurpose::Invitation, Some(joined.user)).await?)
        } else {
            None
        };
        let user = self.store.user(joined.user).await?.ok_or(TeamError::Missing)?;
        let invited = Invited { user, link };
        let said = format!("{}: {role}", invited.user.email);
        self.record_in_account(person, ("invite_user", Some(said)), from).await;
        Ok(invited)
    }

    /// Makes another link for somebody who has not taken the invitation.
    pub async fn invite_again(
        &self,
        person: &Person,
        user: UserId,
        from: &Origin,
    ) -> Result<Invited, TeamError> {
        let membership = self.owner(person)?;
        let user = self.member(membership, user).await?.user;
        let memberships = self.store.memberships(user.id).await?;
        if user.password.is_some() || user.is_operator || memberships.len() > 1 {
            return Ok(Invited { user, link: None });
        }
        let link = self.make_link(LinkPurpose::Invitation, Some(user.id)).await?;
        let said = user.email.to_string();
        self.record_in_account(person, ("invite_user_again", Some(said)), from).await;
        Ok(Invited { user, link: Some(link) })
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
        let membership = self.owner(person)?;
        let email = self.member(membership, user).await?.user.email;
        let decide = |facts: &MemberFacts| with_role(facts, user, role);
        self.store.change_member(membership.account, user, decide).await??;
        let said = format!("{email}: {role}");
        self.record_in_account(person, ("give_role", Some(said)), from).await;
        Ok(())
    }

    /// Takes somebody out of the account; an invitation that nobody has taken is gone with it.
    pub async fn remove_from_account(
        &self,
        person: &Person,
        user: UserId,
        from: &Origin,
    ) -> Result<(), TeamError> {
        let membership = self.owner(person)?;
        let email = self.member(membership, user).await?.user.email;
        let decide = |facts: &MemberFacts| without(facts, user);
        self.store.change_member(membership.account, user, decide).await??;
        let said = email.to_string();
        self.record_in_account(person, ("remove_member", Some(said)), from).await;
        Ok(())
    }

    /// Somebody of the account.
    pub async fn member(
        &self,
        membership: &Membership,
        user: UserId,
    ) -> Result<MemberRow, TeamError> {
        let members = self.store.members(membership.account, None, MAX_MEMBERS).await?;
        members.into_iter().find(|it| it.user.id == user).ok_or(TeamError::Missing)
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

/// Gives a member another role, unless nobody who can log in would own the account any more.
fn with_role(facts: &MemberFacts, user: UserId, role: Role) -> Result<MemberChange, TeamError> {
    if !facts.is_member {
        return Err(TeamError::Missing);
    }
    if role != Role::Owner && is_last_owner(facts, user) {
        return Err(TeamError::LastOwner);
    }
    Ok(MemberChange::Role(role))
}

/// Takes a member out. A person who never chose a password and is nowhere else is removed altogether.
fn without(facts: &MemberFacts, user: UserId) -> Result<MemberChange, TeamError> {
    if !facts.is_member {
        return Err(TeamError::Missing);
    }
    if is_last_owner(facts, user) {
        return Err(TeamError::LastOwner);
    }
    Ok(if facts.outlives_membership { MemberChange::Out } else { MemberChange::Removed })
}

/// Whether this person alone owns the account and can log in.
fn is_last_owner(facts: &MemberFacts, user: UserId) -> bool {
    let mut can_log_in = facts.owners.iter().filter(|(_, can_log_in)| *can_log_in);
    can_log_in.next().is_some_and(|(id, _)| *id == user) && can_log_in.next().is_none()
}
