//! `GET /v1/nodes`: the servers that work with the database, for the operator.

use axum::Json;
use axum::extract::State;

use super::operator::Operator;
use super::problem::Problem;
use super::shapes::{NodeList, Page};
use super::state::Api;
use crate::fair_share::ShareOwner;

/// The servers that work with the database, and for a day those that are gone.
#[utoipa::path(get, path = "/v1/nodes", operation_id = "list_nodes", tag = "nodes",
    security(("apiKey" = [])),
    responses((status = 200, description = "The nodes", body = NodeList),
              super::shapes::OperatorReadRefusals))]
pub async fn list(_: Operator, State(api): State<Api>) -> Result<Json<NodeList>, Problem> {
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    Ok(Json(Page::whole(api.store.nodes().await?)))
}
