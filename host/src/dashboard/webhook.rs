//! A webhook: is the receiver well?

use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};

use super::form::{self, Form};
use super::frame::{Frame, Place};
use super::guard::{Change, Owned, Theme, Visitor};
use super::response::{Failure, page, to, with_status};
use super::state::Dashboard;
use super::webhooks::{InputFault, WebhookInput, badge, fault, secret_shown};
use super::words::{When, number, percent};
use crate::account::role::Role;
use crate::clock::Timestamp;
use crate::id::{EventId, WebhookId};
use crate::store::{
    DeliveryPage, DeliveryRow, DeliveryState, MAX_COUNTED_DELIVERIES, WebhookAttempt,
    WebhookCounts, WebhookOwner, WebhookRow, WebhookState,
};
use crate::webhooks::owner_operations::{WebhookError, WebhookFields};
use crate::webhooks::types::TYPES;

/// Each with its attempts and its body.
const LINES: u32 = 20;
/// What the row of links above the deliveries offers.
const TABS: [(&str, &str); 4] =
    [("", "All"), ("pending", "Waiting"), ("failed", "Failed"), ("delivered", "Delivered")];
/// From how long ago failed deliveries may be posted once more, in hours.
const SPANS: [(u64, &str); 3] =
    [(1, "the last hour"), (24, "the last 24 hours"), (168, "the last 7 days")];

#[derive(Debug)]
struct AttemptLine {
    at: Option<When>,
    /// The status, or why there is none.
    outcome: String,
    is_taken: bool,
    millis: u64,
    response: String,
}

#[derive(Debug)]
struct DeliveryLine {
    id: String,
    r#type: String,
    state: (&'static str, &'static str, &'static str),
    at: When,
    next: Option<When>,
    attempts: Vec<AttemptLine>,
    body: String,
}

/// How its deliveries of the last 24 hours have ended, and what waits.
#[derive(Debug)]
struct CountsView {
    /// As in `98 %`; none where none has ended.
    success: Option<String>,
    delivered: String,
    failed: String,
    has_failed: bool,
    waiting: String,
}

#[derive(Template)]
#[template(path = "app/webhook.html")]
struct WebhookPage {
    frame: Frame,
    id: String,
    url: String,
    state: (&'static str, &'static str, &'static str),
    is_active: bool,
    reason: String,
    since: When,
    succeeded: Option<When>,
    failing: Option<When>,
    earlier: Option<When>,
    counts: CountsView,
    input: WebhookInput,
    known: [&'static str; TYPES.len()],
    tabs: [(&'static str, &'static str); 4],
    shown: String,
    /// Whether it was just switched off, and may be switched on again from the notice.
    is_undone_here: bool,
    /// Whether the page shows the one delivery that a link named.
    is_one: bool,
    spans: [(u64, &'static str); 3],
    deliveries: Vec<DeliveryLine>,
    next: Option<String>,
    /// Why something of the page was not done.
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/webhook_remove.html")]
struct RemovePage {
    frame: Frame,
    id: String,
    url: String,
}

impl From<WebhookCounts> for CountsView {
    fn from(counts: WebhookCounts) -> Self {
        let WebhookCounts { delivered, failed, waiting } = counts;
        let success = percent(u64::from(delivered), u64::from(delivered) + u64::from(failed));
        let shown = |count: u32| {
            let more = if count >= MAX_COUNTED_DELIVERIES { "+" } else { "" };
            format!("{}{more}", number(i64::from(count)))
        };
        Self {
            success,
            delivered: shown(delivered),
            failed: shown(failed),
            has_failed: failed > 0,
            waiting: shown(waiting),
        }
    }
}

/// What an attempt came to: the status, or why there is none.
pub fn outcome(status: Option<u16>, error: Option<String>) -> String {
    match (status, error) {
        (Some(status), None) => format!("answered {status}"),
        (Some(status), Some(error)) => format!("answered {status}: {error}"),
        (None, error) => error.unwrap_or_default(),
    }
}

/// Class, glyph and word of how a delivery stands.
pub fn delivery_badge(state: DeliveryState) -> (&'static str, &'static str, &'static str) {
    let (class, glyph) = match state {
        DeliveryState::Pending => ("way", "◔"),
        DeliveryState::Delivered => ("good", "✓"),
        DeliveryState::Failed => ("bad", "✕"),
    };
    (class, glyph, state.as_str())
}

impl AttemptLine {
    fn of(attempt: WebhookAttempt, now: Timestamp) -> Self {
        let WebhookAttempt { at, status, error, millis, response } = attempt;
        Self {
            at: Timestamp::parse_rfc3339(&at).map(|at| When::of(at, now)),
            is_taken: error.is_none(),
            outcome: outcome(status, error),
            millis,
            response,
        }
    }
}

impl DeliveryLine {
    fn of(row: DeliveryRow, now: Timestamp) -> Self {
        Self {
            id: row.id.to_string(),
            state: delivery_badge(row.state),
            at: When::of(row.created_at, now),
            next: row.next_attempt_at.map(|at| When::of(at, now)),
            attempts: row.attempts.into_iter().rev().map(|it| AttemptLine::of(it, now)).collect(),
            body: serde_json::to_string_pretty(&row.body).unwrap_or_default(),
            r#type: row.r#type,
        }
    }
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Failure> {
    let row = WebhookRow::find(&dashboard, &visitor, &id).await?;
    let query = Form::of_query(uri.query());
    let mut shown = webhook_page(&dashboard, &visitor, row, &query).await?;
    let notice = match query.get("done") {
        "changed" => "The webhook is changed.",
        "active" => "Events are posted to it from now on.",
        "accepted" => "The receiver accepted the test.",
        "replayed" => "It is posted once more now.",
        "none" => "No failed delivery of that time was there to post once more.",
        "all" => "The failed deliveries are posted once more now.",
        _ => "",
    };
    shown.frame.notice = Some(notice.to_owned()).filter(|it| !it.is_empty());
    let is_off = query.get("done") == "disabled" && !shown.is_active;
    shown.is_undone_here = is_off && shown.frame.is_owner();
    if query.get("done") == "refused" {
        let fault = "The receiver did not accept the test. The newest delivery below says what it answered.";
        shown.fault = Some(fault.to_owned());
    }
    page(&shown)
}

pub async fn change(change: Change<WebhookRow>) -> Result<Response, Failure> {
    let input = WebhookInput::of_form(&change.form);
    match change.dashboard.api.webhooks.change(change.row.id, input.fields()).await {
        Ok(_) => done(&change, "change_webhook", "changed").await,
        Err(error) => {
            let fault = Some(InputFault::of(error)?);
            let Change { dashboard, visitor, row, .. } = change;
            let mut again = webhook_page(&dashboard, &visitor, row, &Form::default()).await?;
            again.input = WebhookInput { fault, ..input };
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
    }
}

pub async fn change_state(change: Change<WebhookRow>) -> Result<Response, Failure> {
    let state = WebhookState::from_name(change.form.get("state"));
    let state =
        state.ok_or_else(|| Failure::Invalid("The state is active or disabled.".to_owned()))?;
    let wanted = WebhookFields { state: Some(state), ..WebhookFields::default() };
    match change.dashboard.api.webhooks.change(change.row.id, wanted).await {
        Ok(_) => done(&change, "change_webhook", state.as_str()).await,
        Err(error) => refused(change, error).await,
    }
}

pub async fn rotate(change: Change<WebhookRow>) -> Result<Response, Failure> {
    match change.dashboard.api.webhooks.rotate(change.row.id).await {
        Ok((row, secret)) => {
            let Change { dashboard, visitor, .. } = change;
            visitor.record(&dashboard, "rotate_webhook", row.id).await?;
            secret_shown(&dashboard, &visitor, &row, secret.text()).await
        }
        Err(error) => refused(change, error).await,
    }
}

pub async fn test(change: Change<WebhookRow>) -> Result<Response, Failure> {
    match Box::pin(change.dashboard.api.webhooks.test(change.row.id)).await {
        Ok(outcome) => {
            let what = if outcome.delivered { "accepted" } else { "refused" };
            done(&change, "test_webhook", what).await
        }
        Err(error) => refused(change, error).await,
    }
}

pub async fn replay(
    Path((_, event)): Path<(String, String)>,
    change: Change<WebhookRow>,
) -> Result<Response, Failure> {
    let event: EventId = event.parse().map_err(|_| Failure::Missing)?;
    match change.dashboard.api.webhooks.replay(change.row.id, event).await {
        Ok(()) => done(&change, "replay_webhook_delivery", "replayed").await,
        Err(error) => refused(change, error).await,
    }
}

pub async fn replay_failed(change: Change<WebhookRow>) -> Result<Response, Failure> {
    let mut spans = SPANS.into_iter().map(|(hours, _)| hours);
    let span = spans.find(|it| it.to_string() == change.form.get("hours"));
    let span = span.ok_or_else(|| Failure::Invalid("Choose one of the spans.".to_owned()))?;
    let api = &change.dashboard.api;
    let since = api.clock.now().before(Duration::from_hours(span));
    match api.webhooks.replay_failed(change.row.id, since, None).await {
        Ok(0) => Ok(to(&format!("/app/webhooks/{}?done=none", change.row.id))),
        Ok(_) => done(&change, "replay_webhook", "all").await,
        Err(error) => refused(change, error).await,
    }
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    visitor.membership()?.at_least(Role::Owner)?;
    let row = WebhookRow::find(&dashboard, &visitor, &id).await?;
    let frame = Frame::of(&dashboard, &visitor, Place::Webhooks).await?;
    page(&RemovePage { frame, id: row.id.to_string(), url: row.url })
}

pub async fn remove(change: Change<WebhookRow>) -> Result<Response, Failure> {
    let id = change.row.id;
    if let Err(error) = change.dashboard.api.webhooks.remove(id).await {
        return Err(Failure::Invalid(fault(error)?));
    }
    change.done("delete_webhook", id, "/app/webhooks?done=removed").await
}

/// Back to the webhook's page, which says what was done.
async fn done(
    change: &Change<WebhookRow>,
    action: &'static str,
    what: &str,
) -> Result<Response, Failure> {
    let id = change.row.id;
    change.done(action, id, &format!("/app/webhooks/{id}?done={what}")).await
}

/// The webhook's page, which says why something was not done.
async fn refused(change: Change<WebhookRow>, error: WebhookError) -> Result<Response, Failure> {
    let fault = fault(error)?;
    let Change { dashboard, visitor, row, .. } = change;
    let mut again = webhook_page(&dashboard, &visitor, row, &Form::default()).await?;
    again.fault = Some(fault);
    with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
}

impl Owned for WebhookRow {
    async fn find(dashboard: &Dashboard, visitor: &Visitor, id: &str) -> Result<Self, Failure> {
        let id: WebhookId = id.parse().map_err(|_| Failure::Missing)?;
        let owner = WebhookOwner::Account(visitor.account()?);
        let row = dashboard.api.store.webhook(id).await?;
        row.filter(|it| it.owner == owner).ok_or(Failure::Missing)
    }
}

async fn webhook_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    row: WebhookRow,
    query: &Form,
) -> Result<WebhookPage, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let when = |at| When::of(at, now);
    let state = DeliveryState::from_name(query.get("state"));
    let after = query.get("after").parse::<EventId>().ok();
    let _page = api.lists.admit(visitor.account()?).await?;
    let one = query.get("delivery").parse::<EventId>().ok();
    let found = match one {
        Some(event) => {
            let delivery = api.store.webhook_delivery(row.id, event).await?;
            DeliveryPage { deliveries: delivery.into_iter().collect(), next: None }
        }
        None => api.store.webhook_deliveries(row.id, state, after, LINES).await?,
    };
    let counts = api.store.webhook_counts(row.id, now).await?;
    let shown = state.map_or("", DeliveryState::as_str);
    let next = found.next.map(|event| {
        let after = event.to_string();
        let pairs = form::query([("state", shown), ("after", &after)]);
        format!("/app/webhooks/{}?{pairs}", row.id)
    });
    let earlier = row.earlier.as_ref().map(|(_, until)| *until).filter(|until| *until > now);
    Ok(WebhookPage {
        frame: Frame::of(dashboard, visitor, Place::Webhooks).await?,
        id: row.id.to_string(),
        state: badge(&row),
        is_active: row.state == WebhookState::Active,
        since: when(row.since),
        succeeded: row.succeeded_at.map(when),
        failing: row.failing_since.map(when),
        earlier: earlier.map(when),
        counts: counts.into(),
        input: WebhookInput::of_row(&row),
        known: TYPES,
        tabs: TABS,
        shown: shown.to_owned(),
        is_undone_here: false,
        is_one: one.is_some(),
        spans: SPANS,
        deliveries: found.deliveries.into_iter().map(|it| DeliveryLine::of(it, now)).collect(),
        next,
        fault: None,
        url: row.url,
        reason: row.reason,
    })
}
