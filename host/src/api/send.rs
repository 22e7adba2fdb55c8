//! `POST /messages/send`: one message.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Instant;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

use super::admin::authenticated;
use super::problem::Problem;
use super::shapes::SendResponse;
use super::state::Api;
use super::{body, request_context};
use crate::account::idempotency::Idempotency;
use crate::account::key::Scope;
use crate::journey::accept::authenticate::Caller;
use crate::journey::accept::json;
use crate::journey::accept::rate_limit::Allowance;
use crate::journey::accept::refusal::Refusal;
use crate::journey::accept::submission::Submission;
use crate::journey::accept::{Step, record_step};
use crate::journey::{self, Reply};
use crate::message::channel::Channel;
use crate::store::records::Acceptance;
use crate::trace::Arrival;

/// A request that came through everything that both send routes have in common.
pub struct Accepted {
    pub caller: Caller,
    pub body: json::Body,
    /// The client's own key for the request.
    pub idempotency: Option<Idempotency>,
    pub arrival: Arrival,
    _memory: body::Memory,
}

/// An answer, and where the key stands with its rate limit.
pub struct Limited<T> {
    pub allowance: Option<Allowance>,
    pub result: Result<T, Problem>,
}

/// Sends one message.
#[utoipa::path(
    post,
    path = "/messages/send",
    tag = "messages",
    request_body = super::shapes::SendRequest,
    params(super::shapes::IdempotencyKey),
    responses(
        (status = 201, description = "Stored, charged and queued, durably", body = SendResponse),
        super::shapes::Refusals,
    ),
    security(("apiKey" = [])),
)]
pub async fn send(State(api): State<Api>, request: Request) -> Response {
    let Limited { allowance, result } = accept(&api, request).await;
    let answer = match result {
        Ok(accepted) => one(&api, accepted).await,
        Err(problem) => Err(problem),
    };
    with_allowance(answer.unwrap_or_else(IntoResponse::into_response), allowance)
}

async fn one(api: &Api, accepted: Accepted) -> Result<Response, Problem> {
    let submission = Submission::parse(Channel::Api, accepted.body, api.clock.now());
    let request = journey::Request {
        id: request_context::current(),
        idempotency: accepted.idempotency,
        acceptance: Acceptance::Each,
        arrival: accepted.arrival,
        items: vec![submission],
    };
    let Reply { items, replayed } = api.journey.submit(&accepted.caller, &request).await?;
    let receipt = items.into_iter().next().ok_or_else(|| {
        Problem::from(Refusal::Internal { message: "the message has no answer".to_owned() })
    })??;
    let mut response = (StatusCode::CREATED, Json(SendResponse::from(receipt))).into_response();
    if replayed {
        mark_replayed(&mut response);
    }
    Ok(response)
}

/// Size, key, rate limit, then the body: in this order, so that a stranger's body is not parsed.
pub async fn accept(api: &Api, request: Request) -> Limited<Accepted> {
    let start = Instant::now();
    let ip = request_context::ip(request.extensions());
    let (parts, body) = request.into_parts();
    let (caller, allowance) = match admit(api, &parts, ip).await {
        Ok(admitted) => admitted,
        Err((problem, allowance)) => {
            body::drain(body).await;
            return Limited { allowance, result: Err(problem) };
        }
    };
    let result = read(api, (&parts, start), body, caller).await;
    record_step(Step::Accept, start);
    Limited { allowance: Some(allowance), result }
}

async fn admit(
    api: &Api,
    parts: &Parts,
    ip: IpAddr,
) -> Result<(Caller, Allowance), (Problem, Option<Allowance>)> {
    body::check(parts, api).map_err(|problem| (problem, None))?;
    let caller = authenticated(&parts.headers, ip, api, Scope::Send).await;
    let caller = caller.map_err(|problem| (problem, None))?;
    match api.journey.accept.take_sends(&caller, NonZeroU32::MIN) {
        Ok(allowance) => Ok((caller, allowance)),
        Err((refusal, allowance)) => Err((refusal.into(), Some(allowance))),
    }
}

async fn read(
    api: &Api,
    (parts, start): (&Parts, Instant),
    body: axum::body::Body,
    caller: Caller,
) -> Result<Accepted, Problem> {
    let key = idempotency_key(parts)?;
    let (bytes, memory) = body::read(body, caller.key.account_id, api).await?;
    let (body, idempotency) = match key {
        None => (body::parse(bytes, json::parse_body).await?, None),
        Some(key) => {
            // The canonical text needs the whole body as values.
            let body = body::parse(bytes, json::parse).await?;
            let body_hash = Sha256::digest(json::canonical(&body)).into();
            (body.into(), Some(Idempotency { key, body_hash }))
        }
    };
    let arrival = Arrival::over_http(start, &parts.headers);
    Ok(Accepted { caller, body, idempotency, arrival, _memory: memory })
}

/// 1-256 visible ASCII characters.
pub fn idempotency_key(parts: &Parts) -> Result<Option<String>, Refusal> {
    let Some(value) = parts.headers.get("idempotency-key") else { return Ok(None) };
    let bytes = value.as_bytes();
    let visible = bytes.iter().all(u8::is_ascii_graphic);
    match value.to_str() {
        Ok(text) if visible && (1..=256).contains(&bytes.len()) => Ok(Some(text.to_owned())),
        Ok(_) | Err(_) => {
            let message = "must be 1 to 256 visible ASCII characters";
            Err(Refusal::fault("Idempotency-Key", "invalid", message))
        }
    }
}

/// Marks the answer of an earlier request.
pub fn mark_replayed(response: &mut Response) {
    response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
}

/// Puts the `RateLimit-*` headers on an answer.
pub fn with_allowance(mut response: Response, allowance: Option<Allowance>) -> Response {
    if let Some(allowance) = allowance {
        let headers = response.headers_mut();
        headers.insert("ratelimit-limit", allowance.limit.into());
        headers.insert("ratelimit-remaining", allowance.remaining.into());
        headers.insert("ratelimit-reset", allowance.reset_s.into());
    }
    response
}
