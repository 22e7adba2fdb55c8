//! `/v1/brand`: what the templates of an account are offered as defaults.

use axum::Json;
use axum::extract::{Request, State};
use serde_json::Value;

use super::account_scope::{AccountScope, refused as store_refused};
use super::problem::Problem;
use super::shapes::Brand;
use super::state::Api;
use super::{body, request_context};
use crate::account::brand::{BrandChanges, BrandField};
use crate::authoring;
use crate::journey::accept::json::not_an_object;
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::management;

/// The account's brand.
#[utoipa::path(get, path = "/v1/brand", operation_id = "show_brand", tag = "brand",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery),
    responses((status = 200, description = "The brand", body = Brand),
              super::shapes::ReadRefusals))]
pub async fn show(scope: AccountScope, State(api): State<Api>) -> Result<Json<Brand>, Problem> {
    let row = api.store.account(scope.account, api.clock.now()).await;
    Ok(Json(Brand::from(&row.map_err(|error| store_refused(&error))?.account.brand)))
}

/// Changes the account's brand: fields left out keep their value, and null clears a value. The next
/// send is rendered with the new values.
#[utoipa::path(patch, path = "/v1/brand", operation_id = "change_brand", tag = "brand",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery),
    request_body = super::shapes::ChangeBrand,
    responses((status = 200, description = "The brand as it is now", body = Brand),
              super::shapes::BrandRefusals))]
pub async fn change(
    scope: Result<AccountScope, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<Json<Brand>, Problem> {
    // It stands in the mail of every template.
    let scope = scope.and_then(|scope| scope.for_all_of_it("the brand"));
    let (scope, body, _memory) =
        body::json_of(scope, AccountScope::share_owner, &api, request).await?;
    let (changes, warnings) = changes(&body)?;
    let (store, now) = (&api.store, api.clock.now());
    let done = management::brand::change(store, scope.account, &changes, now).await;
    let (kept, act) = done.map_err(|error| store_refused(&error))?;
    request_context::note_act(act);
    let mut brand = Brand::from(&kept);
    brand.warnings = warnings;
    brand.warnings.extend(authoring::brand::warnings(&kept));
    Ok(Json(brand))
}

/// All faults at once, or the changes with what of the request meant nothing.
fn changes(body: &Value) -> Result<(BrandChanges, Vec<String>), Refusal> {
    let Value::Object(members) = body else {
        return Err(Refusal::bad_request(vec![not_an_object("a change of the brand", body)]));
    };
    let mut changes = BrandChanges::default();
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    for (name, value) in members {
        let Some(field) = BrandField::of_member(name) else {
            match BrandField::of_variable(name) {
                // Templates call it so, and whoever writes that means it.
                Some(meant) => {
                    let message = format!("is called `{}` here", meant.member());
                    faults.push(Fault::new(name, "unknown", message));
                }
                None => warnings.push(format!("unknown field `{name}`")),
            }
            continue;
        };
        let set = match value {
            Value::Null => changes.set(field, None),
            Value::String(text) => changes.set(field, Some(text)),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                faults.push(Fault::new(name, "type", "must be a string, or null to clear it"));
                continue;
            }
        };
        if let Err(error) = set {
            faults.push(Fault::new(name, "invalid", error.to_string()));
        }
    }
    if faults.is_empty() { Ok((changes, warnings)) } else { Err(Refusal::bad_request(faults)) }
}
