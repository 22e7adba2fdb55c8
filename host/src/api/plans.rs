//! `GET /v1/plans`: the plans, as far as the settings of the plan policy name them.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use http::StatusCode;
use http::request::Parts;

use super::account_scope::refused;
use super::admin::Admin;
use super::operator::Operator;
use super::problem::Problem;
use super::shapes::PlanList;
use super::state::Api;
use crate::id::AccountId;
use crate::management::plans;
use crate::plugin::Kind;
use crate::plugin::binding::{Binding, Scope};

/// Proof that the request is from somebody who may know the plans: an account, or the server's operator.
#[derive(Debug)]
pub enum Reader {
    Account(AccountId),
    Operator,
}

impl FromRequestParts<Api> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let control = parts.headers.get("x-api-key").and_then(|value| value.to_str().ok());
        if control.is_some_and(|it| api.control.is(it)) {
            return Ok(Self::Operator);
        }
        match Admin::from_request_parts(parts, api).await {
            Ok(admin) => Ok(Self::Account(admin.account())),
            Err(problem) if problem.status() == StatusCode::FORBIDDEN => {
                let operator = Operator::from_request_parts(parts, api).await;
                operator.map(|_| Self::Operator).map_err(|_| problem)
            }
            Err(problem) => Err(problem),
        }
    }
}

/// The plans that the plan policy names in its settings.
///
/// For a key of the scope `admin` those of the policy that decides about its account. What a plan allows is the policy's code, so this is what its settings say and no more.
#[utoipa::path(get, path = "/v1/plans", operation_id = "list_plans", tag = "accounts",
    security(("apiKey" = [])),
    responses((status = 200, description = "The plans", body = PlanList),
              super::shapes::ReadRefusals))]
pub async fn list(reader: Reader, State(api): State<Api>) -> Result<Json<PlanList>, Problem> {
    let (policy, plan) = match reader {
        Reader::Operator => (api.plugins.serving(Kind::Plan, &Binding::Server), None),
        Reader::Account(id) => {
            let row = api.store.account(id, api.clock.now()).await;
            let plan = row.map_err(|error| refused(&error))?.account.plan.name;
            let account = id.to_string();
            let scope = Scope { plan: &plan, account: &account, domain: None };
            (api.plugins.table().serving(Kind::Plan, &scope), Some(plan))
        }
    };
    Ok(Json(PlanList::new(plan, plans::named_by(&policy))))
}
