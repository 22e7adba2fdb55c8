//! Pages of whoever runs the server. For everybody else they are not there: [`Operating`] stands before each handler,
//! as [`crate::api::operator::Operator`] does in the API.

mod account_deletion;
mod accounts;
mod decisions;
mod health;
pub mod operating;
mod plugin_settings;
mod plugin_slot;
mod plugins;
mod queue;

use axum::Router;
use axum::routing::{get, post};

use super::response::Failure;
use super::state::Dashboard;
use super::{acting, audit};
use operating::Operating;

/// All pages under `/ops`.
pub fn router() -> Router<Dashboard> {
    Router::new()
        .route("/ops", get(health::show))
        .route("/ops/check", post(health::check))
        .route("/ops/accounts", get(accounts::list).post(accounts::create))
        .route("/ops/accounts/new", get(accounts::ask))
        .route("/ops/accounts/{id}", get(accounts::show))
        .route("/ops/accounts/{id}/grant", post(accounts::grant))
        .route("/ops/accounts/{id}/plan", post(accounts::change_plan))
        .route("/ops/accounts/{id}/suspend", get(accounts::confirm).post(accounts::suspend))
        .route("/ops/accounts/{id}/resume", post(accounts::resume))
        .route(
            "/ops/accounts/{id}/delete",
            get(account_deletion::confirm).post(account_deletion::delete),
        )
        .route("/ops/accounts/{id}/act", post(acting::begin))
        .route("/ops/audit", get(audit::of_server))
        .route("/ops/plans", get(accounts::plans))
        .route("/ops/queue", get(queue::list))
        .route("/ops/queue/{destination}", get(queue::show))
        .route("/ops/queue/{destination}/try", post(queue::try_now))
        .route("/ops/plugins", get(plugins::list))
        .route("/ops/plugins/{slot}", get(plugins::show))
        .route(
            "/ops/plugins/{slot}/settings",
            get(plugin_settings::show).post(plugin_settings::save),
        )
        .route("/ops/plugins/{slot}/shadow", post(plugins::shadow))
        .route("/ops/plugins/{slot}/{order}", get(plugins::confirm).post(plugins::order))
        .route("/ops/decisions", get(decisions::list))
        .route("/ops/decisions/{id}", get(decisions::show))
        .route("/ops/decisions/{id}/replay", post(decisions::replay))
        .route("/ops/{*rest}", get(missing))
}

async fn missing(_: Operating) -> Failure {
    Failure::Missing
}
