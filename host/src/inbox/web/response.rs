//! Responses as HTML or JSON, as the client prefers; their security headers, and refusals.

use askama::Template;
use axum::Json;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use serde_json::json;

use super::super::InboxError;

const PAGE_POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; frame-src 'self'; \
                     img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                     frame-ancestors 'self'";
/// The list alone runs a script: its own, which asks for the list again.
pub const LIST_PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; \
                        style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; \
                        form-action 'none'; frame-ancestors 'self'";
const SECURITY_HEADERS: [(HeaderName, &str); 4] = [
    (CACHE_CONTROL, "no-store"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (VARY, "accept"),
];

/// How a client wants its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseFormat {
    /// A page for a person.
    Html,
    /// Data for a program.
    Json,
}

/// A refusal, in the form that the client wants.
#[derive(Debug)]
pub struct Problem {
    form: ResponseFormat,
    status: StatusCode,
    code: &'static str,
    message: String,
}

#[derive(Template)]
#[template(path = "inbox_problem.html")]
struct ProblemPage<'a> {
    status: u16,
    message: &'a str,
}

impl ResponseFormat {
    /// JSON where the client names it before HTML, a page for everybody else.
    pub fn wanted(headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        accepted
            .flat_map(|value| value.split(','))
            .map(|range| range.split(';').next().unwrap_or_default().trim())
            .find_map(|range| match range.to_ascii_lowercase().as_str() {
                "application/json" => Some(Self::Json),
                "text/html" | "application/xhtml+xml" => Some(Self::Html),
                _ => None,
            })
            .unwrap_or(Self::Html)
    }

    pub fn bad_request(self, message: &str) -> Problem {
        self.problem(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    }

    pub fn forbidden(self, message: &str) -> Problem {
        self.problem(StatusCode::FORBIDDEN, "FORBIDDEN", message)
    }

    pub fn not_found(self, message: &str) -> Problem {
        self.problem(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    /// 503; what failed is for the log only.
    pub fn failed(self, error: &InboxError) -> Problem {
        tracing::warn!(%error, "the sandbox inbox could not be read");
        self.problem(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", "the inbox cannot be read now")
    }

    fn problem(self, status: StatusCode, code: &'static str, message: &str) -> Problem {
        Problem { form: self, status, code, message: message.to_owned() }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let page = ProblemPage { status: self.status.as_u16(), message: &self.message };
        match (self.form, page.render()) {
            (ResponseFormat::Html, Ok(page)) => (self.status, Html(page)).into_response(),
            (ResponseFormat::Html, Err(_)) | (ResponseFormat::Json, _) => {
                let body = json!({"success": false, "code": self.code, "message": self.message});
                (self.status, Json(body)).into_response()
            }
        }
    }
}

pub fn html(page: &impl Template) -> Result<Response, Problem> {
    match page.render() {
        Ok(page) => Ok(Html(page).into_response()),
        Err(error) => {
            tracing::error!(%error, "a page of the sandbox inbox cannot be rendered");
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Err(ResponseFormat::Json.problem(status, "INTERNAL", "the page cannot be shown"))
        }
    }
}

/// Adds the headers of every response; a content security policy that a handler has set stays.
pub async fn add_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(PAGE_POLICY));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_gets_a_page_and_a_program_that_asks_gets_json() {
        for (accept, form) in [
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                ResponseFormat::Html,
            ),
            ("application/json", ResponseFormat::Json),
            ("application/json, text/plain, */*", ResponseFormat::Json),
            ("Application/JSON; charset=utf-8", ResponseFormat::Json),
            ("text/html, application/json", ResponseFormat::Html),
            ("*/*", ResponseFormat::Html),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(ResponseFormat::wanted(&headers), form, "{accept}");
        }
        assert_eq!(ResponseFormat::wanted(&HeaderMap::new()), ResponseFormat::Html);
    }
}
