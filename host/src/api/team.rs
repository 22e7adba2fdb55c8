//! `/v1/team`: the people of an account, as its owners manage them on the page of the same name.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Request, State};
use http::StatusCode;

use super::account_scope::{AccountScope, refused as store_refused};
use super::body;
use super::fields::Fields;
use super::problem::{Code, Problem};
use super::request_context;
use super::server_mail::{MailError, SystemEmail};
use super::shapes::{Page, RemovedMember, TeamInvitation, TeamList, TeamMember};
use super::state::Api;
use crate::account::role::Role;
use crate::id::{AccountId, UserId};
use crate::journey::accept::refusal::Refusal;
use crate::management::acts;
use crate::management::keys::Grantor;
use crate::message::address::EmailAddress;
use crate::people::{Invited, MemberError, TeamError, link_path};
use crate::store::{LinkPurpose, MemberRow};

/// Whoever is in the team sees all of the account, so a key for some of it does not.
const TEAM: &str = "the people of the team";

/// The people of the account, with their roles.
///
/// Here and below it takes a live key for the whole account, or with `account` an operator's.
#[utoipa::path(get, path = "/v1/team", operation_id = "list_team", tag = "team",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery),
    responses((status = 200, description = "The people", body = TeamList),
              super::shapes::ReadRefusals))]
pub async fn list(scope: AccountScope, State(api): State<Api>) -> Result<Json<TeamList>, Problem> {
    let scope = scope.for_all_of_it(TEAM)?;
    let _page = api.lists.admit(scope.share_owner()).await?;
    let (team, now) = (api.people.team_of(scope.account).await?, api.clock.now());
    Ok(Json(Page::whole(team.into_iter().map(|it| TeamMember::new(it, now)))))
}

/// Invites somebody to the account, by mail; the person sees nothing of it before accepting.
///
/// A new person gets a link to choose a password with, which works once, for 7 days. Whoever has a log-in already gets no
/// link, and answers on the page of their accounts.
#[utoipa::path(post, path = "/v1/team", operation_id = "invite_member", tag = "team",
    security(("apiKey" = [])),
    params(super::shapes::AccountQuery),
    request_body = super::shapes::InviteMember,
    responses((status = 201, description = "The member, and what became of the mail", body = TeamInvitation),
              super::shapes::TeamRefusals))]
pub async fn invite(
    scope: Result<AccountScope, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<(StatusCode, Json<TeamInvitation>), Problem> {
    let scope = scope.and_then(|scope| scope.for_all_of_it_and_for_good(TEAM));
    let (scope, body, _memory) =
        body::json_of(scope, AccountScope::share_owner, &api, request).await?;
    let mut fields = Fields::of(&body)?;
    let (email, role) = (fields.required::<EmailAddress>("email"), fields.required::<Role>("role"));
    let warnings = fields.end()?;
    // Without them the fields have a fault.
    let Some((email, role)) = email.zip(role) else { return Err(nobody()) };
    let email = email.to_string();
    let invited = api.people.invite_into(scope.account, (&email, role)).await.map_err(refused)?;
    request_context::note_act(acts::invited(&invited.user.email, (scope.account, role)));
    let mut invitation = told(&api, &scope, invited).await?;
    invitation.member.warnings.extend(warnings);
    Ok((StatusCode::CREATED, Json(invitation)))
}

/// Mails another link to somebody who has not taken the invitation yet.
///
/// An address is invited once in two minutes, and an account invites at most 50 times a day.
#[utoipa::path(post, path = "/v1/team/{user}/invite", operation_id = "invite_member_again", tag = "team",
    security(("apiKey" = [])),
    params(("user" = String, Path, description = "`usr_…`"),
           super::shapes::AccountQuery),
    responses((status = 200, description = "The member, and what became of the mail", body = TeamInvitation),
              super::shapes::TeamRefusals))]
pub async fn invite_again(
    scope: AccountScope,
    State(api): State<Api>,
    Path(user): Path<String>,
) -> Result<Json<TeamInvitation>, Problem> {
    let scope = scope.for_all_of_it_and_for_good(TEAM)?;
    let invited = api.people.invite_again_into(scope.account, id(&user)?).await.map_err(refused)?;
    request_context::note_act(acts::invited_again(&invited.user.email));
    Ok(Json(told(&api, &scope, invited).await?))
}

/// Gives a member another role; it holds from the member's next page on.
///
/// The last owner who can log in stays one.
#[utoipa::path(patch, path = "/v1/team/{user}", operation_id = "change_member", tag = "team",
    security(("apiKey" = [])),
    params(("user" = String, Path, description = "`usr_…`"),
           super::shapes::AccountQuery),
    request_body = super::shapes::ChangeMember,
    responses((status = 200, description = "The member as it is now", body = TeamMember),
              super::shapes::TeamRefusals))]
pub async fn change(
    scope: Result<AccountScope, Problem>,
    State(api): State<Api>,
    Path(user): Path<String>,
    request: Request,
) -> Result<Json<TeamMember>, Problem> {
    let scope = scope.and_then(|scope| scope.for_all_of_it_and_for_good(TEAM));
    let (scope, body, _memory) =
        body::json_of(scope, AccountScope::share_owner, &api, request).await?;
    let user = id(&user)?;
    let mut fields = Fields::of(&body)?;
    let role = fields.required::<Role>("role");
    let warnings = fields.end()?;
    let role = role.ok_or_else(nobody)?;
    let email = api.people.change_role_in(scope.account, (user, role)).await.map_err(refused)?;
    request_context::note_act(acts::role_given(scope.account, &email, role));
    let row = api.people.member(scope.account, user).await.map_err(refused)?;
    let mut member = shown(&api, scope.account, row).await?;
    member.warnings = warnings;
    Ok(Json(member))
}

/// Takes somebody out of the account; an invitation that was not taken is withdrawn.
///
/// The last owner who can log in stays.
#[utoipa::path(delete, path = "/v1/team/{user}", operation_id = "remove_member", tag = "team",
    security(("apiKey" = [])),
    params(("user" = String, Path, description = "`usr_…`"),
           super::shapes::AccountQuery),
    responses((status = 200, description = "The person is in the account no more", body = RemovedMember),
              super::shapes::TeamRefusals))]
pub async fn remove(
    scope: AccountScope,
    State(api): State<Api>,
    Path(user): Path<String>,
) -> Result<Json<RemovedMember>, Problem> {
    let (scope, id) = (scope.for_all_of_it_and_for_good(TEAM)?, id(&user)?);
    let email = api.people.remove_from(scope.account, id).await.map_err(refused)?;
    request_context::note_act(acts::member_removed(&email));
    Ok(Json(RemovedMember { id, email: email.to_string(), removed: true }))
}

/// Mails the invitation. Where the link of one cannot be mailed, an operator is told it this once; the account only where the
/// server sends no e-mail at all, for its key could take it in the name of the one who is invited.
async fn told(
    api: &Api,
    scope: &AccountScope,
    invited: Invited,
) -> Result<TeamInvitation, Problem> {
    let row = api.people.member(scope.account, invited.user.id).await.map_err(refused)?;
    let mut invitation =
        TeamInvitation { member: shown(api, scope.account, row).await?, mailed: false, path: None };
    let letter = SystemEmail::of_invitation(&invited, None);
    let Err(error) = api.mail(&invited.user.email, &letter).await else {
        invitation.mailed = true;
        return Ok(invitation);
    };
    invitation.member.warnings.push(error.to_string());
    let Invited { user, link: Some(link), .. } = invited else { return Ok(invitation) };
    let is_shown = match scope.grantor() {
        Grantor::Operator(_) | Grantor::Machine => true,
        Grantor::Holder(_) | Grantor::Person(_) => {
            matches!(error, MailError::NotConfigured) && api.people.show_link(&user, &link).await?
        }
    };
    invitation.path = is_shown.then(|| link_path(LinkPurpose::Invitation, &link));
    Ok(invitation)
}

async fn shown(api: &Api, account: AccountId, row: MemberRow) -> Result<TeamMember, Problem> {
    let member = api.people.team_member(account, row).await?;
    Ok(TeamMember::new(member, api.clock.now()))
}

/// What is no identifier names nobody.
fn id(user: &str) -> Result<UserId, Problem> {
    user.parse().map_err(|_| nobody())
}

fn nobody() -> Problem {
    Problem::new(Code::NotFound, TeamError::Missing.to_string())
}

fn refused(error: TeamError) -> Problem {
    let wait = |retry_after, words: String| {
        let problem = Problem::from(Refusal::RateLimited { retry_after });
        problem.instead(StatusCode::TOO_MANY_REQUESTS, || words)
    };
    let words = error.to_string();
    match error {
        TeamError::Missing => nobody(),
        TeamError::Email => Refusal::fault("email", "invalid", words).into(),
        TeamError::TooSoon(seconds) => wait(Duration::from_secs(seconds), words),
        TeamError::TooMany(minutes) => wait(Duration::from_mins(minutes), words),
        TeamError::Store(error) | TeamError::Member(MemberError::Store(error)) => {
            store_refused(&error)
        }
        TeamError::IsMember(_)
        | TeamError::LastOwner(_)
        | TeamError::Member(
            MemberError::Exists(_)
            | MemberError::Missing(_)
            | MemberError::Unproven(_)
            | MemberError::Full
            | MemberError::LastOwner(_)
            | MemberError::NoAccount
            | MemberError::Password(_),
        ) => Problem::new(Code::Conflict, words),
        // Of people who are logged in.
        TeamError::Role(_) | TeamError::StepUp => Problem::new(Code::Forbidden, words),
    }
}
