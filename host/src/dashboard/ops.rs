//! Pages of whoever runs the server. For everybody else they are not there: [`Operating`] stands before each handler,
//! as [`crate::api::operator::Operator`] does in the API.

mod accounts;
mod health;
mod plugins;
mod queue;

use axum::Router;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::routing::{get, post};
use http::request::Parts;

use super::Dashboard;
use super::form::Form;
use super::guard::{Submitted, Visitor};
use super::response::{Failure, to};
use crate::id::AccountId;
use crate::people::audit::PersonsChange;

/// An operator who is logged in.
#[derive(Debug)]
pub struct Operating(pub Visitor);

/// A form of an operator.
#[derive(Debug)]
pub struct Order {
    pub visitor: Visitor,
    pub form: Form,
}

/// All pages under `/ops`.
pub fn router() -> Router<Dashboard> {
    Router::new()
        .route("/ops", get(health::show))
        .route("/ops/accounts", get(accounts::list).post(accounts::create))
        .route("/ops/accounts/new", get(accounts::ask))
        .route("/ops/accounts/{id}", get(accounts::show))
        .route("/ops/accounts/{id}/grant", post(accounts::grant))
        .route("/ops/accounts/{id}/plan", post(accounts::change_plan))
        .route("/ops/accounts/{id}/suspend", get(accounts::confirm).post(accounts::suspend))
        .route("/ops/accounts/{id}/resume", post(accounts::resume))
        .route("/ops/accounts/{id}/act", post(crate::dashboard::acting::begin))
        .route("/ops/audit", get(crate::dashboard::audit::of_server))
        .route("/ops/plans", get(accounts::plans))
        .route("/ops/queue", get(queue::list))
        .route("/ops/queue/{destination}", get(queue::show))
        .route("/ops/queue/{destination}/try", post(queue::try_now))
        .route("/ops/plugins", get(plugins::list))
        .route("/ops/plugins/{slot}", get(plugins::show))
        .route("/ops/plugins/{slot}/{order}", get(plugins::confirm).post(plugins::order))
        .route("/ops/{*rest}", get(missing))
}

async fn missing(_: Operating) -> Failure {
    Failure::Missing
}

impl FromRequestParts<Dashboard> for Operating {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, dashboard: &Dashboard) -> Result<Self, Failure> {
        let visitor = Visitor::from_request_parts(parts, dashboard).await?;
        if visitor.person.user.is_operator { Ok(Self(visitor)) } else { Err(Failure::Missing) }
    }
}

impl FromRequest<Dashboard> for Order {
    type Rejection = Failure;

    async fn from_request(request: Request, dashboard: &Dashboard) -> Result<Self, Failure> {
        let Submitted { visitor, form } = Submitted::from_request(request, dashboard).await?;
        if visitor.person.user.is_operator {
            Ok(Self { visitor, form })
        } else {
            Err(Failure::Missing)
        }
    }
}

/// Writes down what an operator has changed, and of which account.
async fn record(
    dashboard: &Dashboard,
    visitor: &Visitor,
    (action, subject): (&'static str, String),
    account: Option<AccountId>,
) -> Result<(), Failure> {
    let change = PersonsChange {
        user: (visitor.person.user.id, &visitor.person.user.email),
        account,
        action,
        subject: Some(subject),
        from: &visitor.guest.from,
    };
    Ok(dashboard.people.record_change(change).await?)
}

/// Back to a page that says what was done.
fn done(path: &str, what: &str) -> axum::response::Response {
    to(&format!("{path}?done={what}"))
}
