//! The accounts of a person: which invitations wait, what is the person's, and how the person leaves.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{OWN_ACCOUNTS, Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use super::team::ROLES;
use crate::account::AccountState;
use crate::account::role::Role;
use crate::id::AccountId;
use crate::people::{MemberError, TeamError};
use crate::store::{MembershipRow, MembershipState};

#[derive(Debug)]
struct AccountLine {
    id: String,
    name: String,
    role: Role,
    /// What the role may.
    about: &'static str,
    is_suspended: bool,
    /// Whether the session shows it.
    is_shown: bool,
}

#[derive(Template)]
#[template(path = "app/accounts.html")]
struct AccountsPage {
    frame: Frame,
    invitations: Vec<AccountLine>,
    accounts: Vec<AccountLine>,
}

#[derive(Template)]
#[template(path = "app/account_leave.html")]
struct LeavePage {
    frame: Frame,
    account: AccountLine,
    fault: Option<String>,
}

impl AccountLine {
    fn of(row: MembershipRow, visitor: &Visitor) -> Self {
        let shown = visitor.person.membership.as_ref();
        let about = ROLES.iter().find(|it| it.0 == row.role).map_or("", |it| it.2);
        Self {
            id: row.account.to_string(),
            name: row.account_name,
            role: row.role,
            about,
            is_suspended: row.account_state == AccountState::Suspended,
            is_shown: shown.is_some_and(|it| it.account == row.account),
        }
    }
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let memberships = dashboard.people.store.memberships(visitor.person.user.id).await?;
    let is_accepted = |it: &MembershipRow| it.state == MembershipState::Accepted;
    let (accounts, invitations): (Vec<_>, Vec<_>) = memberships.into_iter().partition(is_accepted);
    let lines = |rows: Vec<MembershipRow>| -> Vec<AccountLine> {
        rows.into_iter().map(|row| AccountLine::of(row, &visitor)).collect()
    };
    let mut frame = Frame::of(&dashboard, &visitor, Place::Profile).await?;
    frame.notice = match Form::of_query(uri.query()).get("done") {
        "declined" => Some("The invitation is declined.".to_owned()),
        "left" => Some("You are in that account no more.".to_owned()),
        _ => None,
    };
    page(&AccountsPage { frame, invitations: lines(invitations), accounts: lines(accounts) })
}

pub async fn accept(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let (visitor, id) = (&sent.visitor, account(&id)?);
    let from = &visitor.guest.from;
    if dashboard.people.accept_invitation(&visitor.person, id, from).await? {
        Ok(to("/app"))
    } else {
        Err(Failure::Missing)
    }
}

pub async fn decline(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    if dashboard.people.decline_invitation(&sent.visitor.person, account(&id)?).await? {
        Ok(to(&format!("{OWN_ACCOUNTS}?done=declined")))
    } else {
        Err(Failure::Missing)
    }
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    page(&leave_page(&dashboard, &visitor, account(&id)?, None).await?)
}

pub async fn leave(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let (visitor, id) = (&sent.visitor, account(&id)?);
    let left = dashboard.people.leave_account(&visitor.person, id, &visitor.guest.from).await;
    match left {
        Ok(()) => Ok(to(&format!("{OWN_ACCOUNTS}?done=left"))),
        Err(TeamError::LastOwner(error)) => {
            let fault = Some(sentence(&error.to_string()));
            let again = leave_page(&dashboard, visitor, id, fault).await?;
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
        Err(error) => Err(refused(error)),
    }
}

async fn leave_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    id: AccountId,
    fault: Option<String>,
) -> Result<LeavePage, Failure> {
    let row = dashboard.people.own_account(&visitor.person, id).await.map_err(refused)?;
    let frame = Frame::of(dashboard, visitor, Place::Profile).await?;
    Ok(LeavePage { frame, account: AccountLine::of(row, visitor), fault })
}

fn refused(error: TeamError) -> Failure {
    match error {
        TeamError::Store(error) | TeamError::Member(MemberError::Store(error)) => error.into(),
        TeamError::Missing => Failure::Missing,
        TeamError::Role(_)
        | TeamError::StepUp
        | TeamError::Email
        | TeamError::IsMember(_)
        | TeamError::LastOwner(_)
        | TeamError::TooSoon(_)
        | TeamError::TooMany(_)
        | TeamError::Member(_) => Failure::Forbidden(sentence(&error.to_string())),
    }
}

fn account(id: &str) -> Result<AccountId, Failure> {
    id.parse().map_err(|_| Failure::Missing)
}
