//! Who may steer the server: a key of scope `operator`, or whoever can read the control token in
//! the server's own data directory.

use axum::extract::{FromRequestParts, Request};
use http::request::Parts;
use subtle::ConstantTimeEq;

use super::admin::authenticated;
use super::problem::Problem;
use super::{Api, body, request};
use crate::account::key::Scope;
use crate::id::fill_random;

/// A secret of this run of the server, for the command line on the same machine.
#[derive(Clone)]
pub struct ControlToken(String);

/// Proof that the request is an operator's.
#[derive(Debug)]
pub struct Operator(());

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
        Ok(Operator(())) => Ok(request),
        Err(problem) => {
            body::drain(request.into_body()).await;
            Err(problem)
        }
    }
}

impl ControlToken {
    /// A new one.
    #[must_use]
    pub fn random() -> Self {
        use std::fmt::Write as _;
        let mut bytes = [0; 32];
        fill_random(&mut bytes);
        Self(bytes.iter().fold("wx_control_".to_owned(), |mut text, byte| {
            let _infallible = write!(text, "{byte:02x}");
            text
        }))
    }

    /// Its text, for the file that only this server's user can read.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }

    fn is(&self, presented: &str) -> bool {
        self.0.as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

impl FromRequestParts<Api> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let presented = parts.headers.get("x-api-key").and_then(|value| value.to_str().ok());
        if presented.is_some_and(|presented| api.control.is(presented)) {
            return Ok(Self(()));
        }
        let ip = request::ip(&parts.extensions);
        authenticated(&parts.headers, ip, api, Scope::Operator).await.map(|_| Self(()))
    }
}

impl std::fmt::Debug for ControlToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ControlToken")
    }
}
