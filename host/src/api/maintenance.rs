//! `/v1/maintenance`: read-only mode, for the operator; and the layer that refuses changes while it is on.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::fields::Fields;
use super::operator::Operator;
use super::problem::Problem;
use super::shapes::Maintenance;
use super::state::Api;
use super::{body, read_only, request_context};
use crate::fair_share::ShareOwner;
use crate::management::acts;
use crate::management::maintenance::{InvalidReason, reason, switch_on};
use crate::store::{self, MaintenanceDelivery};

/// Whether the server takes messages and changes now.
#[utoipa::path(get, path = "/v1/maintenance", operation_id = "show_maintenance", tag = "maintenance",
    security(("apiKey" = [])),
    responses((status = 200, description = "Read-only mode", body = Maintenance),
              super::shapes::OperatorReadRefusals))]
pub async fn show(_: Operator, State(api): State<Api>) -> Result<Json<Maintenance>, Problem> {
    let known = api.journey.accept.facts.current_maintenance().await?;
    Ok(Json(Maintenance::new(known.as_deref())))
}

/// Switches read-only mode on or off: messages and changes are refused with 503, over SMTP with 451; reading works.
///
/// It holds from the next request on, over a restart and for every server on the database. Mail that waits is
/// delivered, unless `holdDelivery` says otherwise.
#[utoipa::path(put, path = "/v1/maintenance", operation_id = "set_maintenance", tag = "maintenance",
    security(("apiKey" = [])),
    request_body = super::shapes::ChangeMaintenance,
    responses((status = 200, description = "Read-only mode as it is now", body = Maintenance),
              super::shapes::MaintenanceRefusals))]
pub async fn change(
    operator: Result<Operator, Problem>,
    State(api): State<Api>,
    request: Request,
) -> Result<Json<Maintenance>, Problem> {
    let (_, body, _memory) =
        body::json_of(operator, |_| ShareOwner::Operator, &api, request).await?;
    let mut fields = Fields::of(&body)?;
    let is_on = fields.flag("readOnly");
    if body["readOnly"].is_null() {
        fields.fault("readOnly", "missing", "must be given");
    }
    let why = reason(&fields.text("reason").unwrap_or_default());
    let is_held = fields.flag("holdDelivery").unwrap_or_default();
    if let Err(error) = &why
        && (is_on == Some(true) || *error != InvalidReason::Missing)
    {
        fields.fault("reason", "invalid", error);
    }
    let warnings = fields.end()?;
    let delivery = if is_held { MaintenanceDelivery::Held } else { MaintenanceDelivery::GoesOn };
    match why {
        Ok(why) if is_on == Some(true) => {
            switch_on(&api.store, why, delivery, api.clock.now()).await?;
        }
        Ok(_) | Err(_) => api.store.set_maintenance(None).await?,
    }
    let known = api.journey.accept.facts.current_maintenance().await?;
    hold_delivery(&api, known.as_deref());
    request_context::note_act(acts::maintenance_set(known.as_deref()));
    let mut shown = Maintenance::new(known.as_deref());
    shown.warnings = warnings;
    Ok(Json(shown))
}

/// Has the worker of this server hold deliveries, or go on. Other servers see it within seconds.
fn hold_delivery(api: &Api, known: Option<&store::Maintenance>) {
    let is_held = known.is_some_and(store::Maintenance::holds_delivery);
    api.admission.is_paused.store(is_held, Ordering::Relaxed);
    api.due.notify_one();
}

/// Refuses changes in read-only mode, before their bodies are read.
pub async fn refuse_changes(State(api): State<Api>, request: Request, next: Next) -> Response {
    match read_only::admit(&api, request.method(), request.extensions()).await {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            body::drain(request.into_body()).await;
            problem.into_response()
        }
    }
}
