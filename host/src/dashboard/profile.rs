//! A person's own page: sessions, password, second factor.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};

use super::access::{EnrolmentView, RecoveryPage};
use super::form::Form;
use super::frame::{Cover, Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::log_in_refused::{status, with_retry_after};
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use super::words::{When, browser, counted};
use crate::clock::Timestamp;
use crate::id::SessionId;
use crate::people::{Enrolment, FactorError, LogInError};
use crate::store::SessionRow;

#[derive(Debug)]
struct SessionLine {
    id: String,
    browser: String,
    agent: String,
    ip: String,
    seen: When,
    opened: When,
    is_this: bool,
}

#[derive(Template)]
#[template(path = "app/profile.html")]
struct ProfilePage {
    frame: Frame,
    sessions: Vec<SessionLine>,
    has_factor: bool,
    /// As in `9 recovery codes are`.
    codes_left: String,
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/factor.html")]
struct FactorPage {
    frame: Frame,
    enrolment: EnrolmentView,
    fault: Option<String>,
}

impl SessionLine {
    fn of(row: SessionRow, this: SessionId, now: Timestamp) -> Self {
        Self {
            id: row.id.to_string(),
            browser: browser(&row.agent),
            seen: When::of(row.seen_at, now),
            opened: When::of(row.created_at, now),
            is_this: row.id == this,
            agent: row.agent,
            ip: row.ip,
        }
    }
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let mut shown = profile(&dashboard, &visitor).await?;
    shown.frame.notice = match Form::of_query(uri.query()).get("done") {
        "password" => Some("The password is changed, and all other sessions are ended.".to_owned()),
        "session" => Some("The session is ended.".to_owned()),
        "factor" => Some("The second factor is removed.".to_owned()),
        _ => None,
    };
    page(&shown)
}

async fn profile(dashboard: &Dashboard, visitor: &Visitor) -> Result<ProfilePage, Failure> {
    let (store, person) = (&dashboard.people.store, &visitor.person);
    let now = dashboard.people.clock.now();
    let sessions = store.sessions(person.user.id, now).await?;
    let this = person.session.id;
    let codes = store.recovery_codes_left(person.user.id).await?;
    Ok(ProfilePage {
        sessions: sessions.into_iter().rev().map(|row| SessionLine::of(row, this, now)).collect(),
        has_factor: person.user.has_factor,
        codes_left: counted(codes.into(), "recovery code is", "recovery codes are"),
        frame: Frame::of(dashboard, visitor, Place::Profile).await?,
        fault: None,
    })
}

pub async fn change_password(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    let passwords = (form.get("before"), form.get("after"));
    match dashboard.people.change_password(&visitor.person, passwords, &visitor.guest.from).await {
        Ok(()) => Ok(to("/app/profile?done=password")),
        Err(error) => {
            let status = status(&error)?;
            let mut again = profile(&dashboard, &visitor).await?;
            again.fault = Some(if matches!(error, LogInError::Wrong) {
                "The present password is not right. Nothing was changed.".to_owned()
            } else {
                sentence(&error.to_string())
            });
            Ok(with_retry_after(with_status(status, &again)?, &error))
        }
    }
}

pub async fn end_session(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Visitor { person, guest, .. } = sent.visitor;
    let id: SessionId = id.parse().map_err(|_| Failure::Missing)?;
    if dashboard.people.end_session(&person, id, &guest.from).await? {
        Ok(to("/app/profile?done=session"))
    } else {
        Err(Failure::Missing)
    }
}

pub async fn ask_factor(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    visitor.step_up(&dashboard, "/app/profile/factor")?;
    let email = visitor.person.user.email.to_string();
    let enrolment = EnrolmentView::of(&Enrolment::random(), &email);
    page(&FactorPage {
        frame: Frame::of(&dashboard, &visitor, Place::Profile).await?,
        enrolment,
        fault: None,
    })
}

pub async fn set_factor(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.step_up_for(&dashboard, &form)?;
    let proof = (form.get("enrolment"), form.get("code"));
    match dashboard.people.set_factor(&visitor.person, proof, &visitor.guest.from).await {
        Ok(codes) => {
            page(&RecoveryPage { cover: Cover::of(&visitor.guest), codes, next: "/app/profile" })
        }
        Err(FactorError::Store(error)) => Err(error.into()),
        Err(error @ (FactorError::WrongCode | FactorError::Malformed)) => {
            let email = visitor.person.user.email.to_string();
            let again = FactorPage {
                frame: Frame::of(&dashboard, &visitor, Place::Profile).await?,
                enrolment: EnrolmentView::again(form.get("enrolment"), &email),
                fault: Some(sentence(&error.to_string())),
            };
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
    }
}

pub async fn remove_factor(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.step_up_for(&dashboard, &form)?;
    dashboard.people.remove_factor(&visitor.person, &visitor.guest.from).await?;
    Ok(to("/app/profile?done=factor"))
}

pub async fn ask_password(visitor: Visitor, uri: Uri) -> Result<Response, Failure> {
    let next = Form::of_query(uri.query()).path("next");
    visitor.step_up_page().leading_to(next).answer(StatusCode::OK)
}

/// Redirects to the page that asked for the password. [`Submitted`] has already checked the password.
pub async fn step_up(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    sent.visitor.step_up_for(&dashboard, &sent.form)?;
    Ok(to(&sent.form.path("next")))
}
