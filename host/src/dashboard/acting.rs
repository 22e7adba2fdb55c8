//! An operator acts as an account, and stops.

use axum::extract::{Path, State};
use axum::response::Response;

use super::guard::Submitted;
use super::response::{Failure, sentence, to};
use super::state::Dashboard;
use crate::id::AccountId;
use crate::people::ActingError;

pub async fn begin(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let visitor = &sent.visitor;
    let account: AccountId = id.parse().map_err(|_| Failure::Missing)?;
    match dashboard.people.act_as(&visitor.person, account, &visitor.guest.from).await {
        Ok(()) => Ok(to("/app")),
        Err(ActingError::NoOperator) => Err(Failure::Missing),
        Err(error @ ActingError::StepUp) => {
            visitor.step_up_for(&dashboard, &sent.form)?;
            Err(Failure::Forbidden(sentence(&error.to_string())))
        }
        Err(ActingError::Store(error)) => Err(error.into()),
    }
}

pub async fn end(State(dashboard): State<Dashboard>, sent: Submitted) -> Result<Response, Failure> {
    let visitor = &sent.visitor;
    let ended = dashboard.people.end_acting(&visitor.person, &visitor.guest.from).await?;
    Ok(match ended {
        Some(account) => to(&format!("/ops/accounts/{account}")),
        None => to("/app"),
    })
}
