//! The only mapping from a refusal to HTTP: RFC 9457 `application/problem+json`, one flat shape.

use std::any::Any;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{HeaderValue, StatusCode, header};

use super::request_context::{self, ConnectionRefused, RefusalCode};
use super::shapes;
use crate::authoring::breaking::BreakingChange;
use crate::authoring::finding::Finding;
use crate::journey::accept::refusal::{Outage, Refusal, Refused};
use crate::store::StoreError;

/// What the HTTP layer refuses by itself; each code has one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    Conflict,
    PayloadTooLarge,
    UnsupportedMediaType,
    Internal,
    Unavailable,
}

/// A refusal as a client gets it.
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// The members that depend on the refusal.
    details: Box<shapes::Problem>,
    retry_after_s: Option<u64>,
}

impl Problem {
    /// Another message, where the problem has that status.
    #[must_use]
    pub fn instead(self, status: StatusCode, message: impl FnOnce() -> String) -> Self {
        if self.status == status { Self { message: message(), ..self } } else { self }
    }

    /// A refusal by the HTTP layer itself: what was sent is not a request that the journey could see.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self::with_status(code.status(), code, message.into())
    }

    fn with_status(status: StatusCode, code: Code, message: String) -> Self {
        let code = code.as_str();
        count(code);
        Self { status, code, message, details: Box::default(), retry_after_s: None }
    }

    /// What is wrong with a template.
    #[must_use]
    pub fn with_diagnostics(mut self, findings: Vec<Finding>) -> Self {
        self.details.diagnostics = Some(findings);
        self
    }

    /// How a template would break senders, and how many messages these have sent.
    #[must_use]
    pub fn with_breaking(mut self, changes: Vec<BreakingChange>, sent: u64) -> Self {
        self.details.breaking = Some(changes);
        self.details.sent_last30_days = Some(sent);
        self
    }

    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    #[must_use]
    pub fn body(&self) -> shapes::Problem {
        let id = request_context::current();
        shapes::Problem {
            r#type: format!("urn:waxwing:problem:{}", self.code.to_ascii_lowercase()),
            title: self.status.canonical_reason().unwrap_or("Refused"),
            status: self.status.as_u16(),
            detail: self.message.clone(),
            instance: format!("urn:waxwing:request:{id}"),
            success: false,
            code: self.code,
            message: self.message.clone(),
            request_id: id.to_string(),
            ..(*self.details).clone()
        }
    }
}

impl Code {
    fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BAD_REQUEST",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::RequestTimeout => "REQUEST_TIMEOUT",
            Self::Conflict => "CONFLICT",
            Self::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Self::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict => StatusCode::CONFLICT,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let Refused { refusal, decision } = refused;
        count(refusal.code());
        Self {
            status: status(&refusal),
            code: refusal.code(),
            message: refusal.message(),
            retry_after_s: refusal.retry_after_s(),
            details: Box::new(shapes::Problem { decision_id: decision, ..details(refusal) }),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Refused::from(refusal).into()
    }
}

impl From<&StoreError> for Problem {
    fn from(error: &StoreError) -> Self {
        if error.is_busy() {
            tracing::warn!(%error, "a list request got 503: the list took too long to read, or too many lists were being read");
            let message = "the list took too long, or too many lists are read now; sending is not affected. Try again later, \
                           with fewer lists at one time or a narrower filter";
            return Refusal::unavailable(Outage::Busy, message).into();
        }
        Refusal::store_outage(error).into()
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::from(&error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        response.extensions_mut().insert(RefusalCode(self.code));
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, json);
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("ApiKey realm=\"waxwing\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

/// Each refusal once, also one within a batch.
fn count(code: &'static str) {
    metrics::counter!("waxwing_refusals_total", "code" => code).increment(1);
}

fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::BadRequest { .. } => StatusCode::BAD_REQUEST,
        Refusal::Unauthorized => StatusCode::UNAUTHORIZED,
        Refusal::InsufficientBalance { .. } => StatusCode::PAYMENT_REQUIRED,
        Refusal::DomainNotVerified { .. }
        | Refusal::RestrictedTemplate { .. }
        | Refusal::Forbidden { .. } => StatusCode::FORBIDDEN,
        Refusal::RateLimited { .. } | Refusal::TooManyFailedLogins { .. } => {
            StatusCode::TOO_MANY_REQUESTS
        }
        Refusal::IdempotencyConflict => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::IdempotencyInFlight => StatusCode::CONFLICT,
        Refusal::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        Refusal::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn details(refusal: Refusal) -> shapes::Problem {
    let none = shapes::Problem::default();
    match refusal {
        Refusal::BadRequest { faults } => {
            shapes::Problem { errors: Some(faults.into_iter().map(Into::into).collect()), ..none }
        }
        Refusal::InsufficientBalance { required, balance } => {
            shapes::Problem { required: Some(required), credits_remaining: Some(balance), ..none }
        }
        Refusal::DomainNotVerified { domain, progress, missing } => shapes::Problem {
            domain: Some(domain),
            progress: Some(progress),
            missing: Some(missing),
            ..none
        },
        Refusal::RestrictedTemplate { template, plan, required_plan, .. } => shapes::Problem {
            template: Some(template),
            plan: Some(plan),
            required_plan: Some(required_plan),
            ..none
        },
        Refusal::Unauthorized
        | Refusal::Forbidden { .. }
        | Refusal::RateLimited { .. }
        | Refusal::TooManyFailedLogins { .. }
        | Refusal::IdempotencyConflict
        | Refusal::IdempotencyInFlight
        | Refusal::Internal { .. }
        | Refusal::Unavailable { .. } => none,
    }
}

pub async fn not_found() -> Problem {
    let message = "there is nothing at this path; /docs and /openapi.json list what there is";
    Problem::new(Code::NotFound, message)
}

/// The server, or the client's address, has as many connections as it may have.
pub async fn too_many_connections(refused: Option<Extension<ConnectionRefused>>) -> Problem {
    let message = match refused {
        Some(Extension(ConnectionRefused::AddressIsFull)) => {
            "this address has as many connections as one address may have; close some of them"
        }
        Some(Extension(ConnectionRefused::ServerIsFull)) | None => {
            "the server has as many connections as it may have"
        }
    };
    Refusal::unavailable(Outage::Busy, message).into()
}

/// The path does not take the method.
pub async fn method_not_allowed(request: Request) -> Problem {
    let message = format!("this path does not take {}", request.method());
    Problem::new(Code::MethodNotAllowed, message)
}

/// Turns what else refuses on this server, an extractor or another router, into the one shape. A page
/// for people is unchanged.
#[must_use]
pub fn as_problem(response: Response) -> Response {
    let status = response.status();
    let is = |kind: &str| {
        let value = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        value.is_some_and(|value| value.starts_with(kind))
    };
    if !(status.is_client_error() || status.is_server_error())
        || is("application/problem+json")
        || is("text/html")
    {
        return response;
    }
    let (code, message) = match status {
        StatusCode::BAD_REQUEST => (Code::BadRequest, "the path or the query is not valid"),
        StatusCode::FORBIDDEN => (Code::Forbidden, "this is served to this machine only"),
        StatusCode::NOT_FOUND => (Code::NotFound, "there is nothing of this name"),
        StatusCode::SERVICE_UNAVAILABLE => (Code::Unavailable, "not now; the log says why"),
        status if status.is_client_error() => (Code::BadRequest, "the request is not valid"),
        _ => (Code::Internal, "the server has a bug; its log has the requestId"),
    };
    // Another router's status stays, as 406 does.
    Problem::with_status(status, code, message.to_owned()).into_response()
}

/// A panic: a bug of the server, one request's only.
#[expect(clippy::needless_pass_by_value, reason = "what unwinding gives")]
pub fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(request = %request_context::current(), panic = what, "the handler of a request panicked; the client got 500, other requests go on");
    let message = "the server has a bug; its operator finds it in the log by the requestId";
    Problem::new(Code::Internal, message).into_response()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_panic_is_answered_with_the_one_shape() {
        let response = panicked(Box::new("boom"));
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
    }

    #[test]
    fn every_refusal_has_the_flat_body() {
        let refusal = Refusal::DomainNotVerified {
            domain: "example.com".to_owned(),
            progress: 75,
            missing: vec!["DKIM".to_owned()],
        };
        let body = json!(Problem::from(refusal).body());
        assert_eq!(body["success"], false);
        assert_eq!(body["code"], "DOMAIN_NOT_VERIFIED");
        assert_eq!(body["status"], 403);
        assert_eq!(body["progress"], 75);
        assert_eq!(body["missing"], json!(["DKIM"]));
        assert_eq!(body["message"], body["detail"]);
    }
}
