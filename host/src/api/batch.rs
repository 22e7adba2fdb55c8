//! `POST /messages/send/batch`: up to 500 messages, one result each, in order.

use std::num::NonZeroU32;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};

use super::problem::Problem;
use super::request_context;
use super::send::{Accepted, Limited, accept, mark_replayed, with_allowance};
use super::shapes::{BatchResponse, BatchResult, SendResponse};
use super::state::Api;
use crate::journey::accept::json::{Body, Item};
use crate::journey::accept::rate_limit::Allowance;
use crate::journey::accept::refusal::Refusal;
use crate::journey::accept::submission::Submission;
use crate::journey::{self, Reply};
use crate::message::channel::Channel;
use crate::store::records::Acceptance;

const MAX_BATCH_MESSAGES: usize = 500;

/// Sends up to 500 messages. The answer is 200 with one result for each, in the same order: the
/// body of a 201, or the problem that the message alone would have got.
#[utoipa::path(
    post,
    path = "/messages/send/batch",
    tag = "messages",
    request_body = super::shapes::SendBatch,
    params(super::shapes::IdempotencyKey),
    responses(
        (status = 200, description = "One result for each message, in order", body = BatchResponse),
        super::shapes::Refusals,
    ),
    security(("apiKey" = [])),
)]
pub async fn send_batch(State(api): State<Api>, request: Request) -> Response {
    let Limited { allowance, result } = accept(&api, request).await;
    match result {
        Ok(accepted) => {
            let (allowance, answer) = many(&api, accepted, allowance).await;
            with_allowance(answer.unwrap_or_else(IntoResponse::into_response), allowance)
        }
        Err(problem) => with_allowance(problem.into_response(), allowance),
    }
}

async fn many(
    api: &Api,
    accepted: Accepted,
    mut allowance: Option<Allowance>,
) -> (Option<Allowance>, Result<Response, Problem>) {
    let items = match items(accepted.body) {
        Ok(items) => items,
        Err(refusal) => return (allowance, Err(refusal.into())),
    };
    // The request itself has taken one send from the buckets.
    let further = u32::try_from(items.len() - 1).ok().and_then(NonZeroU32::new);
    if let Some(further) = further {
        match api.journey.accept.take_sends(&accepted.caller, further) {
            Ok(left) => allowance = Some(left),
            Err((refusal, left)) => return (Some(left), Err(refusal.into())),
        }
    }
    let now = api.clock.now();
    let parse = |item| Submission::parse(Channel::Api, item, now);
    let request = journey::Request {
        id: request_context::current(),
        idempotency: accepted.idempotency,
        acceptance: Acceptance::Each,
        arrival: accepted.arrival,
        items: items.into_iter().map(parse).collect(),
    };
    let reply = api.journey.submit(&accepted.caller, &request).await;
    (allowance, reply.map(answer).map_err(Problem::from))
}

fn items(body: Body) -> Result<Vec<Item>, Refusal> {
    let wanted = format!("a batch is a JSON array of 1 to {MAX_BATCH_MESSAGES} messages");
    match body {
        Body::Many(items) if items.is_empty() => Err(Refusal::fault("", "empty", wanted)),
        Body::Many(items) if items.len() > MAX_BATCH_MESSAGES => {
            Err(Refusal::fault("", "too_many", wanted))
        }
        Body::Many(items) => Ok(items),
        Body::One(_) => Err(Refusal::fault("", "type", wanted)),
    }
}

fn answer(Reply { items, replayed }: Reply) -> Response {
    let success = items.iter().all(Result::is_ok);
    let result = |item| match item {
        Ok(receipt) => BatchResult::Sent(Box::new(SendResponse::from(receipt))),
        Err(refused) => BatchResult::Refused(Box::new(Problem::from(refused).body())),
    };
    let data = items.into_iter().map(result).collect();
    let mut response = Json(BatchResponse { success, data }).into_response();
    if replayed {
        mark_replayed(&mut response);
    }
    response
}
