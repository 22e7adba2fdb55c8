//! What surrounds every page: the side bar, the account, the person, the theme.

use axum::extract::State;
use axum::response::Response;

use super::assets;
pub use super::cover::Cover;
use super::guard::{Guest, GuestForm, OWN_ACCOUNTS, Theme, Visitor, with_theme};
use super::response::{Failure, to};
use super::state::Dashboard;
use crate::account::role::Role;
use crate::people::{Membership, Secret};
use crate::store::{MembershipRow, MembershipState};

/// Where in the side bar a page stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Overview,
    Messages,
    Templates,
    Domains,
    Keys,
    Webhooks,
    Suppressions,
    Credits,
    Brand,
    Inbox,
    Team,
    Audit,
    Profile,
    OpsHealth,
    OpsAccounts,
    OpsQueue,
    OpsPlugins,
    OpsDecisions,
    OpsAudit,
}

/// What the layout of a page of somebody who is logged in shows.
#[derive(Debug)]
pub struct Frame {
    pub style: String,
    /// The script of every page.
    pub script: String,
    pub theme: Theme,
    pub place: Place,
    /// Goes into every form.
    pub form: String,
    /// Goes into each form that makes something: such a form counts once.
    pub once: String,
    pub path: String,
    pub email: String,
    pub is_operator: bool,
    /// Whether the person is an operator who acts as the account.
    pub is_acting: bool,
    /// Whether it is a page of a suspended account, which changes nothing.
    pub is_suspended: bool,
    pub account: Option<Membership>,
    /// All accounts of the person, where there are several.
    pub accounts: Vec<MembershipRow>,
    /// Why the server is in read-only mode, while it is.
    pub read_only: Option<String>,
    /// Accounts that wait for the person's answer to an invitation; none on the page where it is given.
    pub invitations: Vec<MembershipRow>,
    /// What has just been done.
    pub notice: Option<String>,
}

impl Frame {
    pub async fn of(
        dashboard: &Dashboard,
        visitor: &Visitor,
        place: Place,
    ) -> Result<Self, Failure> {
        let person = &visitor.person;
        let memberships = dashboard.people.store.memberships(person.user.id).await?;
        let is_accepted = |it: &MembershipRow| it.state == MembershipState::Accepted;
        let (accounts, mut invitations): (Vec<_>, Vec<_>) =
            memberships.into_iter().partition(is_accepted);
        if visitor.guest.path.starts_with(OWN_ACCOUNTS) {
            invitations.clear();
        }
        let is_suspended = visitor.guest.path.starts_with("/app") && visitor.is_suspended();
        let maintenance = dashboard.api.journey.accept.facts.current_maintenance().await?;
        let is_acting = person.membership.as_ref().is_some_and(|it| it.is_acting);
        Ok(Self {
            style: assets::style(),
            script: assets::page(),
            theme: visitor.guest.theme,
            place,
            form: visitor.form_token(),
            once: Secret::random().reveal(),
            path: visitor.guest.path.clone(),
            email: person.user.email.to_string(),
            is_operator: person.user.is_operator,
            is_acting,
            is_suspended,
            read_only: maintenance.map(|it| it.reason.clone()),
            account: person.membership.clone(),
            accounts: if accounts.len() > 1 && !is_acting { accounts } else { Vec::new() },
            invitations,
            notice: None,
        })
    }

    pub fn is_owner(&self) -> bool {
        self.account.as_ref().is_some_and(|it| it.role >= Role::Owner)
    }

    pub fn is_member(&self) -> bool {
        self.account.as_ref().is_some_and(|it| it.role >= Role::Member)
    }
}

impl Cover {
    pub fn of(guest: &Guest) -> Self {
        guest.theme.into()
    }
}

/// Keeps how pages look in a cookie.
pub async fn choose_theme(
    State(_): State<Dashboard>,
    sent: GuestForm,
) -> Result<Response, Failure> {
    let theme = Theme::of_cookie(Some(sent.form.get("theme")));
    Ok(with_theme(to(&sent.form.path("back")), theme))
}
