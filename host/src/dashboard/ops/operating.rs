//! An operator: who may ask for the pages under `/ops`, and what is written down of what an operator changes.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::Response;
use http::request::Parts;

use crate::dashboard::form::Form;
use crate::dashboard::guard::{Submitted, Visitor};
use crate::dashboard::response::{Failure, to};
use crate::dashboard::state::Dashboard;
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
pub async fn record(
    dashboard: &Dashboard,
    visitor: &Visitor,
    (action, subject): (&'static str, String),
    account: Option<AccountId>,
) {
    let change = PersonsChange {
        user: (visitor.person.user.id, &visitor.person.user.email),
        account,
        action,
        subject: Some(subject),
        from: &visitor.guest.from,
    };
    dashboard.people.record_change(change).await;
}

/// Back to a page that says what was done.
pub fn done(path: &str, what: &str) -> Response {
    to(&format!("{path}?done={what}"))
}
