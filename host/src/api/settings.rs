//! `GET /v1/settings`: the settings that the server runs with.

use axum::Json;
use axum::extract::State;

use super::operator::Operator;
use super::shapes::{Page, SettingList};
use super::state::Api;

/// The settings that the server runs with, each with where it comes from.
#[utoipa::path(get, path = "/v1/settings", operation_id = "list_settings", tag = "settings",
    security(("apiKey" = [])),
    responses((status = 200, description = "The settings", body = SettingList),
              super::shapes::OperatorReadRefusals))]
pub async fn list(_: Operator, State(api): State<Api>) -> Json<SettingList> {
    Json(Page::whole(api.settings.all().iter().cloned()))
}
