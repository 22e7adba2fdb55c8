//! Log-in and log-out.

use askama::Template;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;

use super::form::Form;
use super::frame::Cover;
use super::guard::{
    Guest, GuestForm, Submitted, Visitor, keeps_cookies, with_session, without_session,
};
use super::log_in_refused::{status, with_retry_after};
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use crate::people::{LogInError, LoggedIn};
use crate::store::LinkPurpose;

#[derive(Template)]
#[template(path = "app/login.html")]
struct LogInPage {
    cover: Cover,
    email: String,
    next: String,
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/login_code.html")]
struct CodePage {
    cover: Cover,
    step: String,
    next: String,
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/login_link.html")]
struct LinkPage {
    cover: Cover,
    email: String,
}

pub async fn front(_: Guest) -> Response {
    to("/app")
}

pub async fn show(
    guest: Guest,
    visitor: Result<Visitor, Failure>,
    request: Request,
) -> Result<Response, Failure> {
    let form = Form::of_query(request.uri().query());
    if visitor.is_ok() {
        return Ok(to(&form.path("next")));
    }
    let (cover, next) = (Cover::of(&guest), form.path("next"));
    page(&LogInPage { cover, email: String::new(), next, fault: None })
}

pub async fn password(
    State(dashboard): State<Dashboard>,
    request: Request,
) -> Result<Response, Failure> {
    let is_kept = keeps_cookies(request.headers());
    let GuestForm { guest, form } =
        <GuestForm as axum::extract::FromRequest<Dashboard>>::from_request(request, &dashboard)
            .await?;
    let next = form.path("next");
    let email = form.get("email").to_owned();
    let again = |status, fault: String| {
        let (cover, email, next) = (Cover::of(&guest), email.clone(), next.clone());
        with_status(status, &LogInPage { cover, email, next, fault: Some(fault) })
    };
    if !is_kept {
        let fault = "This page came without TLS, and a browser keeps a log-in only over https. Open the dashboard by \
                     its https address, through your reverse proxy, or on the machine itself by http://127.0.0.1.";
        return again(StatusCode::UNPROCESSABLE_ENTITY, fault.to_owned());
    }
    match dashboard.people.log_in(&email, form.get("password"), &guest.from).await {
        Ok(LoggedIn::Session(secret)) => Ok(with_session(to(&next), &secret)),
        Ok(LoggedIn::SecondStep(step)) => {
            let (cover, step) = (Cover::of(&guest), step.reveal());
            page(&CodePage { cover, step, next, fault: None })
        }
        Err(error) => {
            let answer = again(status(&error)?, sentence(&error.to_string()))?;
            Ok(with_retry_after(answer, &error))
        }
    }
}

pub async fn code(
    State(dashboard): State<Dashboard>,
    sent: GuestForm,
) -> Result<Response, Failure> {
    let GuestForm { guest, form } = sent;
    let (next, step) = (form.path("next"), form.get("step").to_owned());
    match dashboard.people.second_step(&step, form.get("code"), &guest.from).await {
        Ok(secret) => Ok(with_session(to(&next), &secret)),
        Err(error) => {
            let (status, fault) = (status(&error)?, Some(sentence(&error.to_string())));
            let cover = Cover::of(&guest);
            if matches!(error, LogInError::Over) {
                return with_status(
                    status,
                    &LogInPage { cover, email: String::new(), next, fault },
                );
            }
            let answer = with_status(status, &CodePage { cover, step, next, fault })?;
            Ok(with_retry_after(answer, &error))
        }
    }
}

/// The link of `waxwing dev`. Opening it changes nothing: programs open links, too.
pub async fn link(
    State(dashboard): State<Dashboard>,
    guest: Guest,
    Path(link): Path<String>,
) -> Result<Response, Failure> {
    let found = dashboard.people.find_link(&link).await;
    let found = found.ok().filter(|it| it.purpose == LinkPurpose::LogIn).and_then(|it| it.user);
    let cover = Cover::of(&guest);
    match found {
        Some(user) => page(&LinkPage { cover, email: user.email.to_string() }),
        None => over(cover, StatusCode::GONE),
    }
}

pub async fn by_link(
    State(dashboard): State<Dashboard>,
    Path(link): Path<String>,
    sent: GuestForm,
) -> Result<Response, Failure> {
    match dashboard.people.log_in_by_link(&link, &sent.guest.from).await {
        Ok(secret) => Ok(with_session(to("/app"), &secret)),
        Err(error) => {
            status(&error)?;
            over(Cover::of(&sent.guest), StatusCode::GONE)
        }
    }
}

pub async fn out(State(dashboard): State<Dashboard>, sent: Submitted) -> Result<Response, Failure> {
    let Visitor { person, guest, .. } = sent.visitor;
    dashboard.people.end_session(&person, person.session.id, &guest.from).await?;
    Ok(without_session(to("/login")))
}

fn over(cover: Cover, status: StatusCode) -> Result<Response, Failure> {
    let fault = "This link was used, or its time is over. Log in with e-mail address and password, which `waxwing dev` \
                 has printed beside it.";
    let (email, next) = (String::new(), "/app".to_owned());
    with_status(status, &LogInPage { cover, email, next, fault: Some(fault.to_owned()) })
}
