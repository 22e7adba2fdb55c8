//! `/v1/webhooks`: where the events of an account are posted to, and what came of it. A key of scope
//! `operator` manages those of the server, which get the events of plugins.

mod fields;

use axum::Json;
use axum::extract::{FromRequestParts, Path, Request, State};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde_json::Value;

use super::admin::Admin;
use super::operator::Operator;
use super::problem::{Code, Problem};
use super::query::Query;
use super::shapes::{
    DeletedWebhook, NewWebhook, Owner, OwnerQuery, Page, Replayed, Webhook, WebhookDelivery,
    WebhookDeliveryList, WebhookList, WebhookTest,
};
use super::state::Api;
use super::{body, query};
use crate::clock::Timestamp;
use crate::fair_share::ShareOwner;
use crate::id::{EventId, WebhookId};
use crate::journey::accept::refusal::Refusal;
use crate::store::{DeliveryState, WebhookOwner, WebhookRow, WebhookState};
use crate::webhooks::owner_operations::{WebhookError, WebhookFields};

/// How long somebody waits whose test cannot begin.
const RETRY_AFTER: std::time::Duration = std::time::Duration::from_secs(1);

/// Proof that the request is from somebody who has webhooks: an account, or the server's operator.
#[derive(Debug)]
pub struct Holder(WebhookOwner);

impl FromRequestParts<Api> for Holder {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        match query::read::<OwnerQuery>(&parts.uri)?.owner {
            Owner::Account => {
                let admin = Admin::from_request_parts(parts, api).await?;
                let admin =
                    admin.must_be_live("webhooks get the events of the account's live mail")?;
                if !admin.is_for_all() {
                    return Err(restricted());
                }
                Ok(Self(WebhookOwner::Account(admin.account())))
            }
            Owner::Server => {
                Operator::from_request_parts(parts, api).await?;
                Ok(Self(WebhookOwner::Server))
            }
        }
    }
}

/// Which webhooks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    #[expect(dead_code, reason = "read by the extractor of the holder")]
    owner: Option<String>,
    limit: Option<u32>,
    after: Option<WebhookId>,
}

/// Which deliveries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveriesQuery {
    #[expect(dead_code, reason = "read by the extractor of the holder")]
    owner: Option<String>,
    state: Option<String>,
    limit: Option<u32>,
    after: Option<EventId>,
}

/// The webhooks, oldest first.
#[utoipa::path(get, path = "/v1/webhooks", operation_id = "list_webhooks", tag = "webhooks",
    security(("apiKey" = [])),
    params(super::shapes::OwnerQuery,
           ("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = inline(Option<WebhookId>), Query, description = "The last one of the page before")),
    responses((status = 200, description = "Webhooks", body = WebhookList),
              super::shapes::ReadRefusals))]
pub async fn list(
    Holder(owner): Holder,
    State(api): State<Api>,
    Query(query): Query<ListQuery>,
) -> Result<Json<WebhookList>, Problem> {
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(share_owner(owner)).await?;
    let mut rows = api.store.webhooks(owner, query.after, limit + 1).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|it| it.id);
    let now = api.clock.now();
    Ok(Json(Page::new(rows.into_iter().map(|it| Webhook::new(it, now)), next)))
}

/// Makes a webhook. Events from now on are posted to it; its secret is shown this once.
#[utoipa::path(post, path = "/v1/webhooks", operation_id = "create_webhook", tag = "webhooks",
    security(("apiKey" = [])),
    params(super::shapes::OwnerQuery),
    request_body = super::shapes::CreateWebhook,
    responses((status = 201, description = "The webhook with its secret", body = NewWebhook),
              super::shapes::ChangeRefusals))]
pub async fn create(
    holder: Result<Holder, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<(StatusCode, Json<NewWebhook>), Problem> {
    let (Holder(owner), body) = with_body(holder, &api, request).await?;
    let (wanted, warnings) = fields::create(&body)?;
    let url = wanted.url.clone().unwrap_or_default();
    let created = api.webhooks.create(owner, &url, wanted).await;
    let created = created.map_err(|error| refused(&error))?;
    let mut created = NewWebhook::new(created, api.clock.now());
    created.warnings = warnings;
    Ok((StatusCode::CREATED, Json(created)))
}

/// One webhook.
#[utoipa::path(get, path = "/v1/webhooks/{webhook}", operation_id = "show_webhook", tag = "webhooks",
    security(("apiKey" = [])),
    params(("webhook" = String, Path, description = "`whk_…`"),
           super::shapes::OwnerQuery),
    responses((status = 200, description = "The webhook", body = Webhook),
              super::shapes::ReadRefusals))]
pub async fn show(
    holder: Holder,
    State(api): State<Api>,
    Path(webhook): Path<String>,
) -> Result<Json<Webhook>, Problem> {
    let row = find(&api, &holder, &webhook).await?;
    let (id, now) = (row.id, api.clock.now());
    let counts = api.store.webhook_counts(id, now).await?;
    Ok(Json(Webhook::new(row, now).with_figures(counts)))
}

/// Changes a webhook: fields left out keep their value.
#[utoipa::path(patch, path = "/v1/webhooks/{webhook}", operation_id = "change_webhook", tag = "webhooks",
    security(("apiKey" = [])),
    params(("webhook" = String, Path, description = "`whk_…`"),
           super::shapes::OwnerQuery),
    request_body = super::shapes::ChangeWebhook,
    responses((status = 200, description = "The webhook as it is now", body = Webhook),
              super::shapes::ChangeRefusals))]
pub async fn change(
    holder: Result<Holder, Problem>,
    State(api): State<Api>,
    Path(webhook): Path<String>,
    request: Request,
) -> Result<Json<Webhook>, Problem> {
    let (holder, body) = with_body(holder, &api, request).await?;
    let id = find(&api, &holder, &webhook).await?.id;
    let (wanted, warnings) = fields::change(&body)?;
    let changed = api.webhooks.change(id, wanted).await.map_err(|error| refused(&error))?;
    let mut changed = Webhook::new(changed, api.clock.now());
    changed.warnings = warnings;
    Ok(Json(changed))
}

/// Removes a webhook with the log of its deliveries.
#[utoipa::path(delete, path = "/v1/webhooks/{webhook}", operation_id = "delete_webhook", tag = "webhooks",
    security(("apiKey" = [])),
    params(("webhook" = String, Path, description = "`whk_…`"),
           super::shapes::OwnerQuery),
    responses((status = 200, description = "It is gone", body = DeletedWebhook),
              super::shapes::ChangeRefusals))]
pub async fn delete(
    holder: Holder,
    State(api): State<Api>,
    Path(webhook): Path<String>,
) -> Result<Json<DeletedWebhook>, Problem> {
    let id = find(&api, &holder, &webhook).await?.id;
    api.webhooks.remove(id).await.map_err(|error| refused(&error))?;
    Ok(Json(DeletedWebhook { id, deleted: true }))
}

/// Gives a webhook another secret, which is shown this once. For 24 hours both sign, and it is not rotated
/// again.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/rotate", operation_id = "rotate_webhook",
    tag = "webhooks", security(("apiKey" = [])),
    params(("webhook" = String, Path, description = "`whk_…`"),
           super::shapes::OwnerQuery),
    responses((status = 200, description = "The webhook with its new secret", body = NewWebhook),
              super::shapes::ChangeRefusals))]
pub async fn rotate(
    holder: Holder,
    State(api): State<Api>,
    Path(webhook): Path<String>,
) -> Result<Json<NewWebhook>, Problem> {
    let id = find(&api, &holder, &webhook).await?.id;
    let rotated = api.webhooks.rotate(id).await.map_err(|error| refused(&error))?;
    Ok(Json(NewWebhook::new(rotated, api.clock.now())))
}

/// Posts a `webhook.test` event now and answers what came of it.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/test", operation_id = "test_webhook", tag = "webhooks",
    security(("apiKey" = [])),
    params(("webhook" = String, Path, description = "`whk_…`"),
           super::shapes::OwnerQuery),
    responses((status = 200, description = "What came of it", body = WebhookTest),
              super::shapes::ChangeRefusals))]
pub async fn test(
    holder: Holder,
    State(api): State<Api>,
    Path(webhook): Path<String>,
) -> Result<Json<WebhookTest>, Problem> {
    let id = find(&api, &holder, &webhook).await?.id;
    let tested = Box::pin(api.webhooks.test(id)).await.map_err(|error| refused(&error))?;
    Ok(Json(WebhookTest::new(id, tested)))
}

/// What was posted and what came of each attempt, newest first.
///
/// A request looks at some 20,000 deliveries at most. Where none, or few, of them are in the state, the
/// page is short and `hasMore` is true; `next` is where the search goes on.
#[utoipa::path(get, path = "/v1/webhooks/{webhook}/deliveries", operation_id = "list_webhook_deliveries",
    tag = "webhooks", security(("apiKey" = [])),
    params(("webhook" = String, Path, description = "`whk_…`"),
           super::shapes::OwnerQuery,
           ("state" = inline(Option<super::shapes::DeliveryState>), Query, description = "Only those in this state"),
           ("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = inline(Option<EventId>), Query, description = "The last one of the page before")),
    responses((status = 200, description = "Deliveries", body = WebhookDeliveryList),
              super::shapes::ReadRefusals))]
pub async fn deliveries(
    holder: Holder,
    State(api): State<Api>,
    Path(webhook): Path<String>,
    Query(query): Query<DeliveriesQuery>,
) -> Result<Json<WebhookDeliveryList>, Problem> {
    let state = query.state.map(|word| {
        let state = DeliveryState::from_name(&word);
        state.ok_or_else(|| {
            Refusal::fault("state", "invalid", "is `pending`, `delivered` or `failed`")
        })
    });
    let state = state.transpose()?;
    let id = find(&api, &holder, &webhook).await?.id;
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(share_owner(holder.0)).await?;
    let page = api.store.webhook_deliveries(id, state, query.after, limit).await?;
    Ok(Json(Page::new(page.deliveries, page.next)))
}

/// Posts an event once more, with the same identifier and body, with as many attempts as if it were new.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/deliveries/{delivery}/replay",
    operation_id = "replay_webhook_delivery", tag = "webhooks", security(("apiKey" = [])),
    params(("webhook" = String, Path, description = "`whk_…`"),
           ("delivery" = String, Path, description = "`evt_…`"),
           super::shapes::OwnerQuery),
    responses((status = 200, description = "The delivery, due now", body = WebhookDelivery),
              super::shapes::ChangeRefusals))]
pub async fn replay(
    holder: Holder,
    State(api): State<Api>,
    Path((webhook, delivery)): Path<(String, String)>,
) -> Result<Json<WebhookDelivery>, Problem> {
    let id = find(&api, &holder, &webhook).await?.id;
    let Ok(event) = delivery.parse::<EventId>() else {
        return Err(unknown("the webhook has no delivery", &delivery));
    };
    api.webhooks.replay(id, event).await.map_err(|error| refused(&error))?;
    let row = api.store.webhook_delivery(id, event).await?;
    let row = row.ok_or_else(|| unknown("the webhook has no delivery", &delivery))?;
    Ok(Json(row.into()))
}

/// Does so for all failed deliveries of a time.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/replay", operation_id = "replay_webhook",
    tag = "webhooks", security(("apiKey" = [])),
    params(("webhook" = String, Path, description = "`whk_…`"),
           super::shapes::OwnerQuery),
    request_body = super::shapes::ReplayWebhook,
    responses((status = 200, description = "How many", body = Replayed),
              super::shapes::ChangeRefusals))]
pub async fn replay_failed(
    holder: Result<Holder, Problem>,
    State(api): State<Api>,
    Path(webhook): Path<String>,
    request: Request,
) -> Result<Json<Replayed>, Problem> {
    let (holder, body) = with_body(holder, &api, request).await?;
    let id = find(&api, &holder, &webhook).await?.id;
    let (since, until) = fields::range(&body)?;
    let replayed = api.webhooks.replay_failed(id, since, until).await;
    let replayed = replayed.map_err(|error| refused(&error))?;
    Ok(Json(Replayed { replayed }))
}

/// The JSON of a request, and who sends it.
async fn with_body(
    holder: Result<Holder, Problem>,
    api: &Api,
    request: Request,
) -> Result<(Holder, Value), Problem> {
    let (holder, value, _memory) =
        body::json_of(holder, |it| share_owner(it.0), api, request).await?;
    Ok((holder, value))
}

fn share_owner(owner: WebhookOwner) -> ShareOwner {
    match owner {
        WebhookOwner::Account(account) => account.into(),
        WebhookOwner::Server => ShareOwner::Operator,
    }
}

/// A webhook of the holder; another's is not there.
async fn find(api: &Api, holder: &Holder, webhook: &str) -> Result<WebhookRow, Problem> {
    let missing = || unknown("there is no webhook", webhook);
    let id: WebhookId = webhook.parse().map_err(|_| missing())?;
    let row = api.store.webhook(id).await?;
    row.filter(|row| row.owner == holder.0).ok_or_else(missing)
}

pub fn refused(error: &WebhookError) -> Problem {
    let fault = |field, text: String| Problem::from(Refusal::fault(field, "invalid", text));
    match error {
        WebhookError::Url(url) => fault("url", url.to_string()),
        WebhookError::Type(_) | WebhookError::TooManyTypes => fault("types", error.to_string()),
        WebhookError::Description => fault("description", error.to_string()),
        WebhookError::Range => fault("until", error.to_string()),
        WebhookError::TooMany(_) => {
            Refusal::Forbidden { message: error.to_string(), retry_after_s: None }.into()
        }
        WebhookError::Disabled | WebhookError::Rotated(_) => {
            Problem::new(Code::Conflict, error.to_string())
        }
        WebhookError::Busy => Refusal::RateLimited { retry_after: RETRY_AFTER }.into(),
        WebhookError::Missing(_) | WebhookError::NoDelivery(_) => {
            Problem::new(Code::NotFound, error.to_string())
        }
        WebhookError::Secret(_) => {
            tracing::error!(%error, "a webhook's secret cannot be unsealed");
            Refusal::Internal { message: error.to_string() }.into()
        }
        WebhookError::Store(error) => error.into(),
    }
}

/// Webhooks get the events of the whole account: a key for some of it may neither see nor change them.
fn restricted() -> Problem {
    let message =
        "the key is for some domains or templates only, and webhooks get the events of all";
    Refusal::Forbidden { message: message.to_owned(), retry_after_s: None }.into()
}

fn unknown(what: &str, name: &str) -> Problem {
    let shown: String = name.chars().take(80).collect();
    Problem::new(Code::NotFound, format!("{what} `{shown}`"))
}
