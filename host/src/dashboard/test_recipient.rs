//! The page behind the link of a mail that asks whether an address may get tests. Whoever holds the link needs no log-in.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;

use super::frame::Cover;
use super::guard::{Guest, GuestForm};
use super::response::{Failure, page, with_status};
use super::state::Dashboard;
use crate::authoring::test_recipients::Question;

#[derive(Template)]
#[template(path = "app/test_recipient.html")]
struct QuestionPage {
    cover: Cover,
    account: String,
    address: String,
    is_confirmed: bool,
}

#[derive(Template)]
#[template(path = "app/test_recipient_over.html")]
struct OverPage {
    cover: Cover,
}

/// Asks, and changes nothing: programs that look at mail open links too.
pub async fn ask(
    State(dashboard): State<Dashboard>,
    guest: Guest,
    Path(link): Path<String>,
) -> Result<Response, Failure> {
    let question = dashboard.api.authoring.question(&link).await;
    show(&guest, question?, false)
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    Path(link): Path<String>,
    sent: GuestForm,
) -> Result<Response, Failure> {
    let guest = sent.guest;
    let ip = guest.from.ip;
    let question = dashboard.api.authoring.confirm_test_recipient(&link, ip).await;
    show(&guest, question?, true)
}

fn show(
    guest: &Guest,
    question: Option<Question>,
    is_confirmed: bool,
) -> Result<Response, Failure> {
    let cover = Cover::of(guest);
    let Some(Question { account_name: account, address }) = question else {
        return with_status(StatusCode::GONE, &OverPage { cover });
    };
    page(&QuestionPage { cover, account, address, is_confirmed })
}
