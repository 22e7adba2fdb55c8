//! Who may steer the server: a key of scope `operator`, or whoever can read the control token in
//! the server's own data directory.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use http::request::Parts;

use super::admin::authenticated;
use super::problem::Problem;
use super::state::Api;
use super::{body, request_context};
use crate::account::key::{ApiKey, Scope};

/// Proof that the request is an operator's, and its key where it is not made with the control token.
#[derive(Debug)]
pub struct Operator(Option<Arc<ApiKey>>);

impl Operator {
    #[must_use]
    pub fn key(&self) -> Option<&ApiKey> {
        self.0.as_deref()
    }
}

/// Lets an operator's request with a body through. What a stranger is still sending is read and
/// forgotten, so that they get their answer and not a broken connection.
///
/// # Errors
/// It is not an operator's.
pub async fn with_body(
    operator: Result<Operator, Problem>,
    request: Request,
) -> Result<Request, Problem> {
    match operator {
        Ok(Operator(_)) => Ok(request),
        Err(problem) => {
            body::drain(request.into_body()).await;
            Err(problem)
        }
    }
}

impl FromRequestParts<Api> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let presented = parts.headers.get("x-api-key").and_then(|value| value.to_str().ok());
        if presented.is_some_and(|presented| api.control.is(presented)) {
            return Ok(Self(None));
        }
        let ip = request_context::ip(&parts.extensions);
        authenticated(&parts.headers, ip, api, Scope::Operator).await.map(|it| Self(Some(it.key)))
    }
}
