//! `/v1/queue`: for whom mail waits, why, and its release after a restore, for the operator; `/v1/messages/{id}/why` says of
//! an account's own message what its holder can know and do.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use utoipa::IntoParams;

use super::operator::Operator;
use super::problem::{Code, Problem};
use super::query::{self, Query};
use super::shapes::{
    Audience, Page, QueuePage, QueuedDomain, QueuedMessage, ReleasedQueue, RetriedDestination,
    WhyQueued,
};
use super::state::Api;
use crate::delivery::queue::retry_schedule::interrupted;
use crate::delivery::queue::why;
use crate::fair_share::ShareOwner;
use crate::id::MessageId;
use crate::journey::accept::refusal::Refusal;
use crate::management::delivery_hold::{self, OldMail};
use crate::message::address::EmailAddress;
use crate::store::records::RouteChoice;
use crate::store::{MessageRow, RetryFilter, StoreError};

/// Which destinations.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Items of a page, at most 500. Default: 50.
    #[param(inline, value_type = Option<super::shapes::Limit>)]
    limit: Option<u32>,
    /// Those behind this one: the `next` of the page before.
    after: Option<String>,
}

/// What is asked about: exactly one of the two.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WhyQuery {
    /// A recipient domain, or an address literal.
    domain: Option<String>,
    /// `msg_…`, of whichever account.
    message: Option<String>,
}

/// The destinations for which mail waits, by name, each with the reason of the message that is due first.
#[utoipa::path(get, path = "/v1/queue", operation_id = "list_queue", tag = "queue",
    security(("apiKey" = [])), params(ListQuery),
    responses((status = 200, description = "Destinations", body = QueuePage),
              super::shapes::OperatorReadRefusals))]
pub async fn list(
    _: Operator,
    State(api): State<Api>,
    Query(query): Query<ListQuery>,
) -> Result<Json<QueuePage>, Problem> {
    let limit = query::limit(query.limit)?;
    let after = query.after.as_deref().unwrap_or_default();
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let found = why::destinations((after, ""), limit, (&api.store, &api.admission)).await?;
    let is_full = found.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let next = found.last().filter(|_| is_full).map(|it| it.lane.clone());
    Ok(Json(Page::new(found, next)))
}

/// What becomes of the mail that waited when the backup was taken.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReleaseQuery {
    #[serde(default)]
    old_mail: OldMail,
}

/// Releases the delivery of a server that was restored from a backup.
///
/// Without a hold nothing changes.
#[utoipa::path(post, path = "/v1/queue/release", operation_id = "release_queue", tag = "queue",
    security(("apiKey" = [])),
    params(("oldMail" = inline(Option<super::shapes::OldMail>), Query, description = "Messages that waited when the backup was taken and may have gone out since: `cancel` cancels each with its refund; `send`")),
    responses((status = 200, description = "Delivery goes on", body = ReleasedQueue),
              super::shapes::OperatorReadRefusals))]
pub async fn release(
    _: Operator,
    State(api): State<Api>,
    Query(query): Query<ReleaseQuery>,
) -> Result<Json<ReleasedQueue>, Problem> {
    let (store, now) = (&api.store, api.clock.now());
    let released = delivery_hold::release(store, query.old_mail, now, interrupted).await?;
    api.due.notify_one();
    Ok(Json(ReleasedQueue::new(released)))
}

/// Why a message waits, or all mail to a domain: for what, until when, and what can be done.
#[utoipa::path(get, path = "/v1/queue/why", operation_id = "why_queued", tag = "queue",
    security(("apiKey" = [])), params(WhyQuery),
    responses((status = 200, description = "Why it waits", body = WhyQueued),
              super::shapes::OperatorReadRefusals))]
pub async fn why(
    _: Operator,
    State(api): State<Api>,
    Query(query): Query<WhyQuery>,
) -> Result<Json<WhyQueued>, Problem> {
    match (query.message, query.domain) {
        (Some(message), None) => operators_message(&api, &message).await,
        (None, Some(domain)) => operators_domain(&api, &domain).await,
        (Some(_), Some(_)) => Err(Refusal::fault(
            "domain",
            "invalid",
            "cannot stand beside message: ask about one of them",
        )
        .into()),
        (None, None) => Err(Refusal::fault(
            "domain",
            "missing",
            "must be given, as in domain=example.org, or message=msg_… in its place",
        )
        .into()),
    }
}

/// Makes all deferred messages to a destination due now, also during a back-off from it.
///
/// What is due already, or being sent, stays as it is.
#[utoipa::path(post, path = "/v1/queue/{domain}/retry", operation_id = "retry_destination", tag = "queue",
    security(("apiKey" = [])),
    params(("domain" = String, Path, description = "A recipient domain, an address literal, or `sandbox`")),
    responses((status = 200, description = "How many are due now", body = RetriedDestination),
              super::shapes::OperatorReadRefusals))]
pub async fn retry(
    _: Operator,
    State(api): State<Api>,
    Path(domain): Path<String>,
) -> Result<Json<RetriedDestination>, Problem> {
    let domain = lane(&domain)?;
    let retried = retry_destination(&api, &domain).await?;
    Ok(Json(RetriedDestination { domain, retried }))
}

/// Makes all deferred messages of a lane due now; the caller has checked that this may be done. Answers how many.
pub async fn retry_destination(api: &Api, lane: &str) -> Result<u64, StoreError> {
    let wanted = RetryFilter { account: None, domain: Some(lane.to_owned()) };
    let retried = api.store.retry_all(&wanted, api.clock.now()).await?;
    api.due.notify_one();
    Ok(retried)
}

async fn operators_message(api: &Api, asked: &str) -> Result<Json<WhyQueued>, Problem> {
    let row = match asked.parse::<MessageId>() {
        Ok(id) => api.store.message_row(id).await?,
        Err(_) => None,
    };
    let unknown = || not_found(format!("the server has no message `{}`", shown(asked)));
    let why = why_message(api, row.ok_or_else(unknown)?, Audience::Operator).await?;
    Ok(Json(WhyQueued::Message(Box::new(why))))
}

async fn operators_domain(api: &Api, asked: &str) -> Result<Json<WhyQueued>, Problem> {
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let lane = lane(asked)?;
    let why = why::domain(&lane, &api.store, &api.admission).await?;
    let why = why.ok_or_else(|| {
        not_found(format!(
            "no message to `{}` waits, and the server has not looked for its mail hosts lately; mail of test keys \
             and sandbox domains is under `sandbox`",
            shown(asked)
        ))
    })?;
    Ok(Json(WhyQueued::Domain(Box::new(QueuedDomain::new(lane, why)))))
}

/// Why that message waits, in words for whoever asks.
pub async fn why_message(
    api: &Api,
    row: MessageRow,
    audience: Audience,
) -> Result<QueuedMessage, Problem> {
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
    Ok(QueuedMessage::new(row, why.as_ref(), last, audience))
}

/// The lane of a domain as the queue writes it: A-labels in lower case. Mail of test keys and sandbox domains is in
/// the lane `sandbox`, whatever its recipient. Answers none where `domain` is no recipient domain.
pub fn lane_of(domain: &str) -> Option<String> {
    let bare = domain.strip_suffix('.').unwrap_or(domain);
    if bare.eq_ignore_ascii_case("sandbox") {
        return Some("sandbox".to_owned());
    }
    let recipient = format!("postmaster@{bare}").parse::<EmailAddress>().ok()?;
    Some(RouteChoice::Configured.lane(&recipient))
}

fn lane(domain: &str) -> Result<String, Problem> {
    lane_of(domain).ok_or_else(|| {
        not_found(format!(
            "`{}` is no recipient domain, such as example.org, no address literal, and not sandbox",
            shown(domain)
        ))
    })
}

fn not_found(message: String) -> Problem {
    Problem::new(Code::NotFound, message)
}

fn shown(subject: &str) -> String {
    subject.chars().take(260).collect()
}
