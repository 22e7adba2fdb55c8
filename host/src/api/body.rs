//! The body of a request: JSON, bounded in size, in time, and in memory over all requests.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::BytesMut;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use tokio::sync::OwnedSemaphorePermit;

use super::Api;
use super::problem::Problem;
use crate::journey::accept::refusal::{Outage, Refusal};

/// What an early refusal still reads, so that its client gets to see the answer.
const DRAINED: usize = 32 << 20;
/// The unit in which memory is given.
const KIB: usize = 1_024;
const DRAIN_TIME: Duration = Duration::from_secs(5);
const MEMORY_WAIT: Duration = Duration::from_secs(10);

/// The share of the memory for bodies that a request holds; to be kept until it is answered,
/// because what is parsed of a body is as large as the body.
#[derive(Debug)]
pub struct Memory(
    #[expect(dead_code, reason = "given back when it is dropped")] OwnedSemaphorePermit,
);

/// Looks at the headers before anything is read.
///
/// # Errors
/// Not JSON, or too large by its own account.
pub fn check(parts: &Parts, api: &Api) -> Result<(), Problem> {
    let length: Option<usize> = parts
        .headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse().ok());
    let most = api.limits.load().body_bytes;
    if length.is_some_and(|length| length > most) {
        return Err(too_large(most));
    }
    if is_json(&parts.headers) {
        return Ok(());
    }
    let message = "the body must be JSON, with the header Content-Type: application/json";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", message))
}

/// Reads a body. Memory is taken as it arrives: a client that announces much and sends nothing holds
/// nothing.
///
/// # Errors
/// It is too large, too slow, or broke off; or the server holds too many bodies already.
pub async fn read(body: Body, api: &Api) -> Result<(BytesMut, Memory), Problem> {
    let most = api.limits.load().body_bytes;
    read_up_to(most, body, api).await
}

/// Reads a body of another size than that of a send.
///
/// # Errors
/// As for [`read`].
pub async fn read_up_to(
    limit: usize,
    body: Body,
    api: &Api,
) -> Result<(BytesMut, Memory), Problem> {
    let time = api.limits.load().body_time;
    let collected = tokio::time::timeout(time, collect(limit, body, api)).await;
    collected.unwrap_or_else(|_| {
        let seconds = time.as_secs();
        let message = format!("the body did not arrive within {seconds} s");
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", message))
    })
}

async fn collect(limit: usize, mut body: Body, api: &Api) -> Result<(BytesMut, Memory), Problem> {
    let mut memory = reserve(0, api).await?;
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            let message = "the body broke off before its end";
            Problem::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            drain(body).await;
            return Err(too_large(limit));
        }
        let held = memory.num_permits() * KIB;
        if let Some(lacking) = (bytes.len() + data.len()).checked_sub(held) {
            memory.merge(reserve(lacking, api).await?);
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, Memory(memory)))
}

/// Reads and forgets what a refused client is still sending.
pub async fn drain(body: Body) {
    let drained = tokio::time::timeout(DRAIN_TIME, Limited::new(body, DRAINED).collect()).await;
    drop(drained);
}

async fn reserve(length: usize, api: &Api) -> Result<OwnedSemaphorePermit, Problem> {
    let kib = u32::try_from(length.div_ceil(KIB)).unwrap_or(u32::MAX);
    let memory = Arc::clone(&api.body_memory).acquire_many_owned(kib);
    if let Ok(Ok(permit)) = tokio::time::timeout(MEMORY_WAIT, memory).await {
        return Ok(permit);
    }
    Err(Refusal::unavailable(Outage::Busy, "the server is busy with other large requests").into())
}

fn too_large(limit: usize) -> Problem {
    let message = format!("the body may have at most {limit} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", message)
}

/// `application/json` or `application/*+json`, with any parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let essence = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(|essence| essence.trim().to_ascii_lowercase());
    essence.is_some_and(|essence| {
        essence == "application/json"
            || (essence.starts_with("application/") && essence.ends_with("+json"))
    })
}
