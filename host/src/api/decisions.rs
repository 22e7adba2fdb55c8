//! `/v1/decisions`: what plugins decided, and the same calls made again.

use axum::Json;
use axum::extract::{Path, Request, State};
use serde::Deserialize;

use super::account_scope::AccountScope;
use super::account_scope::refused;
use super::operator::{Operator, with_body};
use super::plugins::{component, not_replayed};
use super::problem::Problem;
use super::query;
use super::query::Query;
use super::shapes::{DecisionRecord, Listing, Page};
use super::state::Api;
use crate::fair_share::ShareOwner;
use crate::id::{AccountId, DecisionId, MessageId};
use crate::journey::accept::refusal::Refusal;
use crate::plugin::Artifact;
use crate::store::{DecisionFilter, DecisionRef};
use crate::upkeep::replay::{Brought, Recorded, Replayed, recorded, replay};

/// Which decisions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ListQuery {
    account: Option<AccountId>,
    message: Option<MessageId>,
    plugin: Option<String>,
    outcome: Option<String>,
    #[serde(default)]
    refusals: bool,
    limit: Option<u32>,
    after: Option<DecisionId>,
}

/// The signature of a component that is brought along.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayQuery {
    signature: Option<String>,
}

/// Decisions, newest first.
///
/// A request looks at some 20,000 decisions at most. Where none, or few, of them pass the filter, the
/// page is short and `hasMore` is true; `next` is where the search goes on.
#[utoipa::path(get, path = "/v1/decisions", operation_id = "list_decisions", tag = "decisions",
    security(("apiKey" = [])),
    params(("account" = inline(Option<AccountId>), Query, description = "`acc_…`"),
           ("message" = inline(Option<MessageId>), Query, description = "`msg_…`"),
           ("plugin" = Option<String>, Query, description = "A plugin's name, slot or digest"),
           ("outcome" = Option<String>, Query, description = "`accepted`, or the code of a refusal"),
           ("refusals" = Option<bool>, Query, description = "Only those of refusals"),
           ("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = inline(Option<DecisionId>), Query, description = "The last one of the page before")),
    responses((status = 200, description = "Decisions", body = Listing),
              super::shapes::OperatorReadRefusals))]
pub async fn list(
    _: Operator,
    State(api): State<Api>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<DecisionRecord>>, Problem> {
    let filter = DecisionFilter {
        account: query.account,
        message: query.message,
        plugin: query.plugin,
        outcome: query.outcome,
        only_refusals: query.refusals,
    };
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let page = api.store.decisions(&filter, query.after, limit).await;
    let page = page.map_err(|error| refused(&error))?;
    let decisions: Vec<_> = page.decisions.into_iter().map(DecisionRecord::from).collect();
    Ok(Json(Page::new(decisions, page.next)))
}

/// Which refusals, of whom.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusalQuery {
    #[expect(dead_code, reason = "read by the extractor of the account")]
    account: Option<AccountId>,
    outcome: Option<String>,
    limit: Option<u32>,
    after: Option<DecisionId>,
}

/// Sends of the account that were refused after their key was known, newest first, with what plugins decided.
///
/// It takes a live key for the whole account. The search is bounded as that of decisions is.
#[utoipa::path(get, path = "/v1/refusals", operation_id = "list_refusals", tag = "messages",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery,
           ("outcome" = Option<String>, Query, description = "The code, as in `INSUFFICIENT_BALANCE`"),
           ("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = inline(Option<DecisionId>), Query, description = "The last one of the page before")),
    responses((status = 200, description = "Refusals", body = Listing),
              super::shapes::ReadRefusals))]
pub async fn refusals(
    scope: AccountScope,
    State(api): State<Api>,
    query: Result<Query<RefusalQuery>, Problem>,
) -> Result<Json<Page<DecisionRecord>>, Problem> {
    let scope = scope.for_all_of_it("what was refused")?;
    let Query(query) = query?;
    let filter = DecisionFilter {
        account: Some(scope.account),
        outcome: query.outcome,
        only_refusals: true,
        ..DecisionFilter::default()
    };
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(scope.share_owner()).await?;
    let page = api.store.decisions(&filter, query.after, limit).await;
    let page = page.map_err(|error| refused(&error))?;
    let decisions: Vec<_> = page.decisions.into_iter().map(DecisionRecord::from).collect();
    Ok(Json(Page::new(decisions, page.next)))
}

/// One decision, by its own identifier or by that of its message.
#[utoipa::path(get, path = "/v1/decisions/{id}", operation_id = "show_decision", tag = "decisions",
    security(("apiKey" = [])),
    params(("id" = inline(super::shapes::DecisionOrMessage), Path, description = "`dec_…` or `msg_…`")),
    responses((status = 200, description = "The decision", body = DecisionRecord),
              super::shapes::OperatorReadRefusals))]
pub async fn show(
    _: Operator,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<DecisionRecord>, Problem> {
    let row = api.store.decision(reference(&id)?).await.map_err(|error| refused(&error))?;
    let samples = api.store.sample(row.id).await.map_err(|error| refused(&error))?;
    Ok(Json(DecisionRecord::new(row, samples)))
}

/// The recorded calls of a decision, each with what went in and what came out.
///
/// There are none of a decision that was not one of the sample, or is older than the sample is kept.
#[utoipa::path(get, path = "/v1/decisions/{id}/calls", operation_id = "list_decision_calls", tag = "decisions",
    security(("apiKey" = [])),
    params(("id" = inline(super::shapes::DecisionOrMessage), Path, description = "`dec_…` or `msg_…`")),
    responses((status = 200, description = "The calls", body = Listing),
              super::shapes::OperatorReadRefusals))]
pub async fn calls(
    _: Operator,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<Page<Recorded>>, Problem> {
    let row = api.store.decision(reference(&id)?).await.map_err(|error| refused(&error))?;
    let calls = recorded(&api.store, &api.seal, row.id).await;
    Ok(Json(Page::whole(calls.map_err(|error| not_replayed(&error))?)))
}

/// Makes the recorded calls of a decision again; with a component in the body, to that one.
#[utoipa::path(post, path = "/v1/decisions/{id}/replay", tag = "decisions",
    security(("apiKey" = [])),
    params(("id" = inline(super::shapes::DecisionOrMessage), Path, description = "`dec_…` or `msg_…`"),
           ("signature" = Option<String>, Query, description = "wxsig_…")),
    request_body(content = inline(Option<super::shapes::ComponentOrNothing>), content_type = "application/wasm"),
    responses((status = 200, description = "The calls", body = Listing),
              super::shapes::OperatorChangeRefusals))]
pub async fn replayed(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    Path(id): Path<String>,
    Query(query): Query<ReplayQuery>,
    request: Request,
) -> Result<Json<Page<Replayed>>, Problem> {
    let request = with_body(operator, request).await?;
    let row = api.store.decision(reference(&id)?).await.map_err(|error| refused(&error))?;
    let component = component(&api, request).await?;
    let brought = (!component.is_empty())
        .then(|| Brought { component: Artifact::new(component), signature: query.signature });
    let calls = replay(&api.plugins, &api.store, &api.seal, row.id, brought.as_ref()).await;
    let calls = calls.map_err(|error| not_replayed(&error))?;
    Ok(Json(Page::whole(calls)))
}

fn reference(id: &str) -> Result<DecisionRef, Problem> {
    id.parse().map_err(|error: crate::store::InvalidDecisionRef| {
        Refusal::fault("id", "invalid", error.to_string()).into()
    })
}
