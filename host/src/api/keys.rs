//! `/v1/keys`: the API keys of an account.

use axum::Json;
use axum::extract::{Path, Request, State};
use http::StatusCode;
use serde::Deserialize;

use super::account_scope::{AccountScope, refused as store_refused};
use super::fields::{Fields, Moment};
use super::problem::{Code, Problem};
use super::query::Query;
use super::shapes::{Key, KeyPage, NewKey, Page};
use super::state::Api;
use super::{body, query};
use crate::account::key::{Mode, Scope};
use crate::id::{AccountId, KeyId};
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::management::keys::{self, KeyChange, KeyError, KeyFault, OwnKey};

/// Which keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    #[expect(dead_code, reason = "read by the extractor of the account")]
    account: Option<AccountId>,
    limit: Option<u32>,
    after: Option<KeyId>,
}

/// Whose key, and whether the key of the request may lose its own rights.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeQuery {
    #[expect(dead_code, reason = "read by the extractor of the account")]
    account: Option<AccountId>,
    #[serde(default)]
    force: bool,
}

/// The keys of the account, oldest first.
///
/// A key for some domains or templates sees those that are for no others; a test key sees test keys.
#[utoipa::path(get, path = "/v1/keys", operation_id = "list_keys", tag = "keys",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery,
           ("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = inline(Option<KeyId>), Query, description = "The last one of the page before")),
    responses((status = 200, description = "Keys", body = KeyPage),
              super::shapes::ReadRefusals))]
pub async fn list(
    scope: AccountScope,
    State(api): State<Api>,
    query: Result<Query<ListQuery>, Problem>,
) -> Result<Json<KeyPage>, Problem> {
    let Query(query) = query?;
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(scope.share_owner()).await?;
    let found = keys::list(&api.store, scope.grantor(), scope.account, query.after, limit).await;
    let (keys, has_more) = found?;
    let next = keys.last().filter(|_| has_more).map(|it| it.id);
    Ok(Json(Page::new(keys, next)))
}

/// Makes a key; its secret is shown only once.
///
/// It gets no more than the key of the request has: mode, scopes, domains, templates, networks and end. With `account` an operator gives what it likes; a further operator gets no more
/// networks and no later end than its own.
#[utoipa::path(post, path = "/v1/keys", operation_id = "create_key", tag = "keys",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery),
    request_body = super::shapes::CreateKey,
    responses((status = 201, description = "The key with its secret", body = NewKey),
              super::shapes::KeyRefusals))]
pub async fn create(
    scope: Result<AccountScope, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<(StatusCode, Json<NewKey>), Problem> {
    let (scope, body, _memory) =
        body::json_of(scope, AccountScope::share_owner, &api, request).await?;
    let mut fields = Fields::of(&body)?;
    let change = rights(&mut fields);
    let mode = fields.parsed::<Mode>("mode").unwrap_or(Mode::Live);
    let new = keys::NewKey {
        name: change.name.unwrap_or_else(|| "key".to_owned()),
        mode,
        scopes: change.scopes.unwrap_or_else(|| vec![Scope::Send]),
        domains: change.domains.unwrap_or_default(),
        templates: change.templates.unwrap_or_default(),
        networks: change.networks.unwrap_or_default(),
        expires_at: change.expires_at.of(None),
    };
    for fault in new.faults() {
        fields.fault(fault.field(), "invalid", fault);
    }
    let warnings = fields.end()?;
    let now = api.clock.now();
    let key = keys::create(&api.store, scope.grantor(), scope.account, new, now).await;
    let mut key = NewKey::from(key.map_err(refused)?);
    key.about.warnings = warnings;
    Ok((StatusCode::CREATED, Json(key)))
}

/// One key.
#[utoipa::path(get, path = "/v1/keys/{key}", operation_id = "show_key", tag = "keys",
    security(("apiKey" = [])),
    params(("key" = String, Path, description = "`key_…`"),
           super::shapes::AccountQuery),
    responses((status = 200, description = "The key", body = Key),
              super::shapes::ReadRefusals))]
pub async fn show(
    scope: AccountScope,
    State(api): State<Api>,
    Path(key): Path<String>,
) -> Result<Json<Key>, Problem> {
    let found = keys::find(&api.store, scope.grantor(), scope.account, id(&key)?).await;
    Ok(Json(found.map_err(refused)?.into()))
}

/// Changes a key; the next request with it is decided on the change.
///
/// A change narrows the key, or leaves it within
/// what the key of the request has. What the key of the request may do itself changes with `force` only.
#[utoipa::path(patch, path = "/v1/keys/{key}", operation_id = "change_key", tag = "keys",
    security(("apiKey" = [])),
    params(("key" = String, Path, description = "`key_…`"),
           super::shapes::AccountQuery,
           ("force" = Option<bool>, Query, description = "Change the rights of the key of the request, too")),
    request_body = super::shapes::ChangeKey,
    responses((status = 200, description = "The key as it is now", body = Key),
              super::shapes::KeyRefusals))]
pub async fn change(
    scope: Result<AccountScope, Problem>,
    State(api): State<Api>,
    Path(key): Path<String>,
    query: Result<Query<ChangeQuery>, Problem>,
    request: Request,
) -> Result<Json<Key>, Problem> {
    let scope = scope.and_then(|scope| query.map(|Query(query)| (scope, query)));
    let ((scope, query), body, _memory) =
        body::json_of(scope, |(scope, _)| scope.share_owner(), &api, request).await?;
    let id = id(&key)?;
    let mut fields = Fields::of(&body)?;
    let change = rights(&mut fields);
    let found = keys::find(&api.store, scope.grantor(), scope.account, id).await;
    for fault in change.faults(found.map_err(refused)?.mode) {
        fields.fault(fault.field(), "invalid", fault);
    }
    let warnings = fields.end()?;
    let (by, account) = (scope.grantor(), Some(scope.account));
    let changed = keys::change(&api.store, by, account, id, &change, own_key(&query)).await;
    let mut changed = Key::from(changed.map_err(refused)?);
    changed.warnings = warnings;
    Ok(Json(changed))
}

/// Switches a key off for good: the next request with it is refused.
///
/// The key of the request switches itself off with `force` only.
#[utoipa::path(post, path = "/v1/keys/{key}/deactivate", operation_id = "deactivate_key", tag = "keys",
    security(("apiKey" = [])),
    params(("key" = String, Path, description = "`key_…`"),
           super::shapes::AccountQuery,
           ("force" = Option<bool>, Query, description = "Switch the key of the request off, too")),
    responses((status = 200, description = "The key as it is now", body = Key),
              super::shapes::KeyRefusals))]
pub async fn deactivate(
    scope: AccountScope,
    State(api): State<Api>,
    Path(key): Path<String>,
    query: Result<Query<ChangeQuery>, Problem>,
) -> Result<Json<Key>, Problem> {
    let Query(query) = query?;
    let (by, account) = (scope.grantor(), Some(scope.account));
    let key = keys::deactivate(&api.store, by, account, id(&key)?, own_key(&query)).await;
    Ok(Json(key.map_err(refused)?.into()))
}

/// What a key is called and may do, as far as the body says it.
fn rights(fields: &mut Fields<'_>) -> KeyChange {
    KeyChange {
        name: fields.text("name"),
        scopes: fields.list("scopes"),
        domains: fields.list("domains"),
        templates: fields.list("templates"),
        networks: fields.list("networks"),
        expires_at: fields.or_null("expiresAt").map(|Moment(end)| end),
    }
}

fn own_key(query: &ChangeQuery) -> OwnKey {
    if query.force { OwnKey::Allowed } else { OwnKey::Refused }
}

/// What is no identifier names no key.
fn id(key: &str) -> Result<KeyId, Problem> {
    let shown: String = key.chars().take(80).collect();
    let message = format!("there is no key `{shown}`");
    key.parse().map_err(|_| Problem::new(Code::NotFound, message))
}

fn refused(error: KeyError) -> Problem {
    let conflict = |text| Problem::new(Code::Conflict, text);
    let text = error.to_string();
    match error {
        KeyError::Faults(faults) => {
            let fault = |it: KeyFault| Fault::new(it.field(), "invalid", it.to_string());
            Refusal::bad_request(faults.into_iter().map(fault).collect()).into()
        }
        KeyError::Exceeds(_) | KeyError::OperatorsOnly | KeyError::Role(_) => {
            Refusal::Forbidden { message: text, retry_after_s: None }.into()
        }
        KeyError::OwnKey
        | KeyError::OfDashboard
        | KeyError::Deactivated
        | KeyError::BeingDeleted
        | KeyError::TooMany => conflict(text),
        KeyError::Missing(_) => Problem::new(Code::NotFound, text),
        KeyError::Store(error) => store_refused(&error),
    }
}
