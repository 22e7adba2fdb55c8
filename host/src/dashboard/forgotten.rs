//! Somebody has lost the password.

use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::frame::Cover;
use super::guard::{Guest, GuestForm};
use super::log_in_refused::{status, with_retry_after};
use super::response::{Failure, page, sentence, with_status};
use super::state::Dashboard;
use crate::api::server_mail::{MailError, SystemEmail};

/// Every answer takes as long: an e-mail is queued in much less.
const ANSWER_TIME: Duration = Duration::from_secs(1);

#[derive(Template)]
#[template(path = "app/forgotten.html")]
struct ForgottenPage {
    cover: Cover,
    email: String,
    /// Whether the server sends e-mails.
    can_mail: bool,
    is_sent: bool,
    fault: Option<String>,
}

pub async fn ask(State(dashboard): State<Dashboard>, guest: Guest) -> Result<Response, Failure> {
    page(&ForgottenPage {
        cover: Cover::of(&guest),
        email: String::new(),
        can_mail: dashboard.api.mailer.is_some(),
        is_sent: false,
        fault: None,
    })
}

/// Says the same of every address, and as fast: nobody learns here who has a log-in.
pub async fn send(
    State(dashboard): State<Dashboard>,
    sent: GuestForm,
) -> Result<Response, Failure> {
    let GuestForm { guest, form } = sent;
    let can_mail = dashboard.api.mailer.is_some();
    let mut answer = ForgottenPage {
        cover: Cover::of(&guest),
        email: form.get("email").to_owned(),
        can_mail,
        is_sent: true,
        fault: None,
    };
    if !can_mail {
        answer.is_sent = false;
        return with_status(StatusCode::UNPROCESSABLE_ENTITY, &answer);
    }
    if let Err(error) = dashboard.people.take_attempt(&guest.from) {
        let status = status(&error)?;
        answer.is_sent = false;
        answer.fault = Some(sentence(&error.to_string()));
        return Ok(with_retry_after(with_status(status, &answer)?, &error));
    }
    let (mailed, ()) =
        tokio::join!(mail(&dashboard, &answer.email, &guest), tokio::time::sleep(ANSWER_TIME));
    if let Err(error) = mailed {
        tracing::error!(%error, "the e-mail for a lost password was not sent");
    }
    page(&answer)
}

async fn mail(dashboard: &Dashboard, email: &str, guest: &Guest) -> Result<(), MailError> {
    let Some((user, link)) = dashboard.people.forgotten(email, &guest.from).await? else {
        return Ok(());
    };
    let letter = match user.password {
        Some(_) => SystemEmail::Reset { link: &link },
        None => SystemEmail::FirstPassword { link: &link },
    };
    dashboard.api.mail(&user.email, &letter).await
}
