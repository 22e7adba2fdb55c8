//! The people of an account.

use serde::Serialize;
use utoipa::ToSchema;

use super::page::{Listed, Page, PageDoc, WHOLE};
use super::user::Role;
use crate::clock::Timestamp;
use crate::id::UserId;
use crate::people;
use crate::store::MembershipState;

/// Somebody who works in the account.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamMember {
    /// `usr_…`. Until the person accepts, this is the identifier of the invitation, afterwards that of the user. The
    /// identifier of the invitation goes on working in paths as long as the person is in the account.
    #[schema(value_type = String)]
    id: UserId,
    /// With which the person logs in.
    email: String,
    /// What the person may do in the account.
    role: Role,
    /// Whether the person has a log-in; not said of somebody who has not accepted.
    has_password: bool,
    /// False while an owner or a key of the account has invited the person, who has not answered yet and sees nothing of it.
    accepted: bool,
    /// Whether a log-in asks for a code, too; not said of somebody who has not accepted.
    has_factor: bool,
    /// When a link in the e-mail of the invitation expires; none once that is over, or the person has accepted. Somebody who
    /// has a log-in already gets no link, and may also accept later.
    #[schema(format = "date-time")]
    invited_until: Option<String>,
    /// Since when the person is in the account; of an invitation, when it was last made.
    #[schema(format = "date-time")]
    since: String,
    /// Members of the request that mean nothing here.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Somebody who was invited.
#[derive(Serialize, ToSchema)]
pub struct TeamInvitation {
    /// The member, as the list shows it; its `warnings` also say why no mail was sent.
    #[serde(flatten)]
    pub member: TeamMember,
    /// Whether the invitation was mailed; one without a link, to somebody who has a log-in already or is invited to another
    /// account too.
    pub mailed: bool,
    /// `/invite/…`, below the address that the dashboard is reached by, where no mail was sent: for an operator, and
    /// for the account where the server sends no mail at all. It is told only once.
    pub path: Option<String>,
}

/// Somebody to invite.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"email": "ada@example.com", "role": "member"}))]
pub struct InviteMember {
    /// With which the person logs in.
    #[schema(format = "email", max_length = 254)]
    email: String,
    /// What the person may do in the account.
    role: Role,
}

/// Another role for a member.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"role": "member"}))]
pub struct ChangeMember {
    /// What the person may do in the account from now on.
    role: Role,
}

/// Somebody who is in the account no more.
#[derive(Serialize, ToSchema)]
pub struct RemovedMember {
    /// `usr_…`
    #[schema(value_type = String)]
    pub id: UserId,
    /// With which the person logs in.
    pub email: String,
    /// Always true.
    pub removed: bool,
}

impl TeamMember {
    /// The member as it stands `now`.
    pub fn new(member: people::TeamMember, now: Timestamp) -> Self {
        let people::TeamMember { id, row, invited_until } = member;
        let is_accepted = row.state == MembershipState::Accepted;
        Self {
            id,
            email: row.user.email.to_string(),
            role: row.role.into(),
            has_password: row.user.password.is_some() && is_accepted,
            accepted: is_accepted,
            has_factor: row.user.has_factor && !row.is_pending(),
            invited_until: invited_until.filter(|end| *end > now).map(Timestamp::rfc3339),
            since: row.since.rfc3339(),
            warnings: Vec::new(),
        }
    }
}

pub type TeamList = Page<TeamMember>;

impl Listed for TeamMember {
    const PAGE: PageDoc = PageDoc {
        name: "TeamList",
        about: "The people of an account.",
        data: "In the order in which they came, or were invited.",
        ..WHOLE
    };
}
