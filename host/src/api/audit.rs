//! Writes every change over the API into the audit log: who, which operation, on what, from where.
//!
//! One place for all routes, so that a new one cannot be forgotten: an operation with a body that changes nothing is known
//! to [`only_looks`], or is [`TEST`]. The action is the name of the operation and the subject what was created or stands in the
//! path, unless the handler has noted another one. The row is written behind the change; where that fails, the log says so.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use serde::Deserialize;

use super::read_only::only_looks;
use super::state::Api;
use super::{openapi, request_context};
use crate::id::AccountId;
use crate::management::acts;
use crate::store::{ActorId, AuditRow};

/// A test of a template sends messages, which are their own record.
const TEST: &str = "/v1/templates/{slug}/test";
/// Their operations are named without the noun.
const PLUGINS: &str = "/v1/plugins";
/// What belongs to the server, whoever's key changes it.
const OF_SERVER: [&str; 4] = [PLUGINS, "/v1/queue", "/v1/users", "/v1/maintenance"];

/// The operations by method and path.
static OPERATIONS: LazyLock<HashMap<(String, String), String>> = LazyLock::new(operations);

/// What of a created thing's answer is wanted.
#[derive(Deserialize)]
struct Created {
    id: Option<String>,
}

#[derive(Default, Deserialize)]
struct Asked {
    account: Option<AccountId>,
}

/// Passes a request on, and writes down what it has changed.
pub async fn changes(
    State(api): State<Api>,
    path: Option<MatchedPath>,
    parameters: Result<RawPathParams, axum::extract::rejection::RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let path = path.as_ref().map_or("", MatchedPath::as_str);
    if matches!(method, Method::GET | Method::HEAD) || path == TEST || only_looks(path) {
        return next.run(request).await;
    }
    let action = OPERATIONS.get(&(method.as_str().to_ascii_lowercase(), path.to_owned()));
    let Some(action) = action else { return next.run(request).await };
    let parameters = parameters.ok();
    let parameter = |wanted: fn(&str) -> bool| {
        let mut all = parameters.iter().flatten();
        all.find(|(name, _)| wanted(name)).map(|(_, value)| value.to_owned())
    };
    let (subject, of_path) = (parameter(|_| true), parameter(|name| name == "account"));
    let asked = axum::extract::Query::<Asked>::try_from_uri(request.uri());
    let asked = asked.ok().and_then(|it| it.0.account);
    let ip = request_context::ip(request.extensions()).to_canonical().to_string();
    let response = next.run(request).await;
    let changed_nothing = response.extensions().get::<request_context::ChangedNothing>().is_some();
    if !response.status().is_success() || changed_nothing {
        return response;
    }
    let (response, created) = created(response).await;
    let key = request_context::key();
    let noted = request_context::noted_change();
    let of_key = key.filter(|_| !OF_SERVER.iter().any(|it| path.starts_with(it)));
    let told = noted.as_ref().and_then(|it| it.account);
    let named = told.or(asked).or(of_path.and_then(|it| it.parse().ok()));
    let account = named.or(of_key.map(|(_, account)| account));
    let account = acts::log_of(action, account);
    let name = match key {
        Some((key, _)) => api.store.key(key).await.ok().flatten().map(|it| it.name),
        None => None,
    };
    let row = AuditRow {
        at: api.clock.now(),
        account,
        actor: key.map_or(ActorId::ControlToken, |(key, _)| ActorId::Key(key)),
        acting: false,
        actor_name: name,
        action: noted.as_ref().and_then(|it| it.action).unwrap_or(action).to_owned(),
        subject: noted.map(|it| it.subject).or(created).or(subject),
        ip: Some(ip),
    };
    api.store.record_made_change(&row).await;
    response
}

/// The identifier of what was created; the response is passed on unchanged.
async fn created(response: Response) -> (Response, Option<String>) {
    if response.status() != StatusCode::CREATED {
        return (response, None);
    }
    let (parts, body) = response.into_parts();
    let Ok(body) = body.collect().await else {
        return (Response::from_parts(parts, Body::empty()), None);
    };
    let body = body.to_bytes();
    let created: Option<Created> = serde_json::from_slice(&body).ok();
    (Response::from_parts(parts, Body::from(body)), created.and_then(|it| it.id))
}

fn operations() -> HashMap<(String, String), String> {
    let document = openapi::json();
    let mut found = HashMap::new();
    for (method, path, operation) in openapi::operations(&document) {
        let Some(id) = operation["operationId"].as_str() else { continue };
        let name = if path.starts_with(PLUGINS) { format!("{id}_plugin") } else { id.to_owned() };
        found.insert((method.to_owned(), path.to_owned()), name);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::read_only::LOOKS;

    #[test]
    fn what_changes_nothing_is_an_operation() {
        let operations = operations();
        assert!(operations.values().any(|it| it == "create_key"), "{operations:?}");
        for end in LOOKS.into_iter().chain([TEST]) {
            let is_there = operations.keys().any(|(_, path)| path.ends_with(end));
            assert!(is_there, "there is no operation {end}");
        }
    }

    #[test]
    fn a_draft_of_each_kind_is_validated_without_a_change() {
        for kind in ["templates", "layouts", "partials"] {
            assert!(only_looks(&format!("/v1/{kind}/{{slug}}/validate")), "{kind}");
            assert!(!only_looks(&format!("/v1/{kind}/{{slug}}/publish")), "{kind}");
        }
    }
}
