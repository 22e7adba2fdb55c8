//! `/v1/accounts` for the operator of the server, `/v1/account` for the holder of an account.

use axum::Json;
use axum::extract::{Path, Request, State};
use http::StatusCode;
use serde::Deserialize;

use super::account_scope::{for_the_whole, refused as store_refused};
use super::admin::Admin;
use super::fields::Fields;
use super::operator::Operator;
use super::problem::{Code, Problem};
use super::query::Query;
use super::shapes::{Account, AccountPage, Page};
use super::state::Api;
use super::{body, query, request_context};
use crate::account::AccountState;
use crate::account::brand::BrandChanges;
use crate::account::plan::Plan;
use crate::fair_share::ShareOwner;
use crate::id::AccountId;
use crate::journey::accept::refusal::Refusal;
use crate::management::Change;
use crate::management::accounts::{self, AccountChange, AccountError, NewAccount, PlanChoice};
use crate::management::{acts, plans};
use crate::message::address::EmailAddress;
use crate::store::{AccountRow, SentLately};

/// Which accounts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    limit: Option<u32>,
    after: Option<AccountId>,
}

/// All accounts, oldest first.
#[utoipa::path(get, path = "/v1/accounts", operation_id = "list_accounts", tag = "accounts",
    security(("apiKey" = [])),
    params(("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = inline(Option<AccountId>), Query, description = "The last one of the page before")),
    responses((status = 200, description = "Accounts", body = AccountPage),
              super::shapes::OperatorReadRefusals))]
pub async fn list(
    _: Operator,
    State(api): State<Api>,
    query: Result<Query<ListQuery>, Problem>,
) -> Result<Json<AccountPage>, Problem> {
    let Query(query) = query?;
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let mut rows = api.store.accounts_after(query.after, limit + 1, api.clock.now()).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|it| it.account.id);
    let found = accounts::with_sent_lately(&api.store, rows, api.clock.now()).await?;
    Ok(Json(Page::new(found.into_iter().map(|(row, sent)| Account::new(row, sent)), next)))
}

/// Opens an account with a balance of 0.
///
/// Credits, a sender domain, templates and a key make it send.
#[utoipa::path(post, path = "/v1/accounts", operation_id = "create_account", tag = "accounts",
    security(("apiKey" = [])),
    request_body = super::shapes::CreateAccount,
    responses((status = 201, description = "The account", body = Account),
              super::shapes::KeyRefusals))]
pub async fn create(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<(StatusCode, Json<Account>), Problem> {
    let (_, body, _memory) =
        body::json_of(operator, |_| ShareOwner::Operator, &api, request).await?;
    let mut fields = Fields::of(&body)?;
    let name = fields.required::<String>("name");
    let plan = plan(&mut fields).unwrap_or_else(|| PlanChoice::Known(Plan::named("free")));
    let sender = fields.parsed::<EmailAddress>("sender");
    let strict = fields.flag("strict").unwrap_or_default();
    let new = NewAccount { name: name.unwrap_or_default(), plan, sender, strict };
    let named = plans::names_of_server(&api.plugins);
    check(&mut fields, Some(&new.name), Some(&new.plan), (&api, &named)).await?;
    let warnings = fields.end()?;
    let (brand, now) = (BrandChanges::default(), api.clock.now());
    let row = accounts::create(&api.store, new, &brand, &named, now).await;
    let row = row.map_err(|error| refused(&error))?;
    let mut account = Account::new(row, SentLately::default());
    account.warnings = warnings;
    Ok((StatusCode::CREATED, Json(account)))
}

/// One account.
#[utoipa::path(get, path = "/v1/accounts/{account}", operation_id = "show_account", tag = "accounts",
    security(("apiKey" = [])),
    params(("account" = String, Path, description = "`acc_…`")),
    responses((status = 200, description = "The account", body = Account),
              super::shapes::OperatorReadRefusals))]
pub async fn show(
    _: Operator,
    State(api): State<Api>,
    Path(account): Path<String>,
) -> Result<Json<Account>, Problem> {
    Ok(Json(shown(&api, id(&account)?).await?))
}

/// Changes an account; its next request is decided on the change.
#[utoipa::path(patch, path = "/v1/accounts/{account}", operation_id = "change_account", tag = "accounts",
    security(("apiKey" = [])),
    params(("account" = String, Path, description = "`acc_…`")),
    request_body = super::shapes::ChangeAccount,
    responses((status = 200, description = "The account as it is now", body = Account),
              super::shapes::KeyRefusals))]
pub async fn change(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    Path(account): Path<String>,
    request: Request,
) -> Result<Json<Account>, Problem> {
    let (operator, body, _memory) =
        body::json_of(operator, |_| ShareOwner::Operator, &api, request).await?;
    let id = id(&account)?;
    let mut fields = Fields::of(&body)?;
    let change = AccountChange {
        name: fields.text("name"),
        plan: plan(&mut fields),
        state: fields.parsed::<AccountState>("state"),
        sender: fields.or_null("sender"),
        strict: fields.flag("strict"),
        credits_low: fields.number_or_null("creditsLow"),
    };
    let named = plans::names_of_server(&api.plugins);
    check(&mut fields, change.name.as_deref(), change.plan.as_ref(), (&api, &named)).await?;
    let caller = operator.key().map(|key| key.account_id);
    changed(&api, fields, (caller, id), change, &named).await
}

/// Deletes a suspended account with all that is its own; nobody can undo it.
///
/// From the answer on nothing of the account is sent, shown or changed. What waits in its queue is canceled and refunded,
/// and all of its rows are removed in the background, also over a restart. `GET` shows the account in the state
/// `deleting` until it is gone, and is then 404. An active account is 409: suspend it first.
#[utoipa::path(delete, path = "/v1/accounts/{account}", operation_id = "delete_account", tag = "accounts",
    security(("apiKey" = [])),
    params(("account" = String, Path, description = "`acc_…`")),
    responses((status = 202, description = "The account, which is being deleted", body = Account),
              super::shapes::DeletionRefusals))]
pub async fn delete(
    _: Operator,
    State(api): State<Api>,
    Path(account): Path<String>,
) -> Result<(StatusCode, Json<Account>), Problem> {
    let row = accounts::delete(&api.store, id(&account)?, api.clock.now()).await;
    let row = row.map_err(|error| refused(&error))?;
    Ok((StatusCode::ACCEPTED, Json(with_sent_lately(&api, row).await?)))
}

/// The account of the key.
#[utoipa::path(get, path = "/v1/account", operation_id = "show_own_account", tag = "accounts",
    security(("apiKey" = [])),
    responses((status = 200, description = "The account", body = Account),
              super::shapes::ReadRefusals))]
pub async fn show_own(admin: Admin, State(api): State<Api>) -> Result<Json<Account>, Problem> {
    Ok(Json(shown(&api, admin.account()).await?))
}

/// Changes what the holder of an account may change; its plan and its state are the operator's.
///
/// It takes a live key for the whole account.
#[utoipa::path(patch, path = "/v1/account", operation_id = "change_own_account", tag = "accounts",
    security(("apiKey" = [])),
    request_body = super::shapes::ChangeOwnAccount,
    responses((status = 200, description = "The account as it is now", body = Account),
              super::shapes::KeyRefusals))]
pub async fn change_own(
    admin: Result<Admin, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<Json<Account>, Problem> {
    let admin = admin.and_then(|admin| for_the_whole(admin, "the account"));
    let (admin, body, _memory) =
        body::json_of(admin, |it| it.account().into(), &api, request).await?;
    let mut fields = Fields::of(&body)?;
    let change = AccountChange {
        name: fields.text("name"),
        sender: fields.or_null::<EmailAddress>("sender"),
        strict: fields.flag("strict"),
        credits_low: fields.number_or_null("creditsLow"),
        ..AccountChange::default()
    };
    check(&mut fields, change.name.as_deref(), None, (&api, &[])).await?;
    if let Change::Set(sender) = &change.sender {
        let checked = accounts::check_sender(&api.store, admin.account(), sender).await;
        take_fault(&mut fields, checked)?;
    }
    for operators in ["plan", "ownPlan", "state"] {
        if !body[operators].is_null() {
            fields.fault(operators, "forbidden", "is changed by the operator of the server only");
        }
    }
    changed(&api, fields, (None, admin.account()), change, &[]).await
}

async fn changed(
    api: &Api,
    fields: Fields<'_>,
    (caller, id): (Option<AccountId>, AccountId),
    change: AccountChange,
    named: &[String],
) -> Result<Json<Account>, Problem> {
    let warnings = fields.end()?;
    let act = acts::account_changed(id, &change);
    let row = accounts::change(&api.store, caller, id, change, named, api.clock.now()).await;
    let row = row.map_err(|error| refused(&error))?;
    request_context::note_act(act);
    let mut account = with_sent_lately(api, row).await?;
    account.warnings = warnings;
    Ok(Json(account))
}

async fn shown(api: &Api, id: AccountId) -> Result<Account, Problem> {
    let row = api.store.account(id, api.clock.now()).await;
    with_sent_lately(api, row.map_err(|error| store_refused(&error))?).await
}

async fn with_sent_lately(api: &Api, row: AccountRow) -> Result<Account, Problem> {
    let id = row.account.id;
    let sent = api.store.sent_lately(&[id], api.clock.now()).await?;
    Ok(Account::new(row, sent.get(&id).copied().unwrap_or_default()))
}

fn plan(fields: &mut Fields<'_>) -> Option<PlanChoice> {
    let is_own = fields.flag("ownPlan").unwrap_or_default();
    let plan = fields.parsed::<Plan>("plan")?;
    Some(if is_own { PlanChoice::Own(plan) } else { PlanChoice::Known(plan) })
}

/// Beside the faults of the types: a name or a plan that cannot be.
async fn check(
    fields: &mut Fields<'_>,
    name: Option<&str>,
    plan: Option<&PlanChoice>,
    (api, named): (&Api, &[String]),
) -> Result<(), Problem> {
    if let Some(name) = name {
        take_fault(fields, accounts::check_name(name))?;
    }
    if let Some(plan) = plan {
        take_fault(fields, plan.check(Some(&api.store), named).await)?;
    }
    Ok(())
}

fn take_fault(fields: &mut Fields<'_>, checked: Result<(), AccountError>) -> Result<(), Problem> {
    let Err(error) = checked else { return Ok(()) };
    let Some(field) = field(&error) else { return Err(refused(&error)) };
    fields.fault(field, "invalid", words(&error));
    Ok(())
}

fn field(error: &AccountError) -> Option<&'static str> {
    match error {
        AccountError::Name => Some("name"),
        AccountError::UnknownPlan { .. } => Some("plan"),
        AccountError::SenderNotVerified(_) => Some("sender"),
        AccountError::CreditsLow => Some("creditsLow"),
        AccountError::OwnAccount
        | AccountError::NotSuspended
        | AccountError::BeingDeleted
        | AccountError::Store(_) => None,
    }
}

fn words(error: &AccountError) -> String {
    match error {
        AccountError::UnknownPlan { .. } => {
            format!(
                "{error}; if your own plan policy has a plan of this name, give `ownPlan`: true"
            )
        }
        AccountError::Name
        | AccountError::CreditsLow
        | AccountError::SenderNotVerified(_)
        | AccountError::OwnAccount
        | AccountError::NotSuspended
        | AccountError::BeingDeleted
        | AccountError::Store(_) => error.to_string(),
    }
}

fn refused(error: &AccountError) -> Problem {
    match (error, field(error)) {
        (AccountError::Store(error), _) => store_refused(error),
        (AccountError::OwnAccount | AccountError::NotSuspended | AccountError::BeingDeleted, _) => {
            Problem::new(Code::Conflict, error.to_string())
        }
        (_, field) => Refusal::fault(field.unwrap_or_default(), "invalid", words(error)).into(),
    }
}

/// What is no identifier names no account.
fn id(account: &str) -> Result<AccountId, Problem> {
    let shown: String = account.chars().take(80).collect();
    let message = format!("there is no account `{shown}`");
    account.parse().map_err(|_| Problem::new(Code::NotFound, message))
}
