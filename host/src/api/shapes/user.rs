//! People who use the dashboard.

use serde::Serialize;
use utoipa::ToSchema;

use super::page::{Listed, PAGED, Page, PageDoc};
use crate::account::role;
use crate::id::{AccountId, UserId};
use crate::store::{MembershipRow, MembershipState, PersonRow};

/// Somebody who uses the dashboard.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// `usr_…`
    #[schema(value_type = String)]
    id: UserId,
    /// With which the user logs in.
    email: String,
    /// Whether the user manages the server.
    operator: bool,
    /// Whether the invitation was taken.
    has_password: bool,
    /// Whether a log-in asks for a code, too.
    has_factor: bool,
    /// The accounts that the user works in, or is invited to.
    roles: Vec<UserRole>,
    /// When the user was added.
    #[schema(format = "date-time")]
    created_at: String,
    /// Members of the request that mean nothing here.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What a user is to an account.
#[derive(Serialize, ToSchema)]
pub struct UserRole {
    /// `acc_…`
    #[schema(value_type = String)]
    account: AccountId,
    /// The account's name.
    name: String,
    /// What the user may do there.
    role: Role,
    /// False while an owner of the account has invited the user, who has not answered yet and sees nothing of it.
    accepted: bool,
}

/// What a user may do in an account. Each role may do what those before it may.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Sees all of it and changes nothing.
    ReadOnly,
    /// Works with mail: messages, templates, suppressions.
    Member,
    /// Says who else may: keys, domains, webhooks, people.
    Owner,
}

/// A user with a link to choose a password with, which is told only once.
#[derive(Serialize, ToSchema)]
pub struct UserLink {
    /// The user.
    #[serde(flatten)]
    pub about: User,
    /// `/invite/…` or `/reset/…`, below the address that the dashboard is reached by.
    pub path: String,
}

/// A user who was removed.
#[derive(Serialize, ToSchema)]
pub struct DeletedUser {
    /// `usr_…`
    #[schema(value_type = String)]
    pub id: UserId,
    /// With which the user logged in.
    pub email: String,
    /// Always true.
    pub deleted: bool,
}

/// Somebody to invite.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"email": "ada@example.com", "account": "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV", "role": "member"}))]
pub struct InviteUser {
    /// With which the user logs in.
    #[schema(format = "email", max_length = 254)]
    email: String,
    /// An account that the user works in, `acc_…`. Only an operator needs none.
    account: Option<String>,
    /// What the user may do there; needed with `account`.
    role: Option<Role>,
    /// Whether the user manages the server. Default: false.
    operator: Option<bool>,
}

/// A role to give.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"role": "member"}))]
pub struct GiveRole {
    /// What the user may do in the account from now on.
    role: Role,
}

/// How to reset a user.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"removeFactor": false}))]
pub struct ResetUser {
    /// Remove the second factor now, for a user who has lost its device and the recovery codes. Default: false.
    remove_factor: Option<bool>,
}

impl User {
    pub fn new(row: &PersonRow, memberships: Vec<MembershipRow>) -> Self {
        let role = |it: MembershipRow| UserRole {
            account: it.account,
            name: it.account_name,
            role: it.role.into(),
            accepted: it.state == MembershipState::Accepted,
        };
        Self {
            id: row.id,
            email: row.email.to_string(),
            operator: row.is_operator,
            has_password: row.password.is_some(),
            has_factor: row.has_factor,
            roles: memberships.into_iter().map(role).collect(),
            created_at: row.created_at.rfc3339(),
            warnings: Vec::new(),
        }
    }
}

impl From<role::Role> for Role {
    fn from(role: role::Role) -> Self {
        match role {
            role::Role::ReadOnly => Self::ReadOnly,
            role::Role::Member => Self::Member,
            role::Role::Owner => Self::Owner,
        }
    }
}

pub type UserPage = Page<User>;

impl Listed for User {
    const PAGE: PageDoc =
        PageDoc { name: "UserPage", about: "Some of the users.", data: "Oldest first.", ..PAGED };
}
