//! The shapes of messages and suppressions.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use super::Problem;

/// Where a message stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    Scheduled,
    Queued,
    Sending,
    Delivered,
    Relayed,
    Deferred,
    Bounced,
    Failed,
    Suppressed,
    Canceled,
}

/// A message on one line of a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageLine {
    /// `msg_…`
    id: String,
    /// `acc_…`
    account_id: String,
    /// The key that it was sent with, `key_…`.
    key_id: String,
    /// `api`, `smtp` or `dashboard`.
    channel: String,
    /// Its template; none for a message that came whole.
    template: Option<String>,
    /// The template's revision.
    template_revision: Option<u64>,
    /// The author: the address in From.
    from: String,
    /// The envelope's recipient.
    to: String,
    /// The subject.
    subject: String,
    /// Where it stands.
    state: MessageState,
    /// Why it stands there.
    reason: String,
    /// What it cost.
    credits: i64,
    /// What of that was given back.
    refunded: i64,
    /// Words to find it by.
    tags: Vec<String>,
    /// Your own facts about it.
    metadata: BTreeMap<String, String>,
    /// When it is attempted next; none while an attempt is under way, or where it rests.
    #[schema(format = "date-time")]
    next_attempt_at: Option<String>,
    /// When it was accepted.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it last changed.
    #[schema(format = "date-time")]
    updated_at: String,
    /// When its recipient called it spam.
    #[schema(format = "date-time")]
    complained_at: Option<String>,
    /// The message that it sends once more.
    resent_from: Option<String>,
}

/// Some of the messages.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessagePage {
    /// Newest first.
    data: Vec<MessageLine>,
    /// Whether there may be more.
    has_more: bool,
    /// What to give as `after` for the next page, where there may be more.
    next: Option<String>,
}

/// All that is known of a message.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    #[serde(flatten)]
    line: MessageLine,
    /// Octets of its content; none where that is no longer kept.
    size: Option<u32>,
    /// What happened to it, oldest first.
    events: Vec<Event>,
    /// Each attempt to hand it over, oldest first.
    attempts: Vec<Attempt>,
    /// Each plugin: name, version, digest, settings revision, verdict, reason, microseconds; of the
    /// renderer also `blank`, the variables that went out blank.
    #[schema(value_type = Vec<Object>)]
    decisions: Vec<serde_json::Value>,
}

/// Something that happened.
#[derive(Serialize, ToSchema)]
pub struct Event {
    /// `evt_…`
    id: String,
    /// `message.<state>`, or what else there is.
    r#type: String,
    /// Why.
    detail: String,
    /// When.
    #[schema(format = "date-time")]
    at: String,
}

/// What happened, oldest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventList {
    /// The events.
    data: Vec<Event>,
    /// Always false.
    has_more: bool,
}

/// One attempt to hand a message over.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Which attempt, from 1.
    number: u32,
    /// When it began.
    #[schema(format = "date-time")]
    started_at: String,
    /// When it ended.
    #[schema(format = "date-time")]
    ended_at: String,
    /// `sandbox`, `direct`, or the name of a smarthost.
    route: String,
    /// The host that answered, or did not.
    host: Option<String>,
    /// Its address and port.
    address: Option<String>,
    /// How the connection was encrypted; none where it was not.
    tls: Option<String>,
    /// The state that it led to.
    outcome: MessageState,
    /// The reply's code.
    code: Option<u16>,
    /// Its enhanced status code (RFC 3463), as in `5.1.1`.
    enhanced: Option<String>,
    /// Its words, or what happened where there was no reply.
    reply: String,
    /// The dialog, line by line, without the message's content and any secret.
    conversation: String,
}

/// The attempts, oldest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptList {
    /// The attempts.
    data: Vec<Attempt>,
    /// Always false.
    has_more: bool,
}

/// A message that was sent once more.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the member's name in the answer")]
pub struct Resent {
    /// Always true.
    success: bool,
    /// The new message, `msg_…`.
    message_id: String,
    /// The balance after it.
    credits_remaining: i64,
    /// `queued` or `suppressed`.
    state: MessageState,
    /// The message that it was.
    resent_from: String,
}

/// The refusals of what only reads.
#[derive(IntoResponses)]
pub enum ReadRefusals {
    /// `BAD_REQUEST`: the query, or the path.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// `UNAUTHORIZED`: the key is missing, unknown, expired or switched off.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// `FORBIDDEN`: the key has not the scope `admin`, or is for other domains or templates; or the
    /// account is suspended.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `NOT_FOUND`: the account has none of this name.
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// `RATE_LIMITED`: too many requests, or failed logins.
    #[response(status = 429, content_type = "application/problem+json")]
    TooManyRequests(Problem),
    /// `INTERNAL`
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// `UNAVAILABLE`: the store gives no answer, or the server is shutting down.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}

/// The refusals of a message that cannot be called back, or not be tried again.
#[derive(IntoResponses)]
pub enum StateRefusals {
    /// `BAD_REQUEST`: the path.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// `UNAUTHORIZED`: the key is missing, unknown, expired or switched off.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// `FORBIDDEN`: the key has not the scope `admin`, or is for other domains or templates; or the
    /// account is suspended.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `NOT_FOUND`: the account has no such message.
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// `CONFLICT`: it is in a state in which that cannot be done; the message names it.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// `RATE_LIMITED`: too many failed logins.
    #[response(status = 429, content_type = "application/problem+json")]
    TooManyRequests(Problem),
    /// `INTERNAL`
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// `UNAVAILABLE`: the store gives no answer, or the server is shutting down.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}

/// The refusals of a message that is to be sent once more.
#[derive(IntoResponses)]
pub enum ResendRefusals {
    /// `BAD_REQUEST`: the path, or the Idempotency-Key.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// `UNAUTHORIZED`: the key is missing, unknown, expired or switched off.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// `INSUFFICIENT_BALANCE`: nothing was charged, nothing was stored.
    #[response(status = 402, content_type = "application/problem+json")]
    PaymentRequired(Problem),
    /// `DOMAIN_NOT_VERIFIED`, `RESTRICTED_TEMPLATE` or `FORBIDDEN`.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `NOT_FOUND`: the account has no such message.
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// `CONFLICT`: its content is no longer kept; or a request with this Idempotency-Key is running.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// `IDEMPOTENCY_CONFLICT`: the key was used for another request.
    #[response(status = 422, content_type = "application/problem+json")]
    Unprocessable(Problem),
    /// `RATE_LIMITED`: see `Retry-After`.
    #[response(status = 429, content_type = "application/problem+json")]
    TooManyRequests(Problem),
    /// `INTERNAL`
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// `UNAVAILABLE`: a plugin failed closed, the store is not reachable, or the server is shutting
    /// down; see `Retry-After`.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}
