//! The trace of a message is found by its identifier, and joins that of its client.

use std::sync::{Arc, Mutex};

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;

use super::*;
use crate::clock::Timestamp;

const CLIENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Keeps spans in place of a collector. All tests of this process share it.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

static KEPT: OnceLock<Kept> = OnceLock::new();

impl SpanProcessor for Kept {
    fn on_start(&self, _: &mut opentelemetry_sdk::trace::Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.0.lock().expect("nobody panicked").push(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

fn message() -> MessageId {
    let kept = KEPT.get_or_init(Kept::default).clone();
    export_to(Box::new(kept));
    MessageId::new(Timestamp::from_millis(1_800_000_000_000))
}

/// The spans of a trace, by name.
fn spans(trace: TraceId) -> Vec<SpanData> {
    let kept = KEPT.get().expect("a message was made").0.lock().expect("nobody panicked");
    let mut spans: Vec<SpanData> =
        kept.iter().filter(|it| it.span_context.trace_id() == trace).cloned().collect();
    spans.sort_by(|one, other| one.name.cmp(&other.name));
    spans
}

fn has(span: &SpanData, key: &str, value: &str) -> bool {
    span.attributes.iter().any(|it| it.key.as_str() == key && it.value.as_str() == value)
}

fn headers(traceparent: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("traceparent", traceparent.parse().expect("a value"));
    headers
}

#[test]
fn the_whole_journey_is_one_trace_that_the_identifier_names() {
    let (message, account) = (message(), AccountId::new(Timestamp::from_millis(0)));
    let now = || Times::since(Instant::now());
    step(message, "policy", now());
    step(message, "render", now());
    let arrival = Arrival::over_smtp(Instant::now());
    accepted(&arrival, account, now(), [message].into_iter());
    let attempted = Attempted {
        number: 1,
        route: "direct",
        host: Some("mx.example.org"),
        state: "deferred",
        code: Some(451),
    };
    attempt(message, now(), &attempted);
    let body = format!(r#"{{"type":"message.deferred","data":{{"messageId":"{message}"}}}}"#);
    posted(&body, Times::of_the_last(Duration::from_millis(5)), Some(200));
    posted(r#"{"type":"domain.verified","data":{}}"#, now(), None);

    let (trace, root) = of_message(message);
    let spans = spans(trace);
    let names: Vec<&str> = spans.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["accept", "commit", "deliver", "message", "policy", "render", "webhook"]);
    for span in &spans {
        let is_root = span.name == "message";
        assert_eq!(span.span_context.span_id() == root, is_root, "{}", span.name);
        assert_eq!(span.parent_span_id == root, !is_root, "{}", span.name);
        assert!(span.start_time <= span.end_time, "{}", span.name);
    }
    assert!(has(&spans[3], "messaging.message.id", &message.to_string()));
    assert!(has(&spans[2], "server.address", "mx.example.org"));
    assert_eq!(spans[2].status, Status::error("deferred"));
    assert!(has(&spans[6], "http.response.status_code", "200"));
    assert_eq!(spans[6].status, Status::Unset);
}

#[test]
fn a_request_with_traceparent_has_its_span_in_the_trace_of_its_client() {
    let (message, account) = (message(), AccountId::new(Timestamp::from_millis(0)));
    let arrival = Arrival::over_http(Instant::now(), &headers(CLIENT));
    accepted(&arrival, account, Times::since(Instant::now()), [message].into_iter());
    let client = Client::recorded(CLIENT).expect("it is valid");
    let found = spans(client.trace);
    let [request] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((request.parent_span_id, request.parent_span_is_remote), (client.span, true));
    let (trace, root) = of_message(message);
    assert_eq!(request.links[0].span_context, context(trace, root));
    let spans = spans(trace);
    let first = spans.iter().find(|it| it.name == "message").expect("a first span");
    assert_eq!(first.links[0].span_context, request.span_context);
}

#[test]
fn a_header_that_is_not_valid_or_of_an_unrecorded_trace_is_ignored() {
    assert!(Client::recorded(CLIENT).is_some());
    assert!(Client::recorded(&CLIENT.replacen("00-", "01-", 1)).is_some(), "a later version");
    assert!(Client::recorded(&format!("01{}-more", CLIENT.trim_start_matches("00"))).is_some());
    for wrong in [
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319-b7ad6b71692033310-01",
    ] {
        assert_eq!(Client::recorded(wrong), None, "{wrong}");
    }
}
