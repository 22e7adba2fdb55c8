//! `/v1/messages`: what an account has sent, and what became of it.

mod filter;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::num::NonZeroU32;

use super::account_scope::for_the_whole;
use super::admin::Admin;
use super::problem::{Code, Problem};
use super::query::Query;
use super::queue::why_message;
use super::send::{idempotency_key, mark_replayed, with_allowance};
use super::shapes::{
    AttemptList, Audience, EventList, Message, MessageDeliveryList, MessagePage, Page,
    QueuedMessage, Resent,
};
use super::state::Api;
use super::{body, query, request_context};
use crate::account::idempotency::Idempotency;
use crate::account::key::Mode;
use crate::id::MessageId;
use crate::journey::accept::authenticate;
use crate::journey::accept::rate_limit::Allowance;
use crate::journey::accept::refusal::{Refusal, Refused};
use crate::journey::accept::resend;
use crate::journey::{self, Receipt, Reply};
use crate::management::messages::{self, Caller, MessageError};
use crate::store::MessageRow;
use crate::store::records::Acceptance;
use crate::trace::Arrival;
use filter::ListQuery;

/// The account's messages, newest first.
///
/// A request looks at some 20,000 messages at most. Where none, or few, of them pass the filter, the
/// page is short and `hasMore` is true; `next` is where the search goes on.
#[utoipa::path(get, path = "/v1/messages", operation_id = "list_messages", tag = "messages",
    security(("apiKey" = [])), params(ListQuery),
    responses((status = 200, description = "Messages", body = MessagePage),
              super::shapes::ReadRefusals))]
pub async fn list(
    admin: Admin,
    State(api): State<Api>,
    Query(query): Query<ListQuery>,
) -> Result<Json<MessagePage>, Problem> {
    let (filter, after) = query.filter(&admin)?;
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(admin.account()).await?;
    let page = api.store.messages(admin.account(), &filter, after, limit).await?;
    Ok(Json(Page::new(page.messages, page.next)))
}

/// One message: its fields, its timeline, every attempt with its conversation, what plugins decided.
#[utoipa::path(get, path = "/v1/messages/{id}", operation_id = "show_message", tag = "messages",
    security(("apiKey" = [])), params(("id" = String, Path, description = "`msg_…`")),
    responses((status = 200, description = "The message", body = Message),
              super::shapes::ReadRefusals))]
pub async fn show(
    admin: Admin,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<Message>, Problem> {
    let row = find(&api, &admin, &id).await?;
    whole(&api, row.id).await
}

/// What happened to a message, oldest first.
#[utoipa::path(get, path = "/v1/messages/{id}/events", operation_id = "list_message_events",
    tag = "messages", security(("apiKey" = [])),
    params(("id" = String, Path, description = "`msg_…`")),
    responses((status = 200, description = "Events", body = EventList),
              super::shapes::ReadRefusals))]
pub async fn events(
    admin: Admin,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<EventList>, Problem> {
    let row = find(&api, &admin, &id).await?;
    let events = api.store.message_events(row.id).await?;
    Ok(Json(Page::whole(events)))
}

/// Each attempt to hand a message over, oldest first, with the reply and the whole conversation.
#[utoipa::path(get, path = "/v1/messages/{id}/attempts", operation_id = "list_message_attempts",
    tag = "messages", security(("apiKey" = [])),
    params(("id" = String, Path, description = "`msg_…`")),
    responses((status = 200, description = "Attempts", body = AttemptList),
              super::shapes::ReadRefusals))]
pub async fn attempts(
    admin: Admin,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<AttemptList>, Problem> {
    let row = find(&api, &admin, &id).await?;
    let attempts = api.store.message_attempts(row.id).await?;
    Ok(Json(Page::whole(attempts)))
}

/// Which webhooks of the account were told of a message, and what they answered, newest first.
#[utoipa::path(get, path = "/v1/messages/{id}/deliveries", operation_id = "list_message_deliveries",
    tag = "messages", security(("apiKey" = [])),
    params(("id" = String, Path, description = "`msg_…`")),
    responses((status = 200, description = "Deliveries to webhooks", body = MessageDeliveryList),
              super::shapes::ReadRefusals))]
pub async fn deliveries(
    admin: Admin,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<MessageDeliveryList>, Problem> {
    let admin = for_the_whole(admin, "what webhooks were told")?;
    let row = find(&api, &admin, &id).await?;
    let events = api.store.message_events(row.id).await?;
    let (told, has_more) = messages::deliveries(&api.store, &row, &events).await?;
    Ok(Json(Page::beginning(told, has_more)))
}

/// The message itself (RFC 5322), as it was accepted: before it is signed.
#[utoipa::path(get, path = "/v1/messages/{id}/raw", operation_id = "show_message_raw",
    tag = "messages", security(("apiKey" = [])),
    params(("id" = String, Path, description = "`msg_…`")),
    responses((status = 200, description = "The message", content_type = "message/rfc822", body = String),
              super::shapes::ReadRefusals))]
pub async fn raw(
    admin: Admin,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let row = find(&api, &admin, &id).await?;
    let content = messages::content(&api.store, &row).await?;
    let content = content.ok_or_else(|| {
        let message =
            format!("the content of {} is no longer kept, or is for its recipient alone", row.id);
        Problem::new(Code::NotFound, message)
    })?;
    let mut response = content.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("message/rfc822"));
    let disposition = format!("attachment; filename=\"{}.eml\"", row.id);
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

/// Why a message is not on its way now: what it waits for, until when, and what can be done.
#[utoipa::path(get, path = "/v1/messages/{id}/why", operation_id = "why_message",
    tag = "messages", security(("apiKey" = [])),
    params(("id" = String, Path, description = "`msg_…`")),
    responses((status = 200, description = "Why it waits", body = QueuedMessage),
              super::shapes::ReadRefusals))]
pub async fn why(
    admin: Admin,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<QueuedMessage>, Problem> {
    let row = find(&api, &admin, &id).await?;
    why_message(&api, row, Audience::AccountHolder).await.map(Json)
}

/// Calls a message back that waits: it is not sent any more, and its price is refunded unless an attempt may have
/// arrived. One that is canceled already stays so.
#[utoipa::path(post, path = "/v1/messages/{id}/cancel", operation_id = "cancel_message",
    tag = "messages", security(("apiKey" = [])),
    params(("id" = String, Path, description = "`msg_…`")),
    responses((status = 200, description = "The message, canceled", body = Message),
              super::shapes::StateRefusals))]
pub async fn cancel(
    admin: Admin,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<Message>, Problem> {
    let row = find(&api, &admin, &id).await?;
    messages::cancel(&api.store, Caller::Key, row.id, api.clock.now()).await.map_err(refused)?;
    whole(&api, row.id).await
}

/// Tries a deferred message again now, also during a back-off of its destination; without effect on
/// one that is queued or being sent.
#[utoipa::path(post, path = "/v1/messages/{id}/retry", operation_id = "retry_message",
    tag = "messages", security(("apiKey" = [])),
    params(("id" = String, Path, description = "`msg_…`")),
    responses((status = 200, description = "The message, due now", body = Message),
              super::shapes::StateRefusals))]
pub async fn retry(
    admin: Admin,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<Message>, Problem> {
    let taken = api.journey.accept.take_sends(admin.caller(), NonZeroU32::MIN);
    if let Err((refusal, _)) = taken {
        return Err(refusal.into());
    }
    let row = find(&api, &admin, &id).await?;
    messages::retry(&api.store, Caller::Key, row.id, api.clock.now()).await.map_err(refused)?;
    api.due.notify_one();
    whole(&api, row.id).await
}

/// Sends the content of a message once more, to the same recipient: a new message with its own
/// identifier, price and Message-ID. Every check of a send is made again, but it is not rendered anew.
#[utoipa::path(post, path = "/v1/messages/{id}/resend", operation_id = "resend_message",
    tag = "messages", security(("apiKey" = [])),
    params(("id" = String, Path, description = "`msg_…`"), super::shapes::IdempotencyKey),
    responses((status = 201, description = "Stored, charged and queued, durably", body = Resent),
              super::shapes::ResendRefusals))]
pub async fn resend(
    admin: Result<Admin, Problem>,
    State(api): State<Api>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    // It has no meaning here, and the client waits until it is read.
    body::drain(body).await;
    let admin = match admin {
        Ok(admin) => admin,
        Err(problem) => return problem.into_response(),
    };
    let taken = api.journey.accept.take_sends(admin.caller(), NonZeroU32::MIN);
    let (allowance, answer) = match taken {
        Ok(allowance) => {
            let key = idempotency_key(&parts).map_err(Problem::from);
            let sent = match key {
                Ok(key) => send_again(&api, &admin, &id, key).await,
                Err(problem) => Err(problem),
            };
            (allowance, sent)
        }
        Err((refusal, allowance)) => (allowance, Err(refusal.into())),
    };
    let response = answer.unwrap_or_else(IntoResponse::into_response);
    with_allowance(response, Some::<Allowance>(allowance))
}

async fn send_again(
    api: &Api,
    admin: &Admin,
    id: &str,
    key: Option<String>,
) -> Result<Response, Problem> {
    let row = find(api, admin, id).await?;
    let (receipt, replayed) = match submit_again(api, admin.caller(), row.id, key).await? {
        Resending::Sent(receipt) => (receipt, false),
        Resending::SentBefore(receipt) => (receipt, true),
        Resending::UnderWay => return Err(Refusal::IdempotencyInFlight.into()),
    };
    let mut response = (StatusCode::CREATED, Json(Resent::new(receipt, row.id))).into_response();
    if replayed {
        mark_replayed(&mut response);
    }
    Ok(response)
}

/// What became of a message that is to be sent once more.
#[derive(Debug)]
pub enum Resending {
    Sent(Receipt),
    /// An earlier request with the same idempotency key has sent the message.
    SentBefore(Receipt),
    /// Another request with the same idempotency key is sending the message now.
    UnderWay,
}

/// A message of the caller's account, as a new one.
///
/// # Errors
/// Its content is no longer kept, or the journey refuses it.
pub async fn submit_again(
    api: &Api,
    caller: &authenticate::Caller,
    id: MessageId,
    key: Option<String>,
) -> Result<Resending, Problem> {
    let stored = api.store.stored_message(id).await?;
    let stored = stored.ok_or_else(|| unknown(&id.to_string()))?;
    let submission = resend::submission(stored)
        .map_err(|error| Problem::new(Code::Conflict, error.to_string()))?;
    let body_hash = Sha256::digest(json!({"resend": id}).to_string()).into();
    let request = journey::Request {
        id: request_context::current(),
        idempotency: key.map(|key| Idempotency { key, body_hash }),
        acceptance: Acceptance::Each,
        arrival: Arrival::default(),
        items: vec![Ok(submission)],
    };
    let Reply { items, replayed } = match api.journey.submit(caller, &request).await {
        Err(Refused { refusal: Refusal::IdempotencyInFlight, .. }) => {
            return Ok(Resending::UnderWay);
        }
        submitted => submitted?,
    };
    let receipt = items.into_iter().next().ok_or_else(|| {
        Problem::from(Refusal::Internal { message: "the message has no answer".to_owned() })
    })??;
    Ok(if replayed { Resending::SentBefore(receipt) } else { Resending::Sent(receipt) })
}

async fn whole(api: &Api, id: MessageId) -> Result<Json<Message>, Problem> {
    let details = api.store.message(id).await?;
    Ok(Json(details.into()))
}

/// Another account's message is not there; for a test key, neither is one of a live key.
async fn find(api: &Api, admin: &Admin, id: &str) -> Result<MessageRow, Problem> {
    let row = match id.parse::<MessageId>() {
        Ok(id) => api.store.message_row(id).await?,
        Err(_) => None,
    };
    let row = row.filter(|row| row.account_id == admin.account()).ok_or_else(|| unknown(id))?;
    if admin.is_test() {
        let mode = api.store.key_mode(row.key_id).await?;
        if mode != Some(Mode::Test) {
            return Err(unknown(id));
        }
    }
    let domain = row.from.rsplit_once('@').map_or("", |(_, domain)| domain);
    if admin.may_see(domain, row.template.as_deref()) {
        return Ok(row);
    }
    let message = "the key is for other domains or templates than this message's".to_owned();
    Err(Refusal::Forbidden { message, retry_after_s: None }.into())
}

fn refused(error: MessageError) -> Problem {
    let text = error.to_string();
    match error {
        MessageError::TooLate(_) | MessageError::NotDeferred(_) => {
            Problem::new(Code::Conflict, text)
        }
        MessageError::Role(_) => Refusal::Forbidden { message: text, retry_after_s: None }.into(),
        MessageError::Store(error) => error.into(),
    }
}

fn unknown(id: &str) -> Problem {
    let shown: String = id.chars().take(260).collect();
    let message = format!("the account has no message `{shown}`");
    Problem::new(Code::NotFound, message)
}
