//! `/v1/queue`: why mail waits, for the operator; `/v1/messages/{id}/why` says of an account's own message what its
//! holder can know and do.

use axum::Json;
use axum::extract::{Path, State};
use http::StatusCode;

use super::operator::Operator;
use super::problem::Problem;
use super::shapes::{Audience, QueuedDomain, QueuedMessage};
use super::state::Api;
use crate::delivery::queue::why;
use crate::fair_share::ShareOwner;
use crate::id::MessageId;
use crate::message::address::EmailAddress;
use crate::store::MessageRow;
use crate::store::records::RouteChoice;

/// Why a message waits, of whichever account: its state, what it waits for, until when, and what can be
/// done.
#[utoipa::path(get, path = "/v1/queue/messages/{id}", operation_id = "why_queued_message", tag = "queue",
    security(("apiKey" = [])), params(("id" = String, Path, description = "`msg_…`")),
    responses((status = 200, description = "Why it waits", body = QueuedMessage),
              super::shapes::OperatorReadRefusals))]
pub async fn message(
    _: Operator,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<QueuedMessage>, Problem> {
    let row = match id.parse::<MessageId>() {
        Ok(id) => api.store.message_row(id).await?,
        Err(_) => None,
    };
    let unknown = || not_found(format!("the server has no message `{}`", shown(&id)));
    why_message(&api, row.ok_or_else(unknown)?, Audience::Operator).await
}

/// Why mail to a domain waits: how many messages for which reasons, and how its hosts take mail now.
#[utoipa::path(get, path = "/v1/queue/domains/{domain}", operation_id = "why_queued_domain",
    tag = "queue", security(("apiKey" = [])),
    params(("domain" = String, Path, description = "A recipient domain, or an address literal")),
    responses((status = 200, description = "Why its mail waits", body = QueuedDomain),
              super::shapes::OperatorReadRefusals))]
pub async fn domain(
    _: Operator,
    State(api): State<Api>,
    Path(domain): Path<String>,
) -> Result<Json<QueuedDomain>, Problem> {
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let lane = lane(&domain)?;
    let why = why::domain(&lane, &api.store, &api.admission).await?;
    let why = why.ok_or_else(|| {
        not_found(format!(
            "no message to `{}` waits, and the server has not looked for its mail hosts lately; mail of test keys \
             and sandbox domains is under `sandbox`",
            shown(&domain)
        ))
    })?;
    Ok(Json(QueuedDomain::new(lane, why)))
}

/// Why that message waits, in words for whoever asks.
pub async fn why_message(
    api: &Api,
    row: MessageRow,
    audience: Audience,
) -> Result<Json<QueuedMessage>, Problem> {
    let (id, mut row) = (row.id, row);
    let why = if let Some((queued, why)) = why::message(id, &api.store, &api.admission).await? {
        // Read with what it waits for: the row may have been read before an attempt ended.
        row.state = queued.state;
        (row.updated_at, row.reason) = (queued.since, queued.reason);
        Some(why)
    } else {
        // It may have left the queue since.
        row = api.store.message_row(id).await?.unwrap_or(row);
        None
    };
    let last = api.store.last_attempt(id).await?;
    Ok(Json(QueuedMessage::new(row, why.as_ref(), last, audience)))
}

/// The lane of a domain as the queue writes it: A-labels in lower case. Mail of test keys and sandbox domains is in
/// the lane `sandbox`, whatever its recipient.
fn lane(domain: &str) -> Result<String, Problem> {
    let bare = domain.strip_suffix('.').unwrap_or(domain);
    if bare.eq_ignore_ascii_case("sandbox") {
        return Ok("sandbox".to_owned());
    }
    let recipient = format!("postmaster@{bare}").parse::<EmailAddress>().map_err(|_| {
        not_found(format!(
            "`{}` is no recipient domain, such as example.org, no address literal, and not sandbox",
            shown(domain)
        ))
    })?;
    Ok(RouteChoice::Configured.lane(&recipient))
}

fn not_found(message: String) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
}

fn shown(subject: &str) -> String {
    subject.chars().take(260).collect()
}
