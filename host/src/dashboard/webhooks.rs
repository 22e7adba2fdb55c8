//! Webhooks of the account: which there are, and a new one.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, with_status};
use super::state::Dashboard;
use super::words::When;
use crate::account::role::Role;
use crate::api::webhooks::refused;
use crate::clock::Timestamp;
use crate::id::WebhookId;
use crate::store::{WebhookOwner, WebhookRow, WebhookState};
use crate::webhooks::owner_operations::{WebhookError, WebhookFields};
use crate::webhooks::types::TYPES;

const LINES: u32 = 50;
/// Characters of an unknown event type that the form repeats.
const PATTERN_CHARS: usize = 40;

#[derive(Debug)]
struct WebhookLine {
    id: String,
    url: String,
    description: String,
    types: String,
    state: (&'static str, &'static str, &'static str),
    succeeded: Option<When>,
}

/// What a form about a webhook holds, as it was typed.
#[derive(Debug, Default)]
pub struct WebhookInput {
    pub url: String,
    pub description: String,
    /// One a line.
    pub types: String,
    pub fault: Option<InputFault>,
}

/// Why such a form was refused.
#[derive(Debug)]
pub struct InputFault {
    /// The name of the form field at fault; empty where the fault belongs to no single field.
    field: &'static str,
    text: String,
}

#[derive(Template)]
#[template(path = "app/webhooks.html")]
struct WebhooksPage {
    frame: Frame,
    webhooks: Vec<WebhookLine>,
    is_first_page: bool,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "app/webhook_new.html")]
struct NewWebhookPage {
    frame: Frame,
    input: WebhookInput,
    known: [&'static str; TYPES.len()],
}

/// The secret is shown in the answer to the form and nowhere else.
#[derive(Template)]
#[template(path = "app/webhook_secret.html")]
struct SecretPage {
    frame: Frame,
    id: String,
    url: String,
    secret: String,
    /// Until when the secret before it signs too.
    earlier: Option<When>,
}

/// Class, glyph and word of how a webhook does.
pub fn badge(row: &WebhookRow) -> (&'static str, &'static str, &'static str) {
    match row.state {
        WebhookState::Disabled => ("off", "–", "disabled"),
        WebhookState::Active if row.failing_since.is_some() => ("bad", "✕", "failing"),
        WebhookState::Active => ("good", "✓", "active"),
    }
}

impl WebhookLine {
    fn of(row: WebhookRow, now: Timestamp) -> Self {
        Self {
            id: row.id.to_string(),
            state: badge(&row),
            types: if row.types.is_empty() { "all".to_owned() } else { row.types.join(", ") },
            succeeded: row.succeeded_at.map(|at| When::of(at, now)),
            url: row.url,
            description: row.description,
        }
    }
}

impl WebhookInput {
    pub fn of_form(form: &Form) -> Self {
        let text = |name: &str| form.get(name).trim().to_owned();
        Self {
            url: text("url"),
            description: text("description"),
            types: text("types"),
            fault: None,
        }
    }

    pub fn of_row(row: &WebhookRow) -> Self {
        Self {
            url: row.url.clone(),
            description: row.description.clone(),
            types: row.types.join("\n"),
            fault: None,
        }
    }

    /// What is wrong with a field; of the form as a whole where the name is empty.
    pub fn fault_of(&self, field: &str) -> Option<&str> {
        self.fault.as_ref().filter(|it| it.field == field).map(|it| it.text.as_str())
    }

    pub fn fields(&self) -> WebhookFields {
        let types = self.types.split([',', ' ', '\r', '\n', '\t']);
        WebhookFields {
            url: Some(self.url.clone()),
            description: Some(self.description.clone()),
            types: Some(types.filter(|it| !it.is_empty()).map(str::to_owned).collect()),
            state: None,
        }
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, account) = (&dashboard.api, visitor.account()?);
    let query = Form::of_query(uri.query());
    let after = query.get("after").parse::<WebhookId>().ok();
    let _page = api.lists.admit(account).await?;
    let mut rows = api.store.webhooks(WebhookOwner::Account(account), after, LINES + 1).await?;
    let lines = usize::try_from(LINES).unwrap_or(usize::MAX);
    let has_more = rows.len() > lines;
    rows.truncate(lines);
    let last = rows.last().filter(|_| has_more).map(|it| it.id);
    let now = api.clock.now();
    let mut frame = Frame::of(&dashboard, &visitor, Place::Webhooks).await?;
    if query.get("done") == "removed" {
        frame.notice = Some("The webhook is removed with the log of its deliveries.".to_owned());
    }
    page(&WebhooksPage {
        frame,
        webhooks: rows.into_iter().map(|row| WebhookLine::of(row, now)).collect(),
        is_first_page: after.is_none(),
        next: last.map(|id| format!("/app/webhooks?after={id}")),
    })
}

pub async fn ask(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    visitor.membership()?.at_least(Role::Owner)?;
    let frame = Frame::of(&dashboard, &visitor, Place::Webhooks).await?;
    page(&NewWebhookPage { frame, input: WebhookInput::default(), known: TYPES })
}

pub async fn create(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.membership()?.at_least(Role::Owner)?;
    let (owner, input) = (WebhookOwner::Account(visitor.account()?), WebhookInput::of_form(&form));
    let created = dashboard.api.webhooks.create(owner, &input.url, input.fields()).await;
    let (row, secret) = match created {
        Ok(created) => created,
        Err(error) => {
            let fault = Some(InputFault::of(error)?);
            let frame = Frame::of(&dashboard, &visitor, Place::Webhooks).await?;
            let again =
                NewWebhookPage { frame, input: WebhookInput { fault, ..input }, known: TYPES };
            return with_status(StatusCode::UNPROCESSABLE_ENTITY, &again);
        }
    };
    visitor.record(&dashboard, "create_webhook", row.id).await?;
    secret_shown(&dashboard, &visitor, &row, secret.text()).await
}

/// Shows a new secret this once: no redirect, and no page that keeps it.
pub async fn secret_shown(
    dashboard: &Dashboard,
    visitor: &Visitor,
    row: &WebhookRow,
    secret: String,
) -> Result<Response, Failure> {
    let now = dashboard.api.clock.now();
    let earlier = row.earlier.as_ref().map(|(_, until)| *until).filter(|until| *until > now);
    page(&SecretPage {
        frame: Frame::of(dashboard, visitor, Place::Webhooks).await?,
        id: row.id.to_string(),
        url: row.url.clone(),
        secret,
        earlier: earlier.map(|until| When::of(until, now)),
    })
}

impl InputFault {
    /// In words that stand below the field; everything else is a page of its own.
    pub fn of(error: WebhookError) -> Result<Self, Failure> {
        let (field, text) = match error {
            WebhookError::Url(error) => ("url", sentence(&error.to_string())),
            WebhookError::Type(error) => {
                let said = error.pattern.chars().take(PATTERN_CHARS).collect::<String>();
                let more = if said == error.pattern { "" } else { "…" };
                ("types", format!("“{said}{more}” is no type of event; see All types."))
            }
            error @ WebhookError::TooManyTypes => ("types", fault(error)?),
            error @ WebhookError::Description => ("description", fault(error)?),
            error @ (WebhookError::TooMany(_)
            | WebhookError::Disabled
            | WebhookError::Rotated(_)
            | WebhookError::Range
            | WebhookError::Busy
            | WebhookError::Missing(_)
            | WebhookError::NoDelivery(_)
            | WebhookError::Secret(_)
            | WebhookError::Store(_)) => ("", fault(error)?),
        };
        Ok(Self { field, text })
    }
}

/// The words of a refusal for the page; an error that no form mends is a page of its own.
pub fn fault(error: WebhookError) -> Result<String, Failure> {
    match error {
        WebhookError::Url(_)
        | WebhookError::Type(_)
        | WebhookError::TooManyTypes
        | WebhookError::Description
        | WebhookError::TooMany(_)
        | WebhookError::Disabled
        | WebhookError::Rotated(_)
        | WebhookError::Range
        | WebhookError::Busy => Ok(sentence(&error.to_string())),
        WebhookError::Missing(_) | WebhookError::NoDelivery(_) => Err(Failure::Missing),
        WebhookError::Secret(_) => {
            // The API says it in the log.
            drop(refused(&error));
            Err(Failure::Internal)
        }
        WebhookError::Store(error) => Err(error.into()),
    }
}
