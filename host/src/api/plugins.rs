//! `/v1/plugins`: what each slot runs, and the operator's orders.

use axum::Json;
use axum::extract::{Path, Request, State};
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::body;
use super::operator::{Operator, with_body};
use super::problem::{Code, Problem};
use super::query::Query;
use super::shapes::{Installed, Listing, LogPage, Page, Slot, SlotSettings};
use super::state::Api;
use crate::fair_share::ShareOwner;
use crate::journey::accept::json::not_an_object;
use crate::journey::accept::refusal::{Fault, Outage, Refusal};
use crate::plugin::impact::Impact;
use crate::plugin::slot::{Activation, ImpactRule, SlotName};
use crate::plugin::supervisor::{Order, OrderError};
use crate::plugin::{Artifact, ComponentError, Diagnostic, LoadError};
use crate::upkeep::replay::{self, Brought, ReplayError};

const LOG_LINES: u32 = 100;

/// How a component that is installed becomes live, if not as the slot's file says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InstallQuery {
    /// `auto`, `ask`, or a number of answers that may change.
    impact: Option<String>,
    /// Live calls that are also made to it first.
    shadow: Option<u32>,
    /// `wxsig_…`
    signature: Option<String>,
}

/// How many lines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogQuery {
    limit: Option<u32>,
}

/// How many calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShadowQuery {
    calls: u32,
}

/// All slots.
#[utoipa::path(get, path = "/v1/plugins", operation_id = "list_plugins", tag = "plugins",
    security(("apiKey" = [])),
    responses((status = 200, description = "All slots", body = Listing),
              super::shapes::OperatorReadRefusals))]
pub async fn list(_: Operator, State(api): State<Api>) -> Json<Page<Slot>> {
    api.plugins.refresh().await;
    let slots = api.plugins.statuses().slots();
    Json(Page::whole(slots.into_iter().map(|(name, view)| Slot::new(name, view))))
}

/// One slot.
#[utoipa::path(get, path = "/v1/plugins/{slot}", operation_id = "show_plugin", tag = "plugins",
    security(("apiKey" = [])),
    params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name")),
    responses((status = 200, description = "The slot", body = Slot),
              super::shapes::OperatorReadRefusals))]
pub async fn show(
    _: Operator,
    State(api): State<Api>,
    Path(slot): Path<String>,
) -> Result<Json<Slot>, Problem> {
    let slot = named(&slot)?;
    api.plugins.refresh().await;
    Ok(Json(view(&api, slot)?))
}

/// Puts a component into a slot; it is validated, then goes live by the slot's rules.
#[utoipa::path(put, path = "/v1/plugins/{slot}/component", tag = "plugins",
    security(("apiKey" = [])),
    params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name"),
           ("impact" = inline(Option<super::shapes::ImpactRule>), Query, description = "auto, ask, or a number of answers that may change"),
           ("shadow" = inline(Option<super::shapes::Count>), Query, description = "live calls that are also made to it first"),
           ("signature" = Option<String>, Query, description = "wxsig_…")),
    request_body(content = inline(super::shapes::Component), content_type = "application/wasm"),
    responses((status = 202, description = "It is being validated", body = Installed),
              super::shapes::OperatorChangeRefusals))]
pub async fn install(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    Path(slot): Path<String>,
    Query(query): Query<InstallQuery>,
    request: Request,
) -> Result<(StatusCode, Json<Installed>), Problem> {
    let request = with_body(operator, request).await?;
    let slot = named(&slot)?;
    let activation = activation(&query)?;
    let component = component(&api, request).await?;
    if component.is_empty() {
        return Err(Refusal::fault("component", "missing", "the body is the component").into());
    }
    let digest = Artifact::new(component.clone()).digest().to_owned();
    let order = Order::Install { component, signature: query.signature, activation };
    give(&api, &slot, order).await?;
    Ok((StatusCode::ACCEPTED, Json(Installed { slot, digest })))
}

/// The component that waits becomes live; one in quarantine is forgiven.
#[utoipa::path(post, path = "/v1/plugins/{slot}/activate", tag = "plugins",
    security(("apiKey" = [])), params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name")),
    responses((status = 200, description = "The slot", body = Slot),
              super::shapes::OperatorChangeRefusals))]
pub async fn activate(
    _: Operator,
    State(api): State<Api>,
    Path(slot): Path<String>,
) -> Result<Json<Slot>, Problem> {
    ordered(&api, &slot, Order::Activate).await
}

/// The previous version comes back.
#[utoipa::path(post, path = "/v1/plugins/{slot}/rollback", tag = "plugins",
    security(("apiKey" = [])), params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name")),
    responses((status = 200, description = "The slot", body = Slot),
              super::shapes::OperatorChangeRefusals))]
pub async fn roll_back(
    _: Operator,
    State(api): State<Api>,
    Path(slot): Path<String>,
) -> Result<Json<Slot>, Problem> {
    ordered(&api, &slot, Order::RollBack).await
}

/// The slot is switched off; a broader plugin takes its calls.
#[utoipa::path(post, path = "/v1/plugins/{slot}/disable", tag = "plugins",
    security(("apiKey" = [])), params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name")),
    responses((status = 200, description = "The slot", body = Slot),
              super::shapes::OperatorChangeRefusals))]
pub async fn disable(
    _: Operator,
    State(api): State<Api>,
    Path(slot): Path<String>,
) -> Result<Json<Slot>, Problem> {
    ordered(&api, &slot, Order::Disable).await
}

/// The next calls are also made to the component that waits.
#[utoipa::path(post, path = "/v1/plugins/{slot}/shadow", tag = "plugins",
    security(("apiKey" = [])),
    params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name"),
           ("calls" = inline(super::shapes::Count), Query, description = "How many calls")),
    responses((status = 200, description = "The slot", body = Slot),
              super::shapes::OperatorChangeRefusals))]
pub async fn shadow(
    _: Operator,
    State(api): State<Api>,
    Path(slot): Path<String>,
    Query(ShadowQuery { calls }): Query<ShadowQuery>,
) -> Result<Json<Slot>, Problem> {
    ordered(&api, &slot, Order::Shadow { calls }).await
}

/// The settings of the plugin that answers a slot's calls, and the schema by which they are read.
#[utoipa::path(get, path = "/v1/plugins/{slot}/settings", operation_id = "show_settings", tag = "plugins",
    security(("apiKey" = [])),
    params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name")),
    responses((status = 200, description = "The settings", body = SlotSettings),
              super::shapes::OperatorReadRefusals))]
pub async fn settings(
    _: Operator,
    State(api): State<Api>,
    Path(slot): Path<String>,
) -> Result<Json<SlotSettings>, Problem> {
    let slot = named(&slot)?;
    api.plugins.refresh().await;
    let found = api.plugins.statuses().slot(&slot);
    let view = found.ok_or_else(|| unknown(slot.clone()))?;
    let nothing =
        || Problem::new(Code::NotFound, OrderError::NothingToConfigure(slot.clone()).to_string());
    let active = view.active.as_ref().ok_or_else(nothing)?;
    Ok(Json(SlotSettings::of(&slot, active)))
}

/// Gives a plugin these settings and no others, by writing them into the slot's file.
///
/// What the plugin's own schema refuses is not written. They are proven as after every change of the file, and live when
/// the slot's rules let them; the state of the slot shows their progress. A rollback brings the ones before back.
#[utoipa::path(put, path = "/v1/plugins/{slot}/settings", tag = "plugins",
    security(("apiKey" = [])),
    params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name")),
    request_body(content = inline(super::shapes::PluginSettings), description = "The settings, by the schema of the plugin's manifest"),
    responses((status = 202, description = "The slot; the settings are being validated", body = Slot),
              super::shapes::SettingsRefusals))]
pub async fn configure(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    Path(slot): Path<String>,
    request: Request,
) -> Result<(StatusCode, Json<Slot>), Problem> {
    let (_, body, _memory) =
        body::json_of(operator, |_| ShareOwner::Operator, &api, request).await?;
    let slot = named(&slot)?;
    let Value::Object(settings) = body else {
        return Err(Refusal::bad_request(vec![not_an_object("the body", &body)]).into());
    };
    give(&api, &slot, Order::Configure { settings }).await?;
    Ok((StatusCode::ACCEPTED, Json(view(&api, slot)?)))
}

/// What a component would change of the recorded calls and of published templates; nothing becomes live.
#[utoipa::path(post, path = "/v1/plugins/{slot}/impact", tag = "plugins",
    security(("apiKey" = [])),
    params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name"),
           ("signature" = Option<String>, Query, description = "wxsig_…")),
    request_body(content = inline(super::shapes::Component), content_type = "application/wasm"),
    responses((status = 200, description = "What would change", body = Impact),
              super::shapes::OperatorChangeRefusals))]
pub async fn impact(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    Path(slot): Path<String>,
    Query(query): Query<InstallQuery>,
    request: Request,
) -> Result<Json<Impact>, Problem> {
    let request = with_body(operator, request).await?;
    let slot = named(&slot)?;
    let component = Artifact::new(component(&api, request).await?);
    let brought = Brought { component, signature: query.signature };
    let impact = replay::impact(&api.plugins, &*api.evidence, slot, &brought).await;
    Ok(Json(impact.map_err(|error| not_replayed(&error.into()))?))
}

/// What the plugins of a slot logged last.
#[utoipa::path(get, path = "/v1/plugins/{slot}/logs", tag = "plugins",
    security(("apiKey" = [])),
    params(("slot" = inline(super::shapes::SlotRef), Path, description = "The slot's name"),
           ("limit" = inline(Option<super::shapes::Count>), Query, description = "At most so many lines; 100")),
    responses((status = 200, description = "The lines, oldest first", body = Listing),
              super::shapes::OperatorReadRefusals))]
pub async fn logs(
    _: Operator,
    State(api): State<Api>,
    Path(slot): Path<String>,
    Query(LogQuery { limit }): Query<LogQuery>,
) -> Result<Json<LogPage>, Problem> {
    let slot = named(&slot)?;
    view(&api, slot.clone())?;
    let most = usize::try_from(limit.unwrap_or(LOG_LINES)).unwrap_or(usize::MAX);
    let (lines, dropped) = api.plugins.log_lines(&slot, most);
    Ok(Json(LogPage::new(lines, dropped)))
}

/// Reads a component from a body.
pub async fn component(api: &Api, request: Request) -> Result<Bytes, Problem> {
    let limit = usize::try_from(api.plugins.max_component_bytes()).unwrap_or(usize::MAX);
    let read = body::read_up_to(limit, request, ShareOwner::Operator, api).await;
    let (bytes, _memory) = read.map_err(|problem| {
        problem.instead(StatusCode::PAYLOAD_TOO_LARGE, || {
            format!(
                "the component is too large: plugins.max_component_bytes is {limit}; raise it if the \
                 component must be so large (Python's are about 18 MB and need 33554432)"
            )
        })
    })?;
    Ok(bytes.freeze())
}

/// A replay that could not be made.
pub fn not_replayed(error: &ReplayError) -> Problem {
    match error {
        ReplayError::NotRecorded | ReplayError::ComponentGone { .. } => {
            Problem::new(Code::NotFound, error.to_string())
        }
        ReplayError::Load(LoadError::Evidence(_)) => {
            Refusal::unavailable(Outage::Store, &error.to_string()).into()
        }
        ReplayError::NoSuchCall(_) | ReplayError::Load(_) | ReplayError::Slot(_) => {
            Refusal::fault("component", "refused", error.to_string()).into()
        }
        ReplayError::Sample(_) | ReplayError::Seal(_) | ReplayError::Store(_) => {
            Refusal::Internal { message: error.to_string() }.into()
        }
    }
}

async fn ordered(api: &Api, slot: &str, order: Order) -> Result<Json<Slot>, Problem> {
    let slot = named(slot)?;
    give(api, &slot, order).await?;
    Ok(Json(view(api, slot)?))
}

async fn give(api: &Api, slot: &SlotName, order: Order) -> Result<(), Problem> {
    api.plugins.order(slot.clone(), order).await.map_err(|error| match error {
        OrderError::Unknown(_) => Problem::new(Code::NotFound, error.to_string()),
        OrderError::NothingToActivate(_)
        | OrderError::NothingBefore(_)
        | OrderError::BindingTaken(_)
        | OrderError::NothingToShadow(_)
        | OrderError::NothingToConfigure(_)
        | OrderError::Changed(_)
        | OrderError::SettingsBeingProven(_)
        | OrderError::NotLoaded(_)
        | OrderError::File(_) => Problem::new(Code::Conflict, error.to_string()),
        OrderError::Settings(ComponentError::Settings { faults, .. }) => {
            let fault = |it: Diagnostic| Fault::new("settings", "invalid", it.message);
            Refusal::bad_request(faults.into_iter().map(fault).collect()).into()
        }
        OrderError::Settings(error) => {
            Refusal::fault("settings", "invalid", error.to_string()).into()
        }
        OrderError::Write(_) => Refusal::unavailable(Outage::Store, &error.to_string()).into(),
        OrderError::ShuttingDown => {
            Refusal::unavailable(Outage::Stopping, &error.to_string()).into()
        }
    })
}

fn view(api: &Api, slot: SlotName) -> Result<Slot, Problem> {
    let Some(view) = api.plugins.statuses().slot(&slot) else {
        return Err(unknown(slot));
    };
    Ok(Slot::new(slot, view))
}

fn unknown(slot: SlotName) -> Problem {
    Problem::new(Code::NotFound, OrderError::Unknown(slot).to_string())
}

fn named(slot: &str) -> Result<SlotName, Problem> {
    slot.parse().map_err(|error: crate::plugin::slot::BadSlotName| {
        Refusal::fault("slot", "invalid", error.to_string()).into()
    })
}

fn activation(query: &InstallQuery) -> Result<Option<Activation>, Problem> {
    if query.impact.is_none() && query.shadow.is_none() {
        return Ok(None);
    }
    let impact = match query.impact.as_deref() {
        None | Some("auto") => ImpactRule::Auto,
        Some("ask") => ImpactRule::Ask,
        Some(number) => ImpactRule::UpTo(number.parse().map_err(|_| {
            let message = "is `auto`, `ask` or a number of answers that may change";
            Problem::from(Refusal::fault("impact", "invalid", message))
        })?),
    };
    Ok(Some(Activation { impact, shadow_calls: query.shadow.unwrap_or(0) }))
}
