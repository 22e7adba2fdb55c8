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
use crate::management::audit::{Cursor, search};

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
    text: Option<String>,
    limit: Option<u32>,
    after: Option<String>,
}

/// Who has changed what, newest first.
///
/// With the scope `operator` all of the server, or with `account` of one account; with the scope `admin` of the key's
/// own account. A search by `text` looks at some 2,000 changes at most: where few of them pass, the page is short, and
/// `next` is where the search goes on.
#[utoipa::path(get, path = "/v1/audit", operation_id = "list_audit", tag = "audit",
    security(("apiKey" = [])),
    params(AccountQuery,
           ("text" = Option<String>, Query, description = "Those with this text in the name of the actor, the action or the subject, in either case of its letters; or those from this address"),
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
    let text = query.text.as_deref().unwrap_or_default();
    let found = search(&api.store, account, text, before, limit).await?;
    let next = found.next.map(|number| cursor.tell(number));
    Ok(Json(Page::new(found.rows.into_iter().map(|(_, row)| row), next)))
}
