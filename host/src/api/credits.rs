//! `/v1/credits`: what an account has, how it came to that, and grants.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::account_scope::{AccountScope, refused as store_refused};
use super::fields::Fields;
use super::operator::Operator;
use super::problem::Problem;
use super::query::Query;
use super::request_context::{self, ChangedNothing};
use super::send::{idempotency_key, mark_replayed};
use super::shapes::{Balance, Grant, LedgerPage, Page};
use super::state::Api;
use super::{body, query};
use crate::account::idempotency::Idempotency;
use crate::credit::Credits;
use crate::fair_share::ShareOwner;
use crate::id::AccountId;
use crate::journey::accept::json;
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::management::acts;
use crate::management::credits::{self, GrantError, GrantFault, GrantRequest};

/// Which entries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerQuery {
    #[expect(dead_code, reason = "read by the extractor of the account")]
    account: Option<AccountId>,
    limit: Option<u32>,
    after: Option<String>,
}

/// The balance, and how much the account has sent.
#[utoipa::path(get, path = "/v1/credits", operation_id = "show_credits", tag = "credits",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery),
    responses((status = 200, description = "The balance", body = Balance),
              super::shapes::ReadRefusals))]
pub async fn show(scope: AccountScope, State(api): State<Api>) -> Result<Json<Balance>, Problem> {
    let row = api.store.account(scope.account, api.clock.now()).await;
    Ok(Json(row.map_err(|error| store_refused(&error))?.into()))
}

/// The ledger of the account, newest first.
///
/// It takes a live key for the whole account.
#[utoipa::path(get, path = "/v1/credits/ledger", operation_id = "list_ledger", tag = "credits",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery,
           ("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = Option<String>, Query, description = "The `next` of the page before")),
    responses((status = 200, description = "Entries", body = LedgerPage),
              super::shapes::ReadRefusals))]
pub async fn ledger(
    scope: AccountScope,
    State(api): State<Api>,
    query: Result<Query<LedgerQuery>, Problem>,
) -> Result<Json<LedgerPage>, Problem> {
    let scope = scope.for_all_of_it("the ledger")?;
    let Query(query) = query?;
    let limit = query::limit(query.limit)?;
    let cursor = Cursor::of(&api, scope.account);
    let first = query.after.map(|text| cursor.read(&text)).transpose()?;
    let _page = api.lists.admit(scope.share_owner()).await?;
    let mut rows = api.store.ledger_from(scope.account, first, limit + 1).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let next = rows.get(limit).map(|row| cursor.tell(row.number));
    rows.truncate(limit);
    Ok(Json(Page::new(&rows, next)))
}

/// Grants credits to an account.
///
/// An Idempotency-Key belongs to the account that is credited; sends have their own.
#[utoipa::path(post, path = "/v1/credits/grants", operation_id = "grant_credits", tag = "credits",
    security(("apiKey" = [])), params(super::shapes::IdempotencyKey),
    request_body = super::shapes::CreateGrant,
    responses((status = 201, description = "The balance after the grant", body = Grant),
              super::shapes::GrantRefusals))]
pub async fn grant(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, content) = request.into_parts();
    let key = idempotency_key(&parts);
    let request = Request::from_parts(parts, content);
    let (_, body, _memory) =
        body::json_of(operator, |_| ShareOwner::Operator, &api, request).await?;
    let key = key?;
    let mut fields = Fields::of(&body)?;
    let account = fields.required::<AccountId>("accountId");
    let amount = fields.number("amount").unwrap_or_default();
    let reason = fields.text("reason").unwrap_or_else(|| credits::NO_REASON.to_owned());
    for fault in credits::faults(amount, &reason) {
        fields.fault(fault.field(), "invalid", fault);
    }
    let warnings = fields.end()?;
    // Without a fault there is one.
    let Some(account) = account else {
        return Err(Refusal::fault("accountId", "missing", "must be given").into());
    };
    let body_hash = Sha256::digest(json::canonical(&body)).into();
    let idempotency = key.map(|key| Idempotency { key, body_hash });
    let request = GrantRequest { account, amount, reason, idempotency };
    let receipt = credits::grant(&api.store, request, api.clock.now()).await.map_err(refused)?;
    let mut grant = Grant::new(account, Credits(amount), receipt.balance);
    grant.warnings = warnings;
    let mut response = (StatusCode::CREATED, Json(grant)).into_response();
    if receipt.is_replayed {
        mark_replayed(&mut response);
        response.extensions_mut().insert(ChangedNothing);
    } else {
        request_context::note_act(acts::granted(account, Credits(amount)));
    }
    Ok(response)
}

/// Where a page of a ledger goes on. The number of an entry is sealed in it: it would tell each account how much the
/// whole server sends.
pub struct Cursor<'a> {
    api: &'a Api,
    identity: String,
}

impl<'a> Cursor<'a> {
    pub fn of(api: &'a Api, account: AccountId) -> Self {
        Self { api, identity: format!("ledger {account}") }
    }

    pub fn tell(&self, number: i64) -> String {
        URL_SAFE_NO_PAD.encode(self.api.seal.seal(&self.identity, &number.to_be_bytes()))
    }

    pub fn read(&self, text: &str) -> Result<i64, Refusal> {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok();
        let opened = sealed.and_then(|it| self.api.seal.open(&self.identity, &it).ok());
        let number = opened.and_then(|it| it.try_into().ok()).map(i64::from_be_bytes);
        let wanted = "must be the `next` of a page of this ledger";
        number.ok_or_else(|| Refusal::fault("after", "invalid", wanted))
    }
}

fn refused(error: GrantError) -> Problem {
    match error {
        GrantError::Faults(faults) => {
            let fault = |it: GrantFault| Fault::new(it.field(), "invalid", it.to_string());
            Refusal::bad_request(faults.into_iter().map(fault).collect()).into()
        }
        GrantError::Conflict => Refusal::IdempotencyConflict.into(),
        GrantError::Store(error) => store_refused(&error),
    }
}
