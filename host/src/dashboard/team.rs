//! The people of an account: who may do what?

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use super::words::When;
use crate::account::role::Role;
use crate::api::server_mail::{MailError, SystemEmail};
use crate::clock::Timestamp;
use crate::id::UserId;
use crate::people::{Invited, MemberError, TeamError, TeamMember};

#[derive(Debug)]
struct MemberLine {
    id: String,
    email: String,
    role: Role,
    is_self: bool,
    /// Of an invitation that was not taken yet.
    pending: Option<Pending>,
    /// Not said of somebody who has not agreed to be here.
    has_factor: bool,
    since: When,
}

#[derive(Debug)]
struct Pending {
    /// Class, glyph and word.
    badge: (&'static str, &'static str, &'static str),
    /// Until when a link in its mail works; none where that is over.
    until: Option<When>,
}

#[derive(Template)]
#[template(path = "app/team.html")]
struct TeamPage {
    frame: Frame,
    members: Vec<MemberLine>,
    /// Each with its name, and what it may.
    roles: [(Role, &'static str, &'static str); 3],
    email: String,
    role: Role,
    fault: Option<String>,
    /// A link to hand over, because no e-mail was sent, and why.
    link: Option<(String, String)>,
}

#[derive(Template)]
#[template(path = "app/team_remove.html")]
struct RemovePage {
    frame: Frame,
    member: MemberLine,
    fault: Option<String>,
}

/// Each with its name, and what it may.
pub const ROLES: [(Role, &str, &str); 3] = [
    (Role::ReadOnly, "Read-only", "Sees all of it and changes nothing."),
    (Role::Member, "Member", "Works with messages, templates and suppressions."),
    (Role::Owner, "Owner", "Also has keys, domains, webhooks and people."),
];

impl MemberLine {
    fn of(it: &TeamMember, this: UserId, now: Timestamp) -> Self {
        let until = it.invited_until.filter(|end| *end > now).map(|end| When::of(end, now));
        // Nothing here tells whether somebody who is invited has a log-in, and so may answer without a link.
        let badge = match until {
            Some(_) => ("way", "◔", "invited"),
            None => ("wait", "↻", "not answered"),
        };
        Self {
            id: it.id.to_string(),
            email: it.row.user.email.to_string(),
            role: it.row.role,
            is_self: it.row.user.id == this,
            pending: it.row.is_pending().then_some(Pending { badge, until }),
            has_factor: it.row.user.has_factor && !it.row.is_pending(),
            since: When::of(it.row.since, now),
        }
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    visitor.membership()?;
    let mut shown = team(&dashboard, &visitor).await?;
    shown.frame.notice = match Form::of_query(uri.query()).get("done") {
        "invited" => Some("The invitation is on its way.".to_owned()),
        "waits" => Some(
            "The invitation waits, and no e-mail was sent. They see it when they log in: tell them."
                .to_owned(),
        ),
        "role" => Some("The role is changed; it holds from the next page on.".to_owned()),
        "removed" => Some("They are in this account no more.".to_owned()),
        _ => None,
    };
    page(&shown)
}

pub async fn invite(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    let role: Role = form.get("role").parse().unwrap_or(Role::ReadOnly);
    let asked = (form.get("email"), role);
    let invited =
        dashboard.people.invite_to_account(&visitor.person, asked, &visitor.guest.from).await;
    match invited {
        Ok(invited) => told(&dashboard, &visitor, &invited).await,
        Err(error) => {
            let fault = fault(&dashboard, (&visitor, &form), error)?;
            let mut again = team(&dashboard, &visitor).await?;
            (again.fault, again.role) = (Some(fault), role);
            form.get("email").clone_into(&mut again.email);
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
    }
}

pub async fn again(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let (visitor, id) = (&sent.visitor, user(&id)?);
    let invited = dashboard.people.invite_again(&visitor.person, id, &visitor.guest.from).await;
    match invited {
        Ok(invited) => told(&dashboard, visitor, &invited).await,
        Err(error) => {
            let fault = fault(&dashboard, (visitor, &sent.form), error)?;
            let mut again = team(&dashboard, visitor).await?;
            again.fault = Some(fault);
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
    }
}

/// Mails the invitation. Where the link of one cannot be mailed, an operator is shown it this once, and why; an owner only
/// where the server sends no e-mail at all, for the owner could take it in the name of the one who is invited. Whoever has
/// a log-in gets no link, and finds the invitation with the log-in, mailed or not.
async fn told(
    dashboard: &Dashboard,
    visitor: &Visitor,
    invited: &Invited,
) -> Result<Response, Failure> {
    let Invited { user, link, .. } = invited;
    let letter = SystemEmail::of_invitation(invited, Some(&visitor.person.user.email));
    let Err(error) = dashboard.api.mail(&user.email, &letter).await else {
        return Ok(to("/app/team?done=invited"));
    };
    let is_configured = !matches!(error, MailError::NotConfigured);
    let why = sentence(&error.to_string());
    let mut shown = team(dashboard, visitor).await?;
    let is_operator = visitor.person.user.is_operator;
    // The same words whether there is a link or not: an owner does not learn who has a log-in.
    if is_configured && (link.is_none() || !is_operator) {
        shown.fault = Some(format!("{why} {} waits in the list: invite them again.", user.email));
        return with_status(StatusCode::SERVICE_UNAVAILABLE, &shown);
    }
    let Some(link) = link else { return Ok(to("/app/team?done=waits")) };
    if !is_operator && !dashboard.people.show_link(user, link).await? {
        return Ok(to("/app/team?done=waits"));
    }
    let url = visitor.link_base(dashboard);
    let link = format!("{url}/invite/{}", link.reveal());
    shown.link = Some((link, why));
    page(&shown)
}

pub async fn change_role(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    let role: Role =
        form.get("role").parse().map_err(|error: crate::account::role::UnknownRole| {
            Failure::Invalid(sentence(&format!("a role {error}")))
        })?;
    let change = (user(&id)?, role);
    match dashboard.people.change_role(&visitor.person, change, &visitor.guest.from).await {
        Ok(()) => Ok(to("/app/team?done=role")),
        Err(error) => {
            let fault = fault(&dashboard, (&visitor, &form), error)?;
            let mut again = team(&dashboard, &visitor).await?;
            again.fault = Some(fault);
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
    }
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    visitor.membership()?.at_least(Role::Owner)?;
    visitor.step_up(&dashboard, &format!("/app/team/{id}/remove"))?;
    page(&remove_page(&dashboard, &visitor, &id, None).await?)
}

pub async fn remove(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let visitor = &sent.visitor;
    let gone =
        dashboard.people.remove_from_account(&visitor.person, user(&id)?, &visitor.guest.from);
    match gone.await {
        Ok(()) => Ok(to("/app/team?done=removed")),
        Err(error) => {
            let fault = fault(&dashboard, (visitor, &sent.form), error)?;
            let again = remove_page(&dashboard, visitor, &id, Some(fault)).await?;
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
    }
}

async fn remove_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    id: &str,
    fault: Option<String>,
) -> Result<RemovePage, Failure> {
    let members = team(dashboard, visitor).await?.members;
    let member = members.into_iter().find(|it| it.id == id).ok_or(Failure::Missing)?;
    let frame = Frame::of(dashboard, visitor, Place::Team).await?;
    Ok(RemovePage { frame, member, fault })
}

async fn team(dashboard: &Dashboard, visitor: &Visitor) -> Result<TeamPage, Failure> {
    let now = dashboard.people.clock.now();
    let found = dashboard.people.team(&visitor.person).await;
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            let fault = fault(dashboard, (visitor, &Form::default()), error)?;
            return Err(Failure::Invalid(fault));
        }
    };
    let this = visitor.person.user.id;
    Ok(TeamPage {
        frame: Frame::of(dashboard, visitor, Place::Team).await?,
        members: found.iter().map(|it| MemberLine::of(it, this, now)).collect(),
        roles: ROLES,
        email: String::new(),
        role: Role::Member,
        fault: None,
        link: None,
    })
}

/// What the form says; everything else is a page of its own.
fn fault(
    dashboard: &Dashboard,
    (visitor, form): (&Visitor, &Form),
    error: TeamError,
) -> Result<String, Failure> {
    match error {
        TeamError::Role(error) => Err(error.into()),
        TeamError::Store(error) | TeamError::Member(MemberError::Store(error)) => Err(error.into()),
        TeamError::Missing => Err(Failure::Missing),
        TeamError::StepUp => {
            visitor.step_up_for(dashboard, form)?;
            Ok(sentence(&error.to_string()))
        }
        TeamError::Email => Ok("The address must be whole, as in ada@example.com.".to_owned()),
        TeamError::IsMember(_)
        | TeamError::LastOwner(_)
        | TeamError::TooSoon(_)
        | TeamError::TooMany(_)
        | TeamError::Member(_) => Ok(sentence(&error.to_string())),
    }
}

fn user(id: &str) -> Result<UserId, Failure> {
    id.parse().map_err(|_| Failure::Missing)
}
