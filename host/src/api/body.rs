//! The body of a request: JSON, bounded in size, in time, and in memory over all requests; the memory and
//! the connections that bodies hold are shared fairly by account. A body may take long to arrive, so the key is checked
//! twice: before the body, so that the server reads nothing for strangers, and after the body, so that a key that was
//! switched off meanwhile changes nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use serde_json::Value;

use super::problem::{Code, Problem};
use super::state::Api;
use super::{read_only, request_context};
use crate::fair_share::{FairShare, Share, ShareOwner};
use crate::journey::accept::json;
use crate::journey::accept::refusal::{Fault, Outage, Refusal};

/// What an early refusal still reads, so that its client gets to see the answer.
const MAX_DRAINED_BYTES: usize = 32 << 20;
/// The unit in which memory is given.
const KIB: usize = 1_024;
/// The memory with which a body of unknown length begins.
const INITIAL_KIB: usize = 64;
const DRAIN_TIME: Duration = Duration::from_secs(5);
const MEMORY_WAIT: Duration = Duration::from_secs(10);
/// For bodies that are arriving when the stop of the server begins.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);
/// A body of that size takes a millisecond and more to parse.
const LARGE_BODY_BYTES: usize = 256 << 10;
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The share of the memory for bodies that a request holds; to be kept until it is answered,
/// because what is parsed of a body is as large as the body.
#[derive(Debug)]
pub struct Memory(#[expect(dead_code, reason = "given back when it is dropped")] Option<Share>);

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
    Err(Problem::new(Code::UnsupportedMediaType, message))
}

/// The JSON of a request that only whoever is `admitted` may make, and its share of the memory. What a
/// refused client still sends is read and dropped, so that the client sees the refusal.
///
/// # Errors
/// The client may not send this request, or its key lost the right while the body arrived. Or the body is not JSON, is too
/// large or too slow, or breaks off.
pub async fn json_of<T>(
    admitted: Result<T, Problem>,
    owner: impl FnOnce(&T) -> ShareOwner,
    api: &Api,
    request: Request,
) -> Result<(T, Value, Memory), Problem> {
    let (parts, body) = request.into_parts();
    let admitted = admitted.and_then(|it| check(&parts, api).map(|()| it));
    let admitted = match admitted {
        Ok(admitted) => admitted,
        Err(problem) => {
            drain(body).await;
            return Err(problem);
        }
    };
    let (owner, most) = (owner(&admitted), api.limits.load().body_bytes);
    let request = Request::from_parts(parts, body);
    let (bytes, memory) = read_up_to(most, request, owner, api).await?;
    let json = json::parse(&bytes).map_err(Refusal::bad_request)?;
    Ok((admitted, json, memory))
}

/// Reads a body of an owner. The caller of this function then checks once more whether the client may send it.
///
/// # Errors
/// It is too large, too slow, or broke off; or the owner has its share of bodies, or of the memory for
/// them, already.
pub async fn read(
    body: Body,
    owner: impl Into<ShareOwner>,
    api: &Api,
) -> Result<(BytesMut, Memory), Problem> {
    let most = api.limits.load().body_bytes;
    in_bounds(most, body, owner.into(), api).await
}

/// Reads the body of a request up to a limit of its own, and then checks once more whether the client may send it.
///
/// # Errors
/// As for [`read`]. Or, while the body arrived, the key was switched off or its rights were changed, or the server went into
/// read-only mode.
pub async fn read_up_to(
    limit: usize,
    request: Request,
    owner: ShareOwner,
    api: &Api,
) -> Result<(BytesMut, Memory), Problem> {
    let (parts, body) = request.into_parts();
    let read = in_bounds(limit, body, owner, api).await?;
    if let Some(caller) = request_context::caller() {
        api.journey.accept.look_again(&caller).await?;
    }
    read_only::admit(api, &parts.method, &parts.extensions).await?;
    Ok(read)
}

async fn in_bounds(
    limit: usize,
    body: Body,
    owner: ShareOwner,
    api: &Api,
) -> Result<(BytesMut, Memory), Problem> {
    let limits = &api.bodies;
    let Some(_arriving) = limits.arriving.try_take(owner, 1) else {
        return Err(Refusal::RateLimited { retry_after: RETRY_AFTER }.into());
    };
    let time = api.limits.load().body_time;
    let last_bodies = async {
        limits.stopping.cancelled().await;
        tokio::time::sleep(SHUTDOWN_GRACE).await;
    };
    tokio::select! {
        collected = collect(limit, body, owner, &limits.memory) => collected,
        () = tokio::time::sleep(time) => {
            let seconds = time.as_secs();
            let message = format!("the body did not arrive within {seconds} s");
            Err(Problem::new(Code::RequestTimeout, message))
        }
        () = last_bodies => {
            Err(Refusal::unavailable(Outage::Stopping, "the server is shutting down").into())
        }
    }
}

/// Memory is taken when the first part has come, so a client that announces much and sends nothing holds
/// nothing. Only then does a request wait: requests that waited with half a body each would wait for each
/// other.
async fn collect(
    limit: usize,
    mut body: Body,
    owner: ShareOwner,
    memory: &Arc<FairShare>,
) -> Result<(BytesMut, Memory), Problem> {
    let announced = body.size_hint().exact().and_then(|it| usize::try_from(it).ok());
    let mut share: Option<Share> = None;
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            let message = "the body broke off before its end";
            Problem::new(Code::BadRequest, message)
        })?;
        let Ok(data) = frame.into_data() else { continue };
        let length = bytes.len() + data.len();
        if length > limit {
            drop((bytes, share));
            drain(body).await;
            return Err(too_large(limit));
        }
        match &mut share {
            None => {
                let first = announced.map_or(INITIAL_KIB.max(length.div_ceil(KIB)), |announced| {
                    announced.clamp(length, limit).div_ceil(KIB)
                });
                share = Some(memory.take(owner, first, MEMORY_WAIT).await.ok_or_else(no_memory)?);
                bytes.reserve(announced.map_or(0, |announced| announced.min(limit)));
            }
            Some(share) => {
                let lacking = length.div_ceil(KIB).saturating_sub(share.amount());
                if lacking > 0 && !share.grow(lacking.max(share.amount())) && !share.grow(lacking) {
                    return Err(no_memory());
                }
            }
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, Memory(share)))
}

/// Parses a body by `parse`. A large one is parsed where no other request waits for the thread.
///
/// # Errors
/// It is not JSON.
pub async fn parse<T: Send + 'static>(
    bytes: BytesMut,
    parse: fn(&[u8]) -> Result<T, Vec<Fault>>,
) -> Result<T, Refusal> {
    let parsed = if bytes.len() < LARGE_BODY_BYTES {
        parse(&bytes)
    } else {
        let parsing = tokio::task::spawn_blocking(move || parse(&bytes)).await;
        parsing
            .map_err(|_| Refusal::Internal { message: "the body cannot be parsed".to_owned() })?
    };
    parsed.map_err(Refusal::bad_request)
}

/// Reads and forgets what a refused client is still sending, part by part.
pub async fn drain(mut body: Body) {
    let forget = async {
        let mut left = MAX_DRAINED_BYTES;
        while let Some(Ok(part)) = body.frame().await {
            let length = part.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(length) else { return };
            left = rest;
        }
    };
    let _ended = tokio::time::timeout(DRAIN_TIME, forget).await;
}

fn no_memory() -> Problem {
    let message = "the memory for large requests is in use; send fewer of them at one time";
    Refusal::unavailable(Outage::Busy, message).into()
}

fn too_large(limit: usize) -> Problem {
    let message = format!("the body may have at most {limit} bytes");
    Problem::new(Code::PayloadTooLarge, message)
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

#[cfg(test)]
mod tests;
