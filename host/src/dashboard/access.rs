//! Pages behind one-time links: the set-up of the server, an invitation, a reset.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;

use super::frame::Cover;
use super::guard::{Guest, GuestForm, with_session};
use super::log_in_refused::status_of_password;
use super::response::{Failure, page, sentence, with_status};
use super::state::Dashboard;
use crate::account::role::Role;
use crate::people::{Choice, Enrolment, LinkError, Secret, SetUp, qr_code};
use crate::store::LinkPurpose;

/// A secret for an authenticator, and how it gets there.
#[derive(Debug)]
pub struct EnrolmentView {
    pub text: String,
    /// The same in groups of four, to be typed.
    pub groups: String,
    /// The QR code, as the address of an image.
    pub image: String,
}

#[derive(Template)]
#[template(path = "app/setup.html")]
struct SetUpPage {
    cover: Cover,
    email: String,
    account: String,
    enrolment: EnrolmentView,
    fault: Option<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "app/choose.html")]
struct ChoosePage {
    cover: Cover,
    is_invitation: bool,
    /// The account that the person accepts an invitation to by this, and the role there.
    place: Option<(String, Role)>,
    has_factor: bool,
    email: String,
    enrolment: EnrolmentView,
    fault: Option<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "app/over.html")]
struct OverPage {
    cover: Cover,
    message: String,
}

/// What to keep for the day when the device is lost.
#[derive(Template)]
#[template(path = "app/recovery.html")]
pub struct RecoveryPage {
    pub cover: Cover,
    pub codes: Vec<String>,
    pub next: &'static str,
}

impl EnrolmentView {
    pub fn of(enrolment: &Enrolment, email: &str) -> Self {
        let text = enrolment.text();
        let groups: Vec<&str> =
            (0..text.len()).step_by(4).filter_map(|it| text.get(it..it + 4)).collect();
        let image = STANDARD.encode(qr_code(&enrolment.url(email)));
        Self { groups: groups.join(" "), image: format!("data:image/svg+xml;base64,{image}"), text }
    }

    /// The one of a form that is shown again.
    pub fn again(typed: &str, email: &str) -> Self {
        Self::of(&Enrolment::of(typed).unwrap_or_else(|_| Enrolment::random()), email)
    }
}

pub async fn set_up(
    State(dashboard): State<Dashboard>,
    guest: Guest,
    Path(link): Path<String>,
) -> Result<Response, Failure> {
    let found = dashboard.people.find_link(&link).await;
    let found = found
        .and_then(|it| (it.purpose == LinkPurpose::SetUp).then_some(()).ok_or(LinkError::Over));
    if let Err(error) = found {
        return over(&guest, error);
    }
    page(&SetUpPage {
        cover: Cover::of(&guest),
        email: String::new(),
        account: String::new(),
        enrolment: EnrolmentView::of(&Enrolment::random(), "operator"),
        fault: None,
    })
}

pub async fn set_up_typed(
    State(dashboard): State<Dashboard>,
    Path(link): Path<String>,
    sent: GuestForm,
) -> Result<Response, Failure> {
    let GuestForm { guest, form } = sent;
    let text = |name: &str| form.get(name).to_owned();
    let typed = SetUp {
        email: text("email"),
        password: text("password"),
        account: text("account"),
        enrolment: text("enrolment"),
        code: text("code"),
    };
    match dashboard.people.set_up(&link, &typed, &guest.from).await {
        Ok((session, codes)) => let_in(&guest, (Some(session), codes)),
        Err(error) => {
            let status = status_of(&error);
            let Some(field) = error.field() else { return over(&guest, error) };
            let again = SetUpPage {
                cover: Cover::of(&guest),
                email: typed.email,
                account: typed.account,
                enrolment: EnrolmentView::again(&typed.enrolment, "operator"),
                fault: Some((field, sentence(&error.to_string()))),
            };
            with_status(status, &again)
        }
    }
}

pub async fn invitation(
    State(dashboard): State<Dashboard>,
    guest: Guest,
    Path(link): Path<String>,
) -> Result<Response, Failure> {
    choose(&dashboard, &guest, &link, LinkPurpose::Invitation).await
}

pub async fn reset(
    State(dashboard): State<Dashboard>,
    guest: Guest,
    Path(link): Path<String>,
) -> Result<Response, Failure> {
    choose(&dashboard, &guest, &link, LinkPurpose::Reset).await
}

pub async fn invitation_typed(
    State(dashboard): State<Dashboard>,
    Path(link): Path<String>,
    sent: GuestForm,
) -> Result<Response, Failure> {
    chosen(&dashboard, &link, sent, LinkPurpose::Invitation).await
}

pub async fn reset_typed(
    State(dashboard): State<Dashboard>,
    Path(link): Path<String>,
    sent: GuestForm,
) -> Result<Response, Failure> {
    chosen(&dashboard, &link, sent, LinkPurpose::Reset).await
}

async fn choose(
    dashboard: &Dashboard,
    guest: &Guest,
    link: &str,
    purpose: LinkPurpose,
) -> Result<Response, Failure> {
    let found = dashboard.people.find_link(link).await;
    let found = found.and_then(|it| {
        let user = it.user.filter(|_| it.purpose == purpose);
        user.map(|user| (user, it.place)).ok_or(LinkError::Over)
    });
    let (user, place) = match found {
        Ok(found) => found,
        Err(error) => return over(guest, error),
    };
    let email = user.email.to_string();
    page(&ChoosePage {
        cover: Cover::of(guest),
        is_invitation: purpose == LinkPurpose::Invitation,
        place: place.map(|it| (it.account_name, it.role)),
        has_factor: user.has_factor,
        enrolment: EnrolmentView::of(&Enrolment::random(), &email),
        email,
        fault: None,
    })
}

async fn chosen(
    dashboard: &Dashboard,
    link: &str,
    sent: GuestForm,
    purpose: LinkPurpose,
) -> Result<Response, Failure> {
    let GuestForm { guest, form } = sent;
    let found = match dashboard.people.find_link(link).await {
        Ok(found) if found.purpose == purpose => found,
        Ok(_) => return over(&guest, LinkError::Over),
        Err(error) => return over(&guest, error),
    };
    let Some(user) = found.user else { return over(&guest, LinkError::Over) };
    let typed = Choice {
        password: form.get("password").to_owned(),
        enrolment: form.get("enrolment").to_owned(),
        // A reset by link leaves the second factor as it is.
        code: if user.has_factor { String::new() } else { form.get("code").to_owned() },
    };
    match dashboard.people.choose_password(link, &typed, &guest.from).await {
        Ok(made) => let_in(&guest, made),
        Err(error) => {
            let status = status_of(&error);
            let Some(field) = error.field() else { return over(&guest, error) };
            let email = user.email.to_string();
            let again = ChoosePage {
                cover: Cover::of(&guest),
                is_invitation: purpose == LinkPurpose::Invitation,
                place: found.place.map(|it| (it.account_name, it.role)),
                has_factor: user.has_factor,
                enrolment: EnrolmentView::again(&typed.enrolment, &email),
                email,
                fault: Some((field, sentence(&error.to_string()))),
            };
            with_status(status, &again)
        }
    }
}

/// With which status a form is shown again that a link led to.
fn status_of(error: &LinkError) -> StatusCode {
    if let LinkError::Password(error) = error {
        return status_of_password(*error);
    }
    StatusCode::UNPROCESSABLE_ENTITY
}

fn let_in(
    guest: &Guest,
    (session, codes): (Option<Secret>, Vec<String>),
) -> Result<Response, Failure> {
    let response = match codes.is_empty() {
        true if session.is_none() => super::response::to("/login"),
        true => super::response::to("/app"),
        false => page(&RecoveryPage { cover: Cover::of(guest), codes, next: "/app" })?,
    };
    Ok(match session {
        Some(secret) => with_session(response, &secret),
        None => response,
    })
}

fn over(guest: &Guest, error: LinkError) -> Result<Response, Failure> {
    let message = sentence(&error.to_string());
    if let LinkError::Store(error) = error {
        return Err(error.into());
    }
    with_status(StatusCode::GONE, &OverPage { cover: Cover::of(guest), message })
}
