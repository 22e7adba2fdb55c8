//! The addresses that tests of templates really go to: who gets them, and who was asked?

use std::num::NonZeroU32;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};

use super::form::{self, Form};
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, to, with_status};
use super::sending;
use super::state::Dashboard;
use super::templates::failed;
use super::words::When;
use crate::account::role::Role;
use crate::api::request_context;
use crate::authoring::error::AuthoringError;
use crate::authoring::test_recipients::{AskedRecipient, MAX_TEST_ADDRESSES};
use crate::message::address::EmailAddress;

const PAGE: &str = "/app/test-recipients";

#[derive(Debug)]
struct RecipientLine {
    address: String,
    is_confirmed: bool,
    /// When its holder agreed, or else when it was put on the list.
    at: When,
}

#[derive(Template)]
#[template(path = "app/test_recipients.html")]
struct RecipientsPage {
    frame: Frame,
    lines: Vec<RecipientLine>,
    most: u32,
    address: String,
    fault: Option<String>,
    /// The address that was just asked, and the mail that asks it.
    asked: Option<(String, String)>,
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let sent = Form::of_query(uri.query());
    let mut shown = recipients_page(&dashboard, &visitor).await?;
    shown.frame.notice = match sent.get("done") {
        "confirmed" => Some("Its holder has agreed before: tests go to it.".to_owned()),
        "removed" => {
            Some("The address is off the list, and links in mails to it have ended.".to_owned())
        }
        _ => None,
    };
    let message = sent.get("message");
    if message.starts_with("msg_") {
        shown.asked = Some((sent.get("asked").to_owned(), message.to_owned()));
    }
    page(&shown)
}

/// Puts an address on the list and asks its holder by a mail of the account; one that has not answered is asked again.
pub async fn ask(State(dashboard): State<Dashboard>, sent: Submitted) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.membership()?.role.at_least(Role::Member)?;
    let typed = form.get("address").trim();
    match asked(&dashboard, &visitor, typed).await? {
        Ok(AskedRecipient { row, mail: Some(mail) }) => {
            visitor.record(&dashboard, "add_test_recipient", &row.address).await?;
            let message = mail.message_id.to_string();
            let pairs = [("asked", row.address.as_str()), ("message", &message)];
            Ok(to(&format!("{PAGE}?{}", form::query(pairs))))
        }
        Ok(AskedRecipient { mail: None, .. }) => Ok(to(&format!("{PAGE}?done=confirmed"))),
        Err(fault) => {
            let mut again = recipients_page(&dashboard, &visitor).await?;
            typed.clone_into(&mut again.address);
            again.fault = Some(fault);
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
    }
}

pub async fn remove(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.membership()?.role.at_least(Role::Member)?;
    let address = form.get("address").trim().to_lowercase();
    let removed = dashboard.api.authoring.remove_test_recipient(visitor.account()?, &address).await;
    removed.map_err(failed)?;
    visitor.record(&dashboard, "delete_test_recipient", &address).await?;
    Ok(to(&format!("{PAGE}?done=removed")))
}

/// What the form says of a refusal; what is nobody's fault is a page of its own.
async fn asked(
    dashboard: &Dashboard,
    visitor: &Visitor,
    typed: &str,
) -> Result<Result<AskedRecipient, String>, Failure> {
    let Ok(address) = typed.parse::<EmailAddress>() else {
        return Ok(Err("The address must be whole, as in ada@example.com.".to_owned()));
    };
    let key = sending::key(dashboard, visitor).await?;
    let ip = visitor.guest.from.ip;
    let caller = match sending::caller(dashboard, (key, ip), NonZeroU32::MIN) {
        Ok(caller) => caller,
        Err(refusal) => return Ok(Err(sentence(&refusal.message()))),
    };
    let (api, id) = (&dashboard.api, request_context::current());
    let base = visitor.link_base(dashboard);
    let asked = api.authoring.ask_test_recipient(&api.journey, (&caller, id), address, base);
    match Box::pin(asked).await {
        Ok(asked) => Ok(Ok(asked)),
        Err(AuthoringError::Refused(refused)) => Ok(Err(sentence(&refused.refusal.message()))),
        Err(error @ AuthoringError::Suppressed { .. }) => Ok(Err(sentence(&error.to_string()))),
        Err(error) => Err(failed(error)),
    }
}

async fn recipients_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
) -> Result<RecipientsPage, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let rows = api.authoring.test_recipients(visitor.account()?).await.map_err(failed)?;
    Ok(RecipientsPage {
        frame: Frame::of(dashboard, visitor, Place::Templates).await?,
        lines: rows
            .into_iter()
            .map(|it| RecipientLine {
                is_confirmed: it.confirmed_at.is_some(),
                at: When::of(it.confirmed_at.unwrap_or(it.created_at), now),
                address: it.address,
            })
            .collect(),
        most: MAX_TEST_ADDRESSES,
        address: String::new(),
        fault: None,
        asked: None,
    })
}
