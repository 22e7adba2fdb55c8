//! One message: what happened, and what happens next.

use std::num::NonZeroU32;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, Uri, header};
use serde_json::Value;

use super::form::{self, Form};
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::live::{Asked, Live};
use super::messages::is_under_way;
use super::response::{Failure, PREVIEW, sentence, to};
use super::sending;
use super::state::Dashboard;
use super::webhook::{delivery_badge, outcome};
use super::words::{When, badge, number, shortened};
use crate::account::key::Mode;
use crate::account::role::Role;
use crate::api::messages::{Resending, submit_again};
use crate::api::request_context;
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::inbox::web::content::Content;
use crate::inbox::web::part;
use crate::management::messages::{self, Caller, MessageError};
use crate::message::line::printable;
use crate::message::state::{MessageState, OnCancel};
use crate::store::{AttemptRow, EventRow, MessageDelivery, MessageDetails, MessageRow};

/// Letters of the number of a page in its form.
const MAX_ONCE_LETTERS: usize = 64;

#[derive(Debug)]
struct EventView {
    at: When,
    title: String,
    badge: (&'static str, &'static str),
    detail: String,
}

#[derive(Debug)]
struct AttemptView {
    number: u32,
    at: When,
    /// As in `0.4 s`.
    took: String,
    outcome: &'static str,
    badge: (&'static str, &'static str),
    host: String,
    route: String,
    tls: Option<String>,
    reply: String,
    lines: Vec<(&'static str, String)>,
    is_open: bool,
}

/// What a webhook was told of the message.
#[derive(Debug)]
struct ToldView {
    /// The page of the delivery.
    link: String,
    url: String,
    r#type: String,
    state: (&'static str, &'static str, &'static str),
    /// What its last attempt came to; empty where there was none yet.
    answer: String,
    at: When,
    next: Option<When>,
}

/// When the content of the message was dropped, and after how many days the server does so now.
#[derive(Debug)]
struct DroppedView {
    at: When,
    days: String,
}

/// What the page shows besides the message's own record.
struct Further {
    content: Option<Content>,
    deliveries: (Vec<MessageDelivery>, bool),
    was_for_the_world: bool,
    /// `[retention] content_days`.
    content_days: String,
}

/// What one plugin has decided.
#[derive(Debug)]
pub struct DecisionView {
    pub slot: String,
    pub plugin: String,
    pub verdict: String,
    pub reason: String,
    pub micros: String,
    pub blank: String,
}

#[derive(Template)]
#[template(path = "app/message.html", blocks = ["live"])]
struct MessagePage {
    frame: Frame,
    row: MessageRow,
    badge: (&'static str, &'static str),
    /// The recipient, in the query of a link.
    to_query: String,
    sentence: String,
    accepted: When,
    cost: String,
    events: Vec<EventView>,
    attempts: Vec<AttemptView>,
    decisions: Vec<DecisionView>,
    told: Vec<ToldView>,
    /// How many these are, where webhooks were told more.
    newest_told: Option<usize>,
    dropped: Option<DroppedView>,
    /// None where the content is no longer kept.
    content: Option<Content>,
    size: String,
    can_cancel: bool,
    can_retry: bool,
    can_resend: bool,
    /// Of this page: its button sends the message once.
    once: String,
    live: Live,
    metadata: Vec<(String, String)>,
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
    (asked, uri): (Asked, Uri),
) -> Result<Response, Failure> {
    let row = find(&dashboard, &visitor, &id).await?;
    let now = dashboard.api.clock.now();
    let details = dashboard.api.store.message(row.id).await?;
    let content = messages::content(&dashboard.api.store, &row).await?;
    let content_days = dashboard.api.settings.value("retention", "content_days");
    let further = Further {
        content: content.map(|raw| Content::of(&raw)),
        deliveries: messages::deliveries(&dashboard.api.store, &row, &details.events).await?,
        was_for_the_world: was_for_the_world(&dashboard, &row).await?,
        content_days: content_days.unwrap_or_default(),
    };
    let frame = Frame::of(&dashboard, &visitor, Place::Messages).await?;
    let shown = MessagePage::of(frame, details, further, now);
    let sent = Form::of_query(uri.query());
    shown.live.answer(asked, &sent, (&shown, &shown.as_live()))
}

/// The HTML, for the frame of the page.
pub async fn html(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let row = find(&dashboard, &visitor, &id).await?;
    let raw = messages::content(&dashboard.api.store, &row).await?.ok_or(Failure::Missing)?;
    let html = part::preview_html(&raw).ok_or(Failure::Missing)?;
    let mut response = Html(html).into_response();
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, PREVIEW);
    Ok(response)
}

/// The whole message, to be saved.
pub async fn raw(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let row = find(&dashboard, &visitor, &id).await?;
    let raw = messages::content(&dashboard.api.store, &row).await?.ok_or(Failure::Missing)?;
    let mut response = raw.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("message/rfc822"));
    if let Ok(name) = HeaderValue::from_str(&format!("attachment; filename=\"{}.eml\"", row.id)) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

pub async fn cancel(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let row = find(&dashboard, &sent.visitor, &id).await?;
    let (api, role) = (&dashboard.api, sent.visitor.role()?);
    messages::cancel(&api.store, Caller::Person(role), row.id, api.clock.now())
        .await
        .map_err(refused)?;
    changed(&dashboard, &sent.visitor, "cancel_message", row.id).await
}

pub async fn retry(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let row = find(&dashboard, &sent.visitor, &id).await?;
    let (api, role) = (&dashboard.api, sent.visitor.role()?);
    messages::retry(&api.store, Caller::Person(role), row.id, api.clock.now())
        .await
        .map_err(refused)?;
    api.due.notify_one();
    changed(&dashboard, &sent.visitor, "retry_message", row.id).await
}

/// Sends the content once more, as a new message. One page sends it once, however often its button is pressed.
pub async fn resend(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form: sent } = &sent;
    let row = find(&dashboard, visitor, &id).await?;
    visitor.membership()?.role.at_least(Role::Member)?;
    if !was_for_the_world(&dashboard, &row).await? {
        let message = "A message that waits, or was a test, is not sent again from here.";
        return Err(Failure::Invalid(message.to_owned()));
    }
    let key = sending::key(&dashboard, visitor).await?;
    let caller = sending::caller(&dashboard, (key, visitor.guest.from.ip), NonZeroU32::MIN)?;
    let once = Some(sent.get("once")).filter(|it| !it.is_empty() && it.len() <= MAX_ONCE_LETTERS);
    let once = once.map(|it| format!("resend from the dashboard {it}"));
    let receipt = match submit_again(&dashboard.api, &caller, row.id, once).await? {
        Resending::Sent(receipt) => {
            visitor.record(&dashboard, "resend_message", row.id).await?;
            receipt
        }
        Resending::SentBefore(receipt) => receipt,
        // The first of two clicks sends it, and has no identifier to lead to yet.
        Resending::UnderWay => {
            let pairs = form::query([("q", row.to.as_str()), ("done", "resent")]);
            return Ok(to(&format!("/app/messages?{pairs}")));
        }
    };
    Ok(to(&format!("/app/messages/{}", receipt.message_id)))
}

/// Whether the message may be sent again: a message that has left, and was no test, whose recipient would get the test
/// for real.
async fn was_for_the_world(dashboard: &Dashboard, row: &MessageRow) -> Result<bool, Failure> {
    let waits = matches!(row.state.on_cancel(), OnCancel::Cancel { .. });
    if waits || row.state == MessageState::Sending || row.template_revision == Some(0) {
        return Ok(false);
    }
    Ok(dashboard.api.store.key_mode(row.key_id).await? == Some(Mode::Live))
}

async fn changed(
    dashboard: &Dashboard,
    visitor: &Visitor,
    action: &'static str,
    id: MessageId,
) -> Result<Response, Failure> {
    visitor.record(dashboard, action, id).await?;
    Ok(to(&format!("/app/messages/{id}")))
}

/// Another account's message is not there.
async fn find(dashboard: &Dashboard, visitor: &Visitor, id: &str) -> Result<MessageRow, Failure> {
    let account = visitor.account()?;
    let id: MessageId = id.parse().map_err(|_| Failure::Missing)?;
    let row = dashboard.api.store.message_row(id).await?;
    row.filter(|row| row.account_id == account).ok_or(Failure::Missing)
}

fn refused(error: MessageError) -> Failure {
    match error {
        MessageError::Store(error) => error.into(),
        MessageError::Role(error) => error.into(),
        late @ (MessageError::TooLate(_) | MessageError::NotDeferred(_)) => {
            Failure::Invalid(sentence(&late.to_string()))
        }
    }
}

impl MessagePage {
    fn of(frame: Frame, details: MessageDetails, further: Further, now: Timestamp) -> Self {
        let MessageDetails { row, size, content_dropped_at, events, attempts, decisions } = details;
        let row = MessageRow { subject: printable(&row.subject), ..row };
        let Further { content, deliveries, was_for_the_world, content_days } = further;
        let (told, has_more_told) = deliveries;
        let newest_told = has_more_told.then_some(told.len());
        let last = attempts.len();
        let next = row.next_attempt_at.map_or(0, Timestamp::millis);
        let spam = row.complained_at.map_or(0, Timestamp::millis);
        let lengths =
            [events.len(), attempts.len()].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        let shown = lengths.into_iter().chain([next, spam]).map(|it| it.to_string());
        let shown = shown.chain([row.state.as_str().to_owned(), row.reason.clone()]);
        let attempted = |it: &MessageDelivery| {
            let last = it.last_attempt.as_ref().map_or("", |last| last.at.as_str());
            format!("{} {} {last}", it.event, it.state.as_str())
        };
        let shown = shown.chain(told.iter().map(attempted));
        let path = format!("/app/messages/{}", row.id);
        let live = Live::new(Some(&path), &[], shown, is_under_way(&row, now));
        let is_member = frame.is_member();
        Self {
            badge: badge(row.state),
            to_query: url::form_urlencoded::byte_serialize(row.to.as_bytes()).collect(),
            sentence: said(&row, attempts.last(), now),
            accepted: When::of(row.created_at, now),
            cost: cost(&row),
            events: events.into_iter().map(|it| EventView::of(it, now)).collect(),
            attempts: attempts
                .into_iter()
                .enumerate()
                .map(|(at, it)| {
                    let order = if at + 1 == last { Order::Last } else { Order::Earlier };
                    AttemptView::of(it, order, now)
                })
                .collect(),
            decisions: decisions.as_array().into_iter().flatten().map(DecisionView::of).collect(),
            told: told.into_iter().map(|it| ToldView::of(it, now)).collect(),
            newest_told,
            dropped: content_dropped_at
                .map(|at| DroppedView { at: When::of(at, now), days: content_days }),
            size: size.map_or_else(String::new, |it| format!("{} bytes", number(i64::from(it)))),
            can_cancel: is_member && matches!(row.state.on_cancel(), OnCancel::Cancel { .. }),
            can_resend: is_member && content.is_some() && was_for_the_world,
            once: request_context::current().to_string(),
            can_retry: is_member && row.state == MessageState::Deferred,
            live,
            metadata: row
                .metadata
                .iter()
                .map(|(name, value)| (name.clone(), plain(value)))
                .collect(),
            frame,
            row,
            content,
        }
    }
}

impl EventView {
    fn of(row: EventRow, now: Timestamp) -> Self {
        let word = row.r#type.as_str().trim_start_matches("message.");
        let badge = match MessageState::from_name(word) {
            Some(state) => badge(state),
            None => ("spam", "!"),
        };
        Self { at: When::of(row.at, now), title: word.to_owned(), badge, detail: row.detail }
    }
}

/// Where an attempt stands among those of its message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Earlier,
    Last,
}

impl AttemptView {
    fn of(row: AttemptRow, order: Order, now: Timestamp) -> Self {
        let took = row.started_at.until(row.ended_at).as_millis();
        let is_well = matches!(row.outcome, MessageState::Delivered | MessageState::Relayed);
        let host = match (&row.host, &row.address) {
            (Some(host), Some(address)) => format!("{host} ({address})"),
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => row.route.clone(),
        };
        let code = row.code.map_or_else(String::new, |code| format!("{code} "));
        Self {
            number: row.number,
            at: When::of(row.started_at, now),
            took: format!("{}.{:03} s", took / 1_000, took % 1_000),
            outcome: row.outcome.as_str(),
            badge: badge(row.outcome),
            host,
            route: row.route,
            tls: row.tls,
            reply: if row.reply.starts_with(code.trim()) { row.reply } else { code + &row.reply },
            lines: row.conversation.lines().map(speaker).collect(),
            is_open: order == Order::Last && !is_well,
        }
    }
}

impl ToldView {
    fn of(row: MessageDelivery, now: Timestamp) -> Self {
        let MessageDelivery { webhook, event, .. } = row;
        Self {
            link: format!("/app/webhooks/{webhook}?delivery={event}"),
            state: delivery_badge(row.state),
            answer: row.last_attempt.map_or_else(String::new, |it| outcome(it.status, it.error)),
            at: When::of(row.created_at, now),
            next: row.next_attempt_at.map(|at| When::of(at, now)),
            r#type: row.r#type,
            url: row.url,
        }
    }
}

/// Who says a line of the conversation, for its colour.
fn speaker(line: &str) -> (&'static str, String) {
    let class = match line.split_once(": ") {
        Some(("C", _)) => "us",
        Some(("S", _)) => "them",
        Some(_) | None => "note",
    };
    (class, line.to_owned())
}

impl DecisionView {
    pub fn of(plugin: &Value) -> Self {
        let text = |name: &str| plain(&plugin[name]);
        let blank: Vec<String> =
            plugin["blank"].as_array().into_iter().flatten().map(plain).collect();
        Self {
            slot: text("slot"),
            plugin: format!("{} {}", text("name"), text("version")),
            verdict: text("verdict"),
            reason: text("reason"),
            micros: plugin["micros"].as_i64().map_or_else(String::new, number),
            blank: blank.join(", "),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    }
}

/// The answer to "what happened, and what happens next".
fn said(row: &MessageRow, last: Option<&AttemptRow>, now: Timestamp) -> String {
    let host = last.and_then(|it| it.host.clone());
    let by = host.map_or_else(String::new, |host| format!(" {host}"));
    let then = row.next_attempt_at.map(|at| When::of(at, now));
    let then = then.map_or_else(String::new, |at| {
        format!("; the next attempt is {} ({})", at.short, at.exact)
    });
    let reason = shortened(&row.reason);
    // A reason that was cut ends in an ellipsis, and the sentence with it.
    let end = if reason.ends_with('…') { "" } else { "." };
    let reason = reason.trim_end_matches('.');
    match row.state {
        MessageState::Delivered if last.is_some_and(|it| it.route == "sandbox") => {
            "The sandbox inbox has it: nothing has left this server.".to_owned()
        }
        MessageState::Delivered => format!("The recipient's server{by} took it: {reason}{end}"),
        MessageState::Relayed => {
            format!("The smarthost{by} took it, and delivers it from there: {reason}{end}")
        }
        MessageState::Scheduled => format!("It waits for the time that its sender has set{then}."),
        MessageState::Queued => format!("It waits for its first attempt{then}."),
        MessageState::Sending => "It is being handed over at this moment.".to_owned(),
        MessageState::Deferred if then.is_empty() => {
            format!("It was not taken for now: {reason}{end}")
        }
        MessageState::Deferred => format!("It was not taken for now: {reason}{then}."),
        MessageState::Bounced => {
            format!("The recipient's server{by} refused it for good: {reason}{end}")
        }
        MessageState::Failed => {
            format!("It could not be delivered, and is given up: {reason}{end}")
        }
        MessageState::Suppressed => format!("It was never sent: {reason}{end}"),
        MessageState::Canceled => format!("It was not sent: {reason}{end}"),
    }
}

fn cost(row: &MessageRow) -> String {
    match (row.credits.0, row.refunded.0) {
        (0, _) => "nothing".to_owned(),
        (1, 0) => "1 credit".to_owned(),
        (cost, 0) => format!("{} credits", number(cost)),
        (cost, refunded) => format!("{} credits, {} refunded", number(cost), number(refunded)),
    }
}
