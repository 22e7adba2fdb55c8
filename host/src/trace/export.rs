//! Spans of a message's journey, made when their step has ended.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use http::HeaderMap;
use opentelemetry::trace::{Link, SpanContext, SpanKind, Status, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks, SpanProcessor};

use super::Attempted;
use crate::clock::system_time;
use crate::id::{AccountId, Identifier as _, MessageId, fill_random};

/// Messages of one request that its span links to; 128 is what collectors take.
const MAX_LINKS: usize = 128;

/// Where spans go; none where no collector is configured.
static EXPORT: OnceLock<Box<dyn SpanProcessor>> = OnceLock::new();

/// How a request arrived.
#[derive(Debug, Clone)]
pub struct Arrival {
    began: Instant,
    /// From the first byte to the parsed request; none where the server itself asks.
    accept: Option<Times>,
    /// The span of the client, where it has said one that is recorded.
    client: Option<Client>,
}

/// When something began and ended.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    start: SystemTime,
    end: SystemTime,
}

/// A span that the header `traceparent` names (W3C Trace Context, level 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Client {
    trace: TraceId,
    span: SpanId,
}

/// A span to be exported.
struct Span {
    context: (TraceId, SpanId),
    parent: Option<SpanId>,
    name: &'static str,
    kind: SpanKind,
    times: Times,
    attributes: Vec<KeyValue>,
    links: Vec<Link>,
    status: Status,
}

impl Default for Arrival {
    fn default() -> Self {
        Self { began: Instant::now(), accept: None, client: None }
    }
}

impl Arrival {
    /// A request that was read and parsed since `began`.
    #[must_use]
    pub fn over_http(began: Instant, headers: &HeaderMap) -> Self {
        let named = headers.get("traceparent").and_then(|it| it.to_str().ok());
        Self { client: named.and_then(Client::recorded), ..Self::over_smtp(began) }
    }

    #[must_use]
    pub fn over_smtp(began: Instant) -> Self {
        Self { began, accept: Some(Times::since(began)), client: None }
    }
}

impl Times {
    /// From `start` until now.
    #[must_use]
    pub fn since(start: Instant) -> Self {
        Self::of_the_last(start.elapsed())
    }

    #[must_use]
    pub fn of_the_last(took: Duration) -> Self {
        let end = system_time();
        Self { start: end.checked_sub(took).unwrap_or(end), end }
    }
}

impl Client {
    /// None of a header that is not valid, or of a client that records nothing.
    fn recorded(header: &str) -> Option<Self> {
        let mut parts = header.trim().split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hexadecimal = |text: &str, length: usize| {
            let digits = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
            text.len() == length && text.bytes().all(digits)
        };
        let is_valid = is_hexadecimal(version, 2)
            && version != "ff"
            && is_hexadecimal(trace, 32)
            && is_hexadecimal(span, 16)
            && is_hexadecimal(flags, 2)
            // A later version may have more parts.
            && (version != "00" || parts.next().is_none());
        if !is_valid || u8::from_str_radix(flags, 16).ok()? & 1 == 0 {
            return None;
        }
        let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
        (trace != TraceId::INVALID && span != SpanId::INVALID).then_some(Self { trace, span })
    }
}

/// Has all spans from now on go there. A second call in one process changes nothing.
pub fn export_to(processor: Box<dyn SpanProcessor>) {
    EXPORT.get_or_init(|| processor);
}

/// Sends what has gathered; waits for the collector.
pub fn flush() {
    if let Some(export) = EXPORT.get() {
        drop(export.force_flush());
    }
}

/// A step of a message that the journey has decided on.
pub fn step(message: MessageId, name: &'static str, times: Times) {
    record(|| child(message, name, SpanKind::Internal, times));
}

/// Messages of a request that are on disk: the first span of each, with its steps, and the span of the request in the
/// trace of its client.
pub fn accepted(
    arrival: &Arrival,
    account: AccountId,
    commit: Times,
    messages: impl Iterator<Item = MessageId>,
) {
    if EXPORT.get().is_none() {
        return;
    }
    let whole = Times::since(arrival.began);
    let account = KeyValue::new("waxwing.account.id", account.to_string());
    // The span of the request, to which the first spans of its messages link.
    let request = arrival.client.map(|client| (client, random_span()));
    let mut links = Vec::new();
    for message in messages {
        let (trace, root) = of_message(message);
        if links.len() < MAX_LINKS {
            links.push(Link::with_context(context(trace, root)));
        }
        record(|| Span {
            parent: None,
            attributes: vec![
                KeyValue::new("messaging.operation.name", "send"),
                KeyValue::new("messaging.message.id", message.to_string()),
                account.clone(),
            ],
            links: request
                .map(|(client, span)| Link::with_context(context(client.trace, span)))
                .into_iter()
                .collect(),
            context: (trace, root),
            ..child(message, "message", SpanKind::Producer, whole)
        });
        if let Some(accept) = arrival.accept {
            step(message, "accept", accept);
        }
        step(message, "commit", commit);
    }
    if let Some((client, span)) = request {
        record(|| Span {
            context: (client.trace, span),
            parent: Some(client.span),
            name: "accept messages",
            kind: SpanKind::Server,
            times: whole,
            attributes: vec![account],
            links,
            status: Status::Unset,
        });
    }
}

/// An attempt to deliver a message.
pub fn attempt(message: MessageId, times: Times, attempted: &Attempted<'_>) {
    let Attempted { number, route, host, state, code } = *attempted;
    record(|| {
        let mut span = child(message, "deliver", SpanKind::Client, times);
        span.attributes.extend([
            KeyValue::new("network.protocol.name", "smtp"),
            KeyValue::new("waxwing.attempt", i64::from(number)),
            KeyValue::new("waxwing.route", route.to_owned()),
            KeyValue::new("waxwing.state", state.to_owned()),
        ]);
        let host = host.map(|it| KeyValue::new("server.address", it.to_owned()));
        let code = code.map(|it| KeyValue::new("waxwing.smtp.code", i64::from(it)));
        span.attributes.extend(host.into_iter().chain(code));
        if !matches!(state, "delivered" | "relayed") {
            span.status = Status::error(state.to_owned());
        }
        span
    });
}

/// A post of an event to a webhook. An event that is about no message belongs to no trace.
pub fn posted(body: &str, times: Times, status: Option<u16>) {
    if EXPORT.get().is_none() {
        return;
    }
    let event: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let message = event["data"]["messageId"].as_str().and_then(|it| it.parse().ok());
    let Some(message) = message else { return };
    record(|| {
        let mut span = child(message, "webhook", SpanKind::Client, times);
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        span.attributes.extend([
            KeyValue::new("http.request.method", "POST"),
            KeyValue::new("waxwing.event.type", kind),
        ]);
        let code = status.map(|it| KeyValue::new("http.response.status_code", i64::from(it)));
        span.attributes.extend(code);
        if !status.is_some_and(|it| (200..300).contains(&it)) {
            span.status = Status::error("not accepted");
        }
        span
    });
}

/// The trace of a message, and its first span.
fn of_message(message: MessageId) -> (TraceId, SpanId) {
    let bytes = message.to_bytes();
    let mut last = [0; 8];
    last.copy_from_slice(&bytes[8..]);
    (TraceId::from_bytes(bytes), SpanId::from_bytes(last))
}

fn child(message: MessageId, name: &'static str, kind: SpanKind, times: Times) -> Span {
    let (trace, root) = of_message(message);
    Span {
        context: (trace, random_span()),
        parent: Some(root),
        name,
        kind,
        times,
        attributes: Vec::new(),
        links: Vec::new(),
        status: Status::Unset,
    }
}

fn random_span() -> SpanId {
    let mut bytes = [0; 8];
    fill_random(&mut bytes);
    SpanId::from_bytes(bytes)
}

fn context(trace: TraceId, span: SpanId) -> SpanContext {
    SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::default())
}

fn record(span: impl FnOnce() -> Span) {
    let Some(export) = EXPORT.get() else { return };
    let span = span();
    let (trace, id) = span.context;
    let mut links = SpanLinks::default();
    links.links = span.links;
    export.on_end(SpanData {
        span_context: context(trace, id),
        parent_span_id: span.parent.unwrap_or(SpanId::INVALID),
        parent_span_is_remote: span.kind == SpanKind::Server,
        span_kind: span.kind,
        name: span.name.into(),
        start_time: span.times.start,
        end_time: span.times.end,
        attributes: span.attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links,
        status: span.status,
        instrumentation_scope: InstrumentationScope::builder("waxwing").build(),
    });
}

#[cfg(test)]
mod tests;
