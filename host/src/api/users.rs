//! `/v1/users`: the people who use the dashboard. What `waxwing user` does, for the operator of the server.

use axum::Json;
use axum::extract::{Path, Request, State};
use http::StatusCode;
use serde::Deserialize;

use super::fields::Fields;
use super::operator::Operator;
use super::problem::{Code, Problem};
use super::query::Query;
use super::shapes::{DeletedUser, Page, User, UserLink, UserPage};
use super::state::Api;
use super::{account_scope, body, query, request_context};
use crate::account::role::Role;
use crate::fair_share::ShareOwner;
use crate::id::{AccountId, UserId};
use crate::management::acts;
use crate::message::address::EmailAddress;
use crate::people::{MemberError, NewMember, Secret, link_path};
use crate::store::{LinkPurpose, PersonRow};

/// Which users.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    limit: Option<u32>,
    after: Option<UserId>,
}

/// All users with their roles, oldest first.
#[utoipa::path(get, path = "/v1/users", operation_id = "list_users", tag = "users",
    security(("apiKey" = [])),
    params(("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = inline(Option<UserId>), Query, description = "The last one of the page before")),
    responses((status = 200, description = "Users", body = UserPage),
              super::shapes::OperatorReadRefusals))]
pub async fn list(
    _: Operator,
    State(api): State<Api>,
    query: Result<Query<ListQuery>, Problem>,
) -> Result<Json<UserPage>, Problem> {
    let Query(query) = query?;
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let mut rows = api.store.users_after(query.after, limit + 1).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|it| it.id);
    let mut users = Vec::with_capacity(rows.len());
    for row in rows {
        users.push(user(&api, &row).await?);
    }
    Ok(Json(Page::new(users, next)))
}

/// Invites somebody: adds a user without a password, and a link with which the user chooses one.
///
/// The link works once, for 7 days, and is told this once; the server sends no e-mail with it.
#[utoipa::path(post, path = "/v1/users", operation_id = "invite_user", tag = "users",
    security(("apiKey" = [])),
    request_body = super::shapes::InviteUser,
    responses((status = 201, description = "The user with the link", body = UserLink),
              super::shapes::UserRefusals))]
pub async fn invite(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<(StatusCode, Json<UserLink>), Problem> {
    let (_, body, _memory) =
        body::json_of(operator, |_| ShareOwner::Operator, &api, request).await?;
    let mut fields = Fields::of(&body)?;
    let email = fields.required::<EmailAddress>("email");
    let (account, role) = (fields.parsed::<AccountId>("account"), fields.parsed::<Role>("role"));
    let is_operator = fields.flag("operator").unwrap_or_default();
    if body["account"].is_null() && !is_operator {
        fields.fault("account", "missing", "must be given for a user who is no operator");
    }
    if body["role"].is_null() != body["account"].is_null() {
        let missing = if body["role"].is_null() { "role" } else { "account" };
        fields.fault(missing, "missing", "must be given: an account and a role go together");
    }
    let warnings = fields.end()?;
    // Without it the fields have a fault.
    let Some(email) = email else { return Err(missing("the e-mail address".to_owned())) };
    let new = NewMember { email, membership: account.zip(role), is_operator };
    let act = new.act();
    let (id, link) = api.people.invite(new).await.map_err(refused)?;
    request_context::note_act(act);
    let row = found(&api, id).await?;
    let link = linked(&api, &row, (LinkPurpose::Invitation, &link), warnings).await?;
    Ok((StatusCode::CREATED, Json(link)))
}

/// One user.
#[utoipa::path(get, path = "/v1/users/{user}", operation_id = "show_user", tag = "users",
    security(("apiKey" = [])),
    params(("user" = String, Path, description = "`usr_…`")),
    responses((status = 200, description = "The user", body = User),
              super::shapes::OperatorReadRefusals))]
pub async fn show(
    _: Operator,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<User>, Problem> {
    let row = named(&api, &id).await?;
    Ok(Json(user(&api, &row).await?))
}

/// Gives a user a role in an account, whatever it was before; it holds from the user's next page on.
///
/// An invitation that waits for the user is accepted with it. The last owner who can log in stays one.
#[utoipa::path(put, path = "/v1/users/{user}/roles/{account}", operation_id = "give_role", tag = "users",
    security(("apiKey" = [])),
    params(("user" = String, Path, description = "`usr_…`"),
           ("account" = String, Path, description = "`acc_…`")),
    request_body = super::shapes::GiveRole,
    responses((status = 200, description = "The user as it is now", body = User),
              super::shapes::UserRefusals))]
pub async fn give_role(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    Path((id, account)): Path<(String, String)>,
    request: Request,
) -> Result<Json<User>, Problem> {
    let (_, body, _memory) =
        body::json_of(operator, |_| ShareOwner::Operator, &api, request).await?;
    let row = named(&api, &id).await?;
    let account: AccountId =
        account.parse().map_err(|_| missing(format!("there is no account {account}")))?;
    let mut fields = Fields::of(&body)?;
    let role = fields.required::<Role>("role");
    let warnings = fields.end()?;
    let role = role.ok_or_else(|| missing("the role".to_owned()))?;
    api.people.give_role(&row.email, account, role).await.map_err(refused)?;
    request_context::note_act(acts::role_given(account, &row.email, role));
    let mut user = user(&api, &row).await?;
    user.warnings = warnings;
    Ok(Json(user))
}

/// Makes a link with which a user chooses another password.
///
/// It works once, for an hour, and is told this once; for somebody who has no password yet it is another invitation,
/// for 7 days. The sessions of the user end when it is used.
#[utoipa::path(post, path = "/v1/users/{user}/reset", operation_id = "make_reset_link", tag = "users",
    security(("apiKey" = [])),
    params(("user" = String, Path, description = "`usr_…`")),
    request_body = super::shapes::ResetUser,
    responses((status = 201, description = "The user with the link", body = UserLink),
              super::shapes::UserRefusals))]
pub async fn reset(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    Path(id): Path<String>,
    request: Request,
) -> Result<(StatusCode, Json<UserLink>), Problem> {
    let (_, body, _memory) =
        body::json_of(operator, |_| ShareOwner::Operator, &api, request).await?;
    let row = named(&api, &id).await?;
    let mut fields = Fields::of(&body)?;
    let removes_factor = fields.flag("removeFactor").unwrap_or_default();
    let warnings = fields.end()?;
    let (row, purpose, link) = api.people.reset(&row.email).await.map_err(refused)?;
    request_context::note_act(acts::reset_link_made(&row.email));
    if removes_factor {
        api.store.remove_factor(row.id).await?;
    }
    let row = found(&api, row.id).await?;
    let link = linked(&api, &row, (purpose, &link), warnings).await?;
    Ok((StatusCode::CREATED, Json(link)))
}

/// Removes a user with all roles, and ends the user's sessions.
///
/// Refused while the user is the last owner of an account who can log in: make somebody else an owner of it first.
#[utoipa::path(delete, path = "/v1/users/{user}", operation_id = "remove_user", tag = "users",
    security(("apiKey" = [])),
    params(("user" = String, Path, description = "`usr_…`")),
    responses((status = 200, description = "The user is removed", body = DeletedUser),
              super::shapes::RemoveUserRefusals))]
pub async fn remove(
    _: Operator,
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<DeletedUser>, Problem> {
    let row = named(&api, &id).await?;
    let row = api.people.remove(&row.email).await.map_err(refused)?;
    request_context::note_act(acts::user_removed(&row.email));
    Ok(Json(DeletedUser { id: row.id, email: row.email.to_string(), deleted: true }))
}

async fn named(api: &Api, id: &str) -> Result<PersonRow, Problem> {
    let id = id.parse().map_err(|_| missing(format!("there is no user {id}")))?;
    found(api, id).await
}

async fn found(api: &Api, id: UserId) -> Result<PersonRow, Problem> {
    let row = api.store.user(id).await?;
    row.ok_or_else(|| missing(format!("there is no user {id}")))
}

async fn user(api: &Api, row: &PersonRow) -> Result<User, Problem> {
    let memberships = api.store.memberships(row.id).await?;
    Ok(User::new(row, memberships))
}

async fn linked(
    api: &Api,
    row: &PersonRow,
    (purpose, link): (LinkPurpose, &Secret),
    warnings: Vec<String>,
) -> Result<UserLink, Problem> {
    let mut about = user(api, row).await?;
    about.warnings = warnings;
    Ok(UserLink { about, path: link_path(purpose, link) })
}

fn missing(message: String) -> Problem {
    Problem::new(Code::NotFound, message)
}

fn refused(error: MemberError) -> Problem {
    match error {
        MemberError::Exists(email) => {
            let message = format!(
                "there is a user `{email}` already; PUT /v1/users/{{user}}/roles/{{account}} gives a role in a further \
                 account"
            );
            Problem::new(Code::Conflict, message)
        }
        error @ (MemberError::Full | MemberError::Unproven(_) | MemberError::LastOwner(_)) => {
            Problem::new(Code::Conflict, error.to_string())
        }
        MemberError::Missing(email) => missing(format!("there is no user `{email}`")),
        MemberError::Store(error) => account_scope::refused(&error),
        error @ (MemberError::NoAccount | MemberError::Password(_)) => {
            Problem::new(Code::BadRequest, error.to_string())
        }
    }
}
