//! `/v1/traffic`: what became of an account's messages, hour by hour.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;

use super::account_scope::AccountScope;
use super::problem::Problem;
use super::query::Query;
use super::shapes::{HourList, Page};
use super::state::Api;
use crate::id::AccountId;
use crate::journey::accept::refusal::Refusal;

const DEFAULT_HOURS: u32 = 24;
/// Hours of which one answer tells: thirty days.
const MAX_HOURS: u32 = 720;

/// How many hours, of whom.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficQuery {
    #[expect(dead_code, reason = "read by the extractor of the account")]
    account: Option<AccountId>,
    hours: Option<u32>,
}

/// What became of the messages that were accepted in the last hours, by the hour, oldest first.
///
/// Hours in which nothing was accepted are left out. Messages of test keys count too.
#[utoipa::path(get, path = "/v1/traffic", operation_id = "show_traffic", tag = "messages",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery,
           ("hours" = inline(Option<super::shapes::Hours>), Query, description = "The last so many, this one included; 24")),
    responses((status = 200, description = "The hours", body = HourList),
              super::shapes::ReadRefusals))]
pub async fn show(
    scope: AccountScope,
    State(api): State<Api>,
    query: Result<Query<TrafficQuery>, Problem>,
) -> Result<Json<HourList>, Problem> {
    let Query(query) = query?;
    let hours = query.hours.unwrap_or(DEFAULT_HOURS);
    if !(1..=MAX_HOURS).contains(&hours) {
        let message = format!("must be 1 to {MAX_HOURS}");
        return Err(Refusal::fault("hours", "invalid", message).into());
    }
    let _page = api.lists.admit(scope.share_owner()).await?;
    let rows = api.store.sent_by_hour(scope.account, hours, api.clock.now()).await?;
    Ok(Json(Page::whole(rows)))
}
