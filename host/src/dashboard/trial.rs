//! A test of a draft: sent to confirmed test recipients really, and to all others into the sandbox inbox.

use std::net::IpAddr;
use std::num::NonZeroU32;

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;

use super::editor::Editor;
use super::form::Form;
use super::guard::Submitted;
use super::response::{Failure, sentence};
use super::sending;
use super::state::Dashboard;
use super::template::{Answer, TestLine, answer, locale, shown};
use super::templates::{Author, failed, place};
use crate::account::key::ApiKey;
use crate::api::request_context;
use crate::authoring;
use crate::authoring::bounds::MAX_TEST_RECIPIENTS;
use crate::authoring::error::AuthoringError;
use crate::authoring::trial_send::TrialOptions;
use crate::journey::Receipt;
use crate::journey::accept::refusal::{Refusal, Refused};
use crate::message::address::EmailAddress;

/// Sends the saved draft, to confirmed test recipients really, and to all others into the sandbox inbox.
pub async fn test(
    State(dashboard): State<Dashboard>,
    Path(slug): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    Author::of(&visitor)?;
    let place = place(&visitor, &slug)?;
    let row = dashboard.api.authoring.find(&place).await.map_err(failed)?;
    let key = sending::key(&dashboard, &visitor).await?;
    let tried = try_on(&dashboard, (key, visitor.guest.from.ip), &place, &form).await;
    let (status, mut answer) = match tried {
        Ok(tests) => {
            let is_sent = tests.iter().any(|it| it.message.is_some());
            let status = if is_sent { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
            (status, Answer { tests, ..Answer::default() })
        }
        Err(AuthoringError::Refused(refused)) => {
            let fault = Some(sentence(&refused.refusal.message()));
            // What the server could not do may have been done all the same: the form stays sent.
            let is_of_the_server =
                matches!(refused.refusal, Refusal::Unavailable { .. } | Refusal::Internal { .. });
            let status = if is_of_the_server {
                StatusCode::SERVICE_UNAVAILABLE
            } else {
                StatusCode::UNPROCESSABLE_ENTITY
            };
            (status, Answer { fault, ..Answer::default() })
        }
        Err(error) => answer(error)?,
    };
    if answer.findings.is_some() {
        answer.fault = Some("Nothing was sent: the draft has faults.".to_owned());
    }
    form.get("to").clone_into(&mut answer.to);
    shown(&dashboard, &visitor, &row, (status, Editor::of(&row), answer)).await
}

async fn try_on(
    dashboard: &Dashboard,
    (key, ip): (ApiKey, IpAddr),
    place: &authoring::Place,
    form: &Form,
) -> Result<Vec<TestLine>, AuthoringError> {
    let (to, locale) = (addresses(form.get("to"))?, locale(form)?);
    let api = &dashboard.api;
    let recipients = api.authoring.test_recipients(key.account_id).await?;
    let sends = u32::try_from(to.len()).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    let caller = sending::caller(dashboard, (key, ip), sends);
    let caller = caller.map_err(|refusal| AuthoringError::Refused(refusal.into()))?;
    let example = Some(form.get("data").to_owned()).filter(|it| !it.is_empty());
    let options = TrialOptions { to: to.clone(), data: None, example, locale };
    let id = request_context::current();
    let reply =
        Box::pin(api.authoring.send_trial(&api.journey, (&caller, id), place, options)).await?;
    let is_confirmed = |to: &EmailAddress| {
        let folded = to.folded();
        recipients.iter().any(|it| it.confirmed_at.is_some() && it.address == folded)
    };
    let line = |(to, item): (EmailAddress, Result<Receipt, Refused>)| match item {
        Ok(receipt) => TestLine {
            to: to.to_string(),
            message: Some(receipt.message_id.to_string()),
            about: if is_confirmed(&to) {
                "on its way to this confirmed test recipient".to_owned()
            } else {
                "is no confirmed test recipient, so the test stays in the sandbox inbox".to_owned()
            },
        },
        Err(refused) => {
            TestLine { to: to.to_string(), message: None, about: refused.refusal.message() }
        }
    };
    Ok(to.into_iter().zip(reply.items).map(line).collect())
}

fn addresses(text: &str) -> Result<Vec<EmailAddress>, AuthoringError> {
    let fault = |message: String| AuthoringError::fault("the addresses", "invalid", message);
    let words: Vec<&str> =
        text.split([',', ';', ' ', '\n', '\r']).filter(|it| !it.is_empty()).collect();
    if words.is_empty() || words.len() > MAX_TEST_RECIPIENTS {
        return Err(fault(format!("must be 1 to {MAX_TEST_RECIPIENTS}")));
    }
    let address = |word: &&str| {
        let wrong = |_| fault(format!("“{word}” is no e-mail address, as in ada@example.com"));
        word.parse().map_err(wrong)
    };
    words.iter().map(address).collect()
}
