//! `GET /v1/audit`: who has changed what. [`super::audit`] writes it.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;

use super::account_scope::AccountScope;
use super::operator::Operator;
use super::problem::Problem;
use super::query;
use super::query::Query;
use super::shapes::{AccountQuery, AuditLogPage, Page};
use super::state::Api;
use crate::fair_share::ShareOwner;
use crate::id::AccountId;
use crate::journey::accept::refusal::Refusal;
use crate::management::audit::Cursor;

/// Proof that the request is from somebody who may read the log: an operator that of the server, or of one account; an
/// account that of its own.
#[derive(Debug)]
pub enum Reader {
    Server,
    Account(AccountScope),
}

impl FromRequestParts<Api> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        if query::read::<ListQuery>(&parts.uri)?.account.is_none() {
            match Operator::from_request_parts(parts, api).await {
                Ok(_) => return Ok(Self::Server),
                Err(problem) if problem.status() == StatusCode::FORBIDDEN => {}
                Err(problem) => return Err(problem),
            }
        }
        let scope = AccountScope::from_request_parts(parts, api).await?;
        Ok(Self::Account(scope.for_all_of_it("the audit log")?))
    }
}

/// Which changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    account: Option<AccountId>,
    limit: Option<u32>,
    after: Option<String>,
}

/// Who has changed what, newest first.
///
/// With the scope `operator` all of the server, or with `account` of one account; with the scope `admin` of the key's
/// own account.
#[utoipa::path(get, path = "/v1/audit", operation_id = "list_audit", tag = "audit",
    security(("apiKey" = [])),
    params(AccountQuery,
           ("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = Option<String>, Query, description = "The `next` of the page before")),
    responses((status = 200, description = "Changes", body = AuditLogPage),
              super::shapes::ReadRefusals))]
pub async fn list(
    reader: Reader,
    State(api): State<Api>,
    Query(query): Query<ListQuery>,
) -> Result<Json<AuditLogPage>, Problem> {
    let limit = query::limit(query.limit)?;
    let (account, owner) = match &reader {
        Reader::Server => (None, ShareOwner::Operator),
        Reader::Account(scope) => (Some(scope.account), scope.share_owner()),
    };
    let cursor = Cursor { seal: &api.seal, account };
    let before = query.after.map(|after| {
        let unknown =
            || Refusal::fault("after", "invalid", "is not the `next` of a page of this list");
        cursor.read(&after).ok_or_else(unknown)
    });
    let before = before.transpose()?;
    let _page = api.lists.admit(owner).await?;
    let mut rows = match account {
        Some(account) => api.store.audit(account, before, limit + 1).await?,
        None => api.store.audit_of_server(before, limit + 1).await?,
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|(number, _)| cursor.tell(*number));
    Ok(Json(Page::new(rows.into_iter().map(|(_, row)| row), next)))
}
