//! `/v1/domains`: the sender domains of an account.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Request, State};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::admin::Admin;
use super::problem::{Code, Problem};
use super::query::Query;
use super::shapes::{DeletedDomain, Domain, DomainSummary, Listing, Page};
use super::state::Api;
use super::{body, query, request_context};
use crate::domain::look_alike::LookAlikes;
use crate::domain::name::DomainName;
use crate::domain::state::DomainKind;
use crate::id::{AccountId, DomainId};
use crate::journey::accept::json::not_an_object;
use crate::journey::accept::refusal::{Fault, Outage, Refusal};
use crate::store::DomainDetails;
use crate::upkeep::verify_domains::{AccountPermit, AccountPermits, DomainError, NotAdded};

/// Domains that are read at one time where most may not be shown.
const MAX_DOMAINS_PER_READ: u32 = 500;
/// Events that are shown with a domain.
const SHOWN_EVENTS: u32 = 50;
/// Why a test key changes no domain.
const WHY_LIVE: &str = "the sender domains are those of the account's live mail";
/// How long an account waits that has too much under way.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Which domains.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    limit: Option<u32>,
    after: Option<DomainId>,
}

/// The account's domains, oldest first.
#[utoipa::path(get, path = "/v1/domains", operation_id = "list_domains", tag = "domains",
    security(("apiKey" = [])),
    params(("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = inline(Option<DomainId>), Query, description = "The last one of the page before")),
    responses((status = 200, description = "Domains", body = Listing),
              super::shapes::ReadRefusals))]
pub async fn list(
    admin: Admin,
    State(api): State<Api>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<DomainSummary>>, Problem> {
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(admin.account()).await?;
    let count = |it: u32| usize::try_from(it).unwrap_or(usize::MAX);
    let (mut found, mut after, mut size) = (Vec::new(), query.after, limit + 1);
    // A key for some domains passes over all the others, so one page may not be enough.
    while found.len() <= count(limit) {
        let page = api.store.domains(admin.account(), after, size).await?;
        let is_last = page.len() < count(size);
        after = page.last().map(|row| row.domain.id);
        found.extend(page.into_iter().filter(|row| admin.may_manage(&row.domain.name)));
        if is_last {
            break;
        }
        size = MAX_DOMAINS_PER_READ;
    }
    let rules = &api.verifier.rules;
    let has_more = found.len() > count(limit);
    found.truncate(count(limit));
    let next = found.last().filter(|_| has_more).map(|it| it.domain.id);
    Ok(Json(Page::new(found.iter().map(|row| DomainSummary::new(row, rules)), next)))
}

/// Adds a domain: makes its DKIM keys and answers every record to publish.
#[utoipa::path(post, path = "/v1/domains", operation_id = "add_domain", tag = "domains",
    security(("apiKey" = [])),
    request_body = super::shapes::AddDomain,
    responses((status = 201, description = "The domain with its records", body = Domain),
              super::shapes::ChangeRefusals))]
pub async fn add(
    admin: Result<Admin, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<(StatusCode, Json<Domain>), Problem> {
    let admin = admin.and_then(|admin| admin.must_be_live(WHY_LIVE));
    let (admin, body, _memory) =
        body::json_of(admin, |it| it.account().into(), &api, request).await?;
    let (name, kind) = wanted(&body)?;
    if !admin.may_manage(&name) {
        return Err(not_this_key(&name));
    }
    let _permit = permit(&api.verifier.permits, admin.account())?;
    let account = api.store.account(admin.account(), api.clock.now()).await?.account;
    let added = api.verifier.add(&account, name, kind, LookAlikes::Refused).await;
    let id = added.map_err(|error| refused(&error))?;
    let details = api.store.domain_details(id).await?;
    let details = details.ok_or_else(|| unknown(&id.to_string()))?;
    request_context::note_subject(&details.row.domain.name);
    let domain = view(&api, details).await?;
    let members = body.as_object().into_iter().flat_map(|it| it.keys());
    let ignored = members.filter(|it| !["name", "sandbox"].contains(&it.as_str()));
    let warnings = ignored.map(|it| format!("unknown field `{it}`")).collect();
    Ok((StatusCode::CREATED, Json(domain.with_warnings(warnings))))
}

/// One domain: its records, what was seen of them, its keys and events.
#[utoipa::path(get, path = "/v1/domains/{domain}", operation_id = "show_domain", tag = "domains",
    security(("apiKey" = [])),
    params(("domain" = String, Path, description = "`dom_…` or the name")),
    responses((status = 200, description = "The domain", body = Domain),
              super::shapes::ReadRefusals))]
pub async fn show(
    admin: Admin,
    State(api): State<Api>,
    Path(domain): Path<String>,
) -> Result<Json<Domain>, Problem> {
    let details = find(&api, &admin, &domain).await?;
    Ok(Json(view(&api, details).await?))
}

/// Looks at DNS now.
#[utoipa::path(post, path = "/v1/domains/{domain}/check", operation_id = "check_domain",
    tag = "domains", security(("apiKey" = [])),
    params(("domain" = String, Path, description = "`dom_…` or the name")),
    responses((status = 200, description = "The domain after the check", body = Domain),
              super::shapes::ChangeRefusals))]
pub async fn check(
    admin: Admin,
    State(api): State<Api>,
    Path(domain): Path<String>,
) -> Result<Json<Domain>, Problem> {
    let admin = admin.must_be_live(WHY_LIVE)?;
    let details = find(&api, &admin, &domain).await?;
    let _permit = permit(&api.verifier.permits, admin.account())?;
    let checked = api.verifier.check(details.row.domain.id).await;
    let checked = checked.map_err(|error| refused(&error.into()))?;
    let details = checked.ok_or_else(|| unknown(&domain))?;
    request_context::note_subject(&details.row.domain.name);
    Ok(Json(view(&api, details).await?))
}

/// Begins a rotation of its DKIM keys: new records to publish beside the old ones.
#[utoipa::path(post, path = "/v1/domains/{domain}/rotate", operation_id = "rotate_domain",
    tag = "domains", security(("apiKey" = [])),
    params(("domain" = String, Path, description = "`dom_…` or the name")),
    responses((status = 200, description = "The domain with the new records", body = Domain),
              super::shapes::ChangeRefusals))]
pub async fn rotate(
    admin: Admin,
    State(api): State<Api>,
    Path(domain): Path<String>,
) -> Result<Json<Domain>, Problem> {
    let admin = admin.must_be_live(WHY_LIVE)?;
    let details = find(&api, &admin, &domain).await?;
    let _permit = permit(&api.verifier.permits, admin.account())?;
    let details = api.verifier.rotate(details).await.map_err(|error| refused(&error))?;
    request_context::note_subject(&details.row.domain.name);
    Ok(Json(view(&api, details).await?))
}

/// Removes a domain and its keys. What is in the queue from it cannot be signed any more and fails.
#[utoipa::path(delete, path = "/v1/domains/{domain}", operation_id = "delete_domain", tag = "domains",
    security(("apiKey" = [])),
    params(("domain" = String, Path, description = "`dom_…` or the name")),
    responses((status = 200, description = "It is gone", body = DeletedDomain),
              super::shapes::ChangeRefusals))]
pub async fn delete(
    admin: Admin,
    State(api): State<Api>,
    Path(domain): Path<String>,
) -> Result<Json<DeletedDomain>, Problem> {
    let admin = admin.must_be_live(WHY_LIVE)?;
    let domain = find(&api, &admin, &domain).await?.row.domain;
    api.store.remove_domain(domain.id).await?;
    request_context::note_subject(&domain.name);
    Ok(Json(DeletedDomain { id: domain.id, name: domain.name, deleted: true }))
}

async fn view(api: &Api, details: DomainDetails) -> Result<Domain, Problem> {
    let events = api.store.domain_events(details.row.domain.id, SHOWN_EVENTS).await?;
    Ok(Domain::new(details, events, &api.verifier.rules))
}

/// By identifier or by name; another account's domain is not there.
async fn find(api: &Api, admin: &Admin, domain: &str) -> Result<DomainDetails, Problem> {
    let id = match domain.parse::<DomainId>() {
        Ok(id) => Some(id),
        Err(_) => match domain.parse::<DomainName>() {
            Ok(name) => {
                let row = api.store.domain_named(admin.account(), &name).await?;
                row.map(|row| row.domain.id)
            }
            Err(_) => None,
        },
    };
    let details = match id {
        Some(id) => api.store.domain_details(id).await?,
        None => None,
    };
    let details = details.filter(|it| it.row.domain.account_id == admin.account());
    let details = details.ok_or_else(|| unknown(domain))?;
    if admin.may_manage(&details.row.domain.name) {
        Ok(details)
    } else {
        Err(not_this_key(&details.row.domain.name))
    }
}

fn wanted(body: &Value) -> Result<(DomainName, DomainKind), Problem> {
    let mut faults = Vec::new();
    if !body.is_object() {
        return Err(Refusal::bad_request(vec![not_an_object("the body", body)]).into());
    }
    let name = match &body["name"] {
        Value::String(text) => text.parse::<DomainName>().map_err(|it| ("invalid", it.to_string())),
        Value::Null => Err(("missing", "is required, as in example.com".to_owned())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(("invalid", "must be a string, as in example.com".to_owned()))
        }
    };
    let kind = match &body["sandbox"] {
        Value::Null | Value::Bool(false) => Ok(DomainKind::Dns),
        Value::Bool(true) => Ok(DomainKind::Sandbox),
        Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Err(("invalid", "must be true or false".to_owned()))
        }
    };
    let mut fault = |field: &str, (code, message): (&str, String)| {
        faults.push(Fault::new(field, code, message));
    };
    let name = name.map_err(|it| fault("name", it));
    let kind = kind.map_err(|it| fault("sandbox", it));
    match (name, kind) {
        (Ok(name), Ok(kind)) => Ok((name, kind)),
        (Err(()), _) | (_, Err(())) => Err(Refusal::bad_request(faults).into()),
    }
}

/// A place among the account's checks; they are bounded, because each asks name servers.
pub fn permit(permits: &AccountPermits, account: AccountId) -> Result<AccountPermit, Problem> {
    let permit = permits.enter(account);
    permit.ok_or_else(|| Refusal::RateLimited { retry_after: RETRY_AFTER }.into())
}

pub fn refused(error: &DomainError) -> Problem {
    match error {
        DomainError::Name(_) | DomainError::NotAdded(NotAdded::LooksLikeAnother) => {
            Refusal::fault("name", "refused", error.to_string()).into()
        }
        DomainError::NotAdded(NotAdded::Exists)
        | DomainError::Sandbox
        | DomainError::RotatedTooOften
        | DomainError::Busy => Problem::new(Code::Conflict, error.to_string()),
        DomainError::NotAdded(NotAdded::TooMany(_)) => {
            Refusal::Forbidden { message: error.to_string(), retry_after_s: None }.into()
        }
        DomainError::Policy(failure) => {
            tracing::error!(%failure, "the domain policy gave no answer");
            Refusal::unavailable(Outage::Plugin, &failure.for_client()).into()
        }
        DomainError::Key(error) => Refusal::Internal { message: error.to_string() }.into(),
        DomainError::Store(error) => error.into(),
    }
}

fn not_this_key(name: &DomainName) -> Problem {
    let message = format!("the key may not manage {name}");
    Refusal::Forbidden { message, retry_after_s: None }.into()
}

fn unknown(domain: &str) -> Problem {
    let shown: String = domain.chars().take(260).collect();
    let message = format!("the account has no domain `{shown}`");
    Problem::new(Code::NotFound, message)
}
