//! `/v1/suppressions`: the addresses that an account sends nothing more to.

pub mod parse;

use axum::extract::{Path, Request, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use super::admin::Admin;
use super::fields::Fields;
use super::problem::{Code, Problem};
use super::query::{Faults, Query};
use super::request_context::{self, ChangedNothing};
use super::shapes::{
    DeletedSuppression, Page, Suppression, SuppressionPage, SuppressionResult, SuppressionResults,
};
use super::state::Api;
use super::{body, query};
use crate::id::AccountId;
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::management::acts;
use crate::management::suppressions::{opened, sealed};
use crate::message::address::EmailAddress;
use crate::store::Suppressed;
use crate::store::records::{NewSuppression, SuppressionKind};
use parse::{FIELDS, items, wanted};

/// Which addresses.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Items of a page, at most 500. Default: 50.
    #[param(inline, value_type = Option<super::shapes::Limit>)]
    limit: Option<u32>,
    /// Those behind this address: the last one of the page before, or its `next`.
    after: Option<String>,
    /// Those of one kind.
    #[param(inline, value_type = Option<super::shapes::SuppressionKind>)]
    kind: Option<String>,
    /// This one only; letter case does not matter.
    #[param(format = "email")]
    address: Option<String>,
}

/// The account's suppression list, in the order of the addresses.
#[utoipa::path(get, path = "/v1/suppressions", operation_id = "list_suppressions",
    tag = "suppressions", security(("apiKey" = [])), params(ListQuery),
    responses((status = 200, description = "Addresses", body = SuppressionPage),
              super::shapes::ReadRefusals))]
pub async fn list(
    admin: Admin,
    State(api): State<Api>,
    query: Result<Query<ListQuery>, Problem>,
) -> Result<Json<SuppressionPage>, Problem> {
    let account = account(admin)?;
    let Query(query) = query?;
    let mut faults = Faults::default();
    let kind = faults.read("kind", query.kind.as_deref(), kind);
    let address = faults.read("address", query.address.as_deref(), str::parse::<EmailAddress>);
    let Faults(faults) = faults;
    if !faults.is_empty() {
        return Err(Refusal::bad_request(faults).into());
    }
    let now = api.clock.now();
    if let Some(address) = address {
        let found = api.store.suppression(account, &address.folded(), now).await?;
        let found = found.filter(|it| kind.is_none_or(|kind| it.kind == kind));
        return Ok(Json(Page::whole(found)));
    }
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(account).await?;
    let page = api.store.suppressions(account, kind, query.after.as_deref(), limit, now).await?;
    Ok(Json(Page::new(page.suppressions, page.next)))
}

/// Puts an address on the list. An existing entry that is stronger, such as a complaint or an
/// entry without an end, stays; the answer shows the entry that holds now.
#[utoipa::path(post, path = "/v1/suppressions", operation_id = "add_suppression",
    tag = "suppressions", security(("apiKey" = [])),
    request_body = super::shapes::NewSuppression,
    responses((status = 200, description = "It was there before", body = Suppression),
              (status = 201, description = "It is there now", body = Suppression),
              super::shapes::ChangeRefusals))]
pub async fn add(
    admin: Result<Admin, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<(StatusCode, Json<Suppression>), Problem> {
    let (account, body, _memory) = accepted(admin, &api, request).await?;
    let now = api.clock.now();
    let new = wanted(account, &body, now).map_err(Refusal::bad_request)?;
    let act = acts::suppressed(account, std::slice::from_ref(&new.address));
    let added = api.store.suppress_all(&[new], now).await?;
    request_context::note_act(act);
    let added = added.into_iter().next().ok_or_else(unanswered)?;
    let status = if added.before { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(with_warnings(added, &body))))
}

/// Puts up to 1,000 addresses on the list: one result for each, in the same order. Those that are wrong
/// do not hold up the others.
#[utoipa::path(post, path = "/v1/suppressions/batch", operation_id = "add_suppressions",
    tag = "suppressions", security(("apiKey" = [])),
    request_body = super::shapes::NewSuppressions,
    responses((status = 200, description = "One result for each address, in order", body = SuppressionResults),
              super::shapes::ChangeRefusals))]
pub async fn add_batch(
    admin: Result<Admin, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<(Option<Extension<ChangedNothing>>, Json<SuppressionResults>), Problem> {
    let (account, body, _memory) = accepted(admin, &api, request).await?;
    let items = items(&body)?;
    let now = api.clock.now();
    let wanted: Vec<Result<NewSuppression, Vec<Fault>>> =
        items.iter().map(|item| wanted(account, item, now)).collect();
    let new: Vec<NewSuppression> =
        wanted.iter().filter_map(|it| it.as_ref().ok()).cloned().collect();
    let added = api.store.suppress_all(&new, now).await?;
    let addresses: Vec<String> = new.iter().map(|it| it.address.clone()).collect();
    let changed = if addresses.is_empty() {
        Some(Extension(ChangedNothing))
    } else {
        request_context::note_act(acts::suppressed(account, &addresses));
        None
    };
    let success = new.len() == items.len();
    let mut added = added.into_iter();
    let results = wanted.into_iter().zip(items).map(|(wanted, item)| match wanted {
        Ok(_) => {
            let added = added.next().ok_or_else(unanswered)?;
            Ok(SuppressionResult::Suppressed(Box::new(with_warnings(added, item))))
        }
        Err(faults) => {
            let problem = Problem::from(Refusal::bad_request(faults));
            Ok(SuppressionResult::Refused(Box::new(problem.body())))
        }
    });
    let data = results.collect::<Result<_, Problem>>()?;
    Ok((changed, Json(SuppressionResults { success, data })))
}

/// One address of the list.
#[utoipa::path(get, path = "/v1/suppressions/{address}", operation_id = "show_suppression",
    tag = "suppressions", security(("apiKey" = [])),
    params(("address" = String, Path, description = "The address; letter case does not matter")),
    responses((status = 200, description = "The address", body = Suppression),
              super::shapes::ReadRefusals))]
pub async fn show(
    admin: Admin,
    State(api): State<Api>,
    Path(address): Path<String>,
) -> Result<Json<Suppression>, Problem> {
    let account = account(admin)?;
    let found = api.store.suppression(account, &folded(&address), api.clock.now()).await?;
    Ok(Json(found.ok_or_else(|| unknown(&address))?.into()))
}

/// Takes an address off the list: the next message to it is sent.
#[utoipa::path(delete, path = "/v1/suppressions/{address}", operation_id = "delete_suppression",
    tag = "suppressions", security(("apiKey" = [])),
    params(("address" = String, Path, description = "The address; letter case does not matter")),
    responses((status = 200, description = "It is off the list", body = DeletedSuppression),
              super::shapes::ReadRefusals))]
pub async fn delete(
    admin: Admin,
    State(api): State<Api>,
    Path(address): Path<String>,
) -> Result<Json<DeletedSuppression>, Problem> {
    let account = account(admin)?;
    let (folded, now) = (folded(&address), api.clock.now());
    let found = api.store.suppression(account, &folded, now).await?;
    if !api.store.unsuppress(account, &folded, now).await? {
        return Err(unknown(&address));
    }
    let undo = found.map(|it| sealed(&api.seal, account, vec![it]));
    request_context::note_act(acts::unsuppressed(account, &folded));
    Ok(Json(DeletedSuppression { address: folded, deleted: true, undo }))
}

/// Puts back what was taken off the list, as it was: with its kind, its reason and its end.
///
/// An entry that was made meanwhile and is stronger stays, as when an address is added.
#[utoipa::path(post, path = "/v1/suppressions/restore", operation_id = "restore_suppressions",
    tag = "suppressions", security(("apiKey" = [])),
    request_body = super::shapes::RestoreSuppressions,
    responses((status = 200, description = "The entries as they stand on the list", body = SuppressionPage),
              super::shapes::ChangeRefusals))]
pub async fn restore(
    admin: Result<Admin, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<Json<SuppressionPage>, Problem> {
    let (account, body, _memory) = accepted(admin, &api, request).await?;
    let mut fields = Fields::of(&body)?;
    let undo = fields.required::<String>("undo");
    let removed = undo.and_then(|undo| opened(&api.seal, account, &undo));
    if removed.is_none() {
        fields.fault("undo", "invalid", "is not the `undo` of a removal from this account's list");
    }
    fields.end()?;
    let restored = removed.unwrap_or_default();
    let addresses: Vec<String> = restored.iter().map(|it| it.address.clone()).collect();
    let restored = api.store.suppress_all(&restored, api.clock.now()).await?;
    request_context::note_act(acts::suppressions_restored(account, &addresses));
    Ok(Json(Page::whole(restored.into_iter().map(|it| it.row))))
}

/// The list is that of the whole account: a key for some of it may neither read nor change it.
fn account(admin: Admin) -> Result<AccountId, Problem> {
    let admin = admin.must_be_live("the suppression list is that of the account's live mail")?;
    if admin.is_for_all() {
        return Ok(admin.account());
    }
    let message = "the key is for some domains or templates only, and suppressions hold for all";
    Err(Refusal::Forbidden { message: message.to_owned(), retry_after_s: None }.into())
}

async fn accepted(
    admin: Result<Admin, Problem>,
    api: &Api,
    request: Request,
) -> Result<(AccountId, Value, body::Memory), Problem> {
    let account = admin.and_then(account);
    body::json_of(account, |it| (*it).into(), api, request).await
}

fn with_warnings(added: Suppressed, asked: &Value) -> Suppression {
    let members = asked.as_object().into_iter().flat_map(|it| it.keys());
    let ignored = members.filter(|it| !FIELDS.contains(&it.as_str()));
    let warnings = ignored
        .take(50)
        .map(|it| format!("the field `{}` is unknown and was ignored", shown(it)))
        .collect();
    let mut answer = Suppression::from(added.row);
    answer.warnings = warnings;
    answer
}

fn unanswered() -> Problem {
    Refusal::Internal { message: "the address has no answer".to_owned() }.into()
}

fn kind(text: &str) -> Result<SuppressionKind, &'static str> {
    SuppressionKind::from_name(text).ok_or("must be bounce, complaint or manual")
}

/// As it stands on the list; what is no address is on no list.
fn folded(address: &str) -> String {
    address.parse::<EmailAddress>().map_or_else(|_| address.to_owned(), |it| it.folded())
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(260).collect()
}

fn unknown(address: &str) -> Problem {
    let message = format!("the account's suppression list does not have `{}`", shown(address));
    Problem::new(Code::NotFound, message)
}
