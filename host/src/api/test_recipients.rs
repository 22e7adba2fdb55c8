//! `/v1/test-recipients`: the addresses that tests of templates really go to.

use axum::extract::{Path, Request, State};
use axum::{Extension, Json};
use http::StatusCode;

use super::admin::{Admin, authenticated};
use super::body;
use super::fields::Fields;
use super::problem::Problem;
use super::request_context::{self, ChangedNothing};
use super::shapes::{DeletedTestRecipient, Page, TestRecipient, TestRecipientList};
use super::state::Api;
use super::templates::contract::reached_at;
use super::templates::refused::refused;
use crate::account::key::Scope;
use crate::authoring::test_recipients::AskedRecipient;
use crate::journey::accept::refusal::Refusal;
use crate::message::address::EmailAddress;

/// The account's test recipients, in the order of the addresses.
#[utoipa::path(get, path = "/v1/test-recipients", operation_id = "list_test_recipients", tag = "templates",
    security(("apiKey" = [])),
    responses((status = 200, description = "Addresses", body = TestRecipientList),
              super::shapes::AuthorReadRefusals))]
pub async fn list(
    State(api): State<Api>,
    request: Request,
) -> Result<Json<TestRecipientList>, Problem> {
    let ip = request_context::ip(request.extensions());
    let caller = authenticated(request.headers(), ip, &api, Scope::Templates).await?;
    let rows = api.authoring.test_recipients(caller.key.account_id).await.map_err(refused)?;
    Ok(Json(Page::whole(rows)))
}

/// Puts an address on the list, and asks its holder by a mail from the account's sender, which is charged as any other
/// send. Once the holder has opened its link, within 24 hours, and pressed the button there, tests go to the address. An
/// address that is not confirmed yet is asked again.
#[utoipa::path(post, path = "/v1/test-recipients", operation_id = "add_test_recipient", tag = "templates",
    security(("apiKey" = [])),
    request_body = super::shapes::NewTestRecipient,
    responses((status = 200, description = "It is confirmed already", body = TestRecipient),
              (status = 201, description = "A mail was sent to it", body = TestRecipient),
              super::shapes::TestRecipientRefusals))]
pub async fn add(
    admin: Result<Admin, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<(StatusCode, Option<Extension<ChangedNothing>>, Json<TestRecipient>), Problem> {
    // Where no name is configured, the link in the mail leads to this server as the client has reached it.
    let server = api.people_url.clone().unwrap_or_else(|| reached_at(&api, request.headers()).http);
    let admin = admin.and_then(may_change);
    let (admin, body, _memory) =
        body::json_of(admin, |it| it.account().into(), &api, request).await?;
    let mut fields = Fields::of(&body)?;
    let address = fields.required::<EmailAddress>("address");
    let warnings = fields.end()?;
    let address = address.ok_or_else(|| Refusal::fault("address", "missing", "must be given"))?;
    let caller = admin.caller();
    api.journey
        .accept
        .take_sends(caller, std::num::NonZeroU32::MIN)
        .map_err(|(refusal, _)| refusal)?;
    let id = request_context::current();
    let asked = api.authoring.ask_test_recipient(&api.journey, (caller, id), address, &server);
    let AskedRecipient { row, mail } = asked.await.map_err(refused)?;
    let (status, unchanged) = match mail {
        Some(_) => (StatusCode::CREATED, None),
        // Who is confirmed already is asked nothing.
        None => (StatusCode::OK, Some(Extension(ChangedNothing))),
    };
    request_context::note_subject(&row.address);
    Ok((status, unchanged, Json(TestRecipient::asked(row, mail, warnings))))
}

/// Takes an address off the list: tests to it go into the sandbox inbox, and links in earlier mails end.
#[utoipa::path(delete, path = "/v1/test-recipients/{address}", operation_id = "delete_test_recipient",
    tag = "templates", security(("apiKey" = [])),
    params(("address" = String, Path, description = "The address; letter case does not matter")),
    responses((status = 200, description = "It is off the list", body = DeletedTestRecipient),
              super::shapes::ReadRefusals))]
pub async fn delete(
    admin: Admin,
    State(api): State<Api>,
    Path(address): Path<String>,
) -> Result<Json<DeletedTestRecipient>, Problem> {
    let admin = may_change(admin)?;
    let address = address.to_lowercase();
    let removed = api.authoring.remove_test_recipient(admin.account(), &address).await;
    removed.map_err(refused)?;
    request_context::note_subject(&address);
    Ok(Json(DeletedTestRecipient { address, deleted: true }))
}

/// Tests of all templates go to the list, from every domain.
fn may_change(admin: Admin) -> Result<Admin, Problem> {
    let admin = admin.must_be_live("a test recipient gets mail that is really sent")?;
    if admin.is_for_all() {
        return Ok(admin);
    }
    let message = "the key is for some domains or templates only, and test recipients are those of the whole account";
    Err(Refusal::Forbidden { message: message.to_owned(), retry_after_s: None }.into())
}
