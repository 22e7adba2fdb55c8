//! Answers: pages, redirects, refusals as pages, and the headers that all of them have.

use askama::Template;
use axum::extract::Request;
use axum::response::{Html, IntoResponse, Response};
use http::header::{CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY};
use http::{HeaderValue, Method, StatusCode, Uri};

use super::assets;
use super::theme::Theme;
use crate::account::role::RoleTooLow;
use crate::api::problem::Problem;
use crate::api::{body, request_context};
use crate::journey::accept::refusal::Refusal;
use crate::store::StoreError;

/// Nothing is loaded from elsewhere, no script stands in a page, and nobody frames one.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
/// The sender's HTML runs nothing, loads nothing and sends nothing.
pub const PREVIEW: HeaderValue = HeaderValue::from_static(
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; \
     base-uri 'none'; frame-ancestors 'self'",
);
/// Not `no-referrer`: browsers would send `Origin: null` with our own forms.
const REFERRER: HeaderValue = HeaderValue::from_static("same-origin");

/// A refusal as a page.
#[derive(Debug)]
pub enum Failure {
    /// What is not there, or another's.
    Missing,
    /// What the person's role does not allow, in words.
    Forbidden(String),
    /// A form that does not come from one of our pages.
    ForeignForm,
    /// A form of a page that showed another account than the session shows now: this one.
    OtherAccount(String),
    /// A form to a page that takes none.
    NoForm,
    /// What cannot be read.
    Invalid(String),
    /// What is larger than the bound that the words name.
    TooLarge(String),
    /// A form that was sent before, and the page that shows what the first one has made.
    SentBefore {
        message: &'static str,
        page: String,
    },
    /// More than the account may do at one time; nothing was made.
    TooMany(String),
    /// Not now.
    Unavailable(String),
    Internal,
    /// Another answer: a redirect.
    Instead(Box<Response>),
}

#[derive(Template)]
#[template(path = "app/problem.html")]
struct ProblemPage {
    style: String,
    theme: Theme,
    status: u16,
    title: &'static str,
    message: String,
    /// Where to go from here, and in which words.
    page: String,
    to_page: &'static str,
    request: String,
}

pub fn page(template: &impl Template) -> Result<Response, Failure> {
    with_status(StatusCode::OK, template)
}

pub fn with_status(status: StatusCode, template: &impl Template) -> Result<Response, Failure> {
    match template.render() {
        Ok(html) => Ok((status, Html(html)).into_response()),
        Err(error) => {
            tracing::error!(%error, "a page of the dashboard was not written; the browser got 500");
            Err(Failure::Internal)
        }
    }
}

/// To another page, with GET.
pub fn to(path: &str) -> Response {
    let location = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/app"));
    (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
}

pub async fn missing() -> Failure {
    Failure::Missing
}

/// To the same address without the slash at its end.
pub async fn without_slash(uri: Uri) -> Response {
    to(uri.path().trim_end_matches('/'))
}

/// Opened as a page, the address of a form leads to the page that has the form: a form that was refused is shown at its
/// own address, and people load that again. Every other method is refused with a page.
pub async fn wrong_method(request: Request) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return to(page_of_form(request.uri().path()));
    }
    body::drain(request.into_body()).await;
    Failure::NoForm.into_response()
}

/// The page above a form's address, or the list where a row has no page of its own.
pub fn page_of_form(path: &str) -> &str {
    const LISTS: [(&str, &str); 4] = [
        ("/app/accounts/", "/app/accounts"),
        ("/app/team/", "/app/team"),
        ("/app/profile/sessions/", "/app/profile"),
        ("/app/acting/", "/app"),
    ];
    if let Some((_, list)) = LISTS.into_iter().find(|(below, _)| path.starts_with(below)) {
        return list;
    }
    if let Some((webhook, _)) = path.split_once("/deliveries/") {
        return webhook;
    }
    match path.rsplit_once('/') {
        Some((above, _)) if !above.is_empty() => above,
        Some(_) | None => "/app",
    }
}

/// A page that says otherwise is right: a preview is framed, and has a policy of its own.
pub async fn with_policy(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    headers.entry(REFERRER_POLICY).or_insert(REFERRER);
    response
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (mut page, mut to_page) = ("/app".to_owned(), "To the overview");
        let (status, title, message) = match self {
            Self::Instead(response) => return *response,
            Self::TooLarge(message) => {
                (StatusCode::PAYLOAD_TOO_LARGE, "This form is too large", message)
            }
            Self::SentBefore { message, page: made } => {
                (page, to_page) = (made, "To what it has made");
                (StatusCode::CONFLICT, "This form was sent already", message.to_owned())
            }
            Self::Missing => (
                StatusCode::NOT_FOUND,
                "There is nothing here",
                "It was removed, it belongs to another account, or the address has a typing error.".to_owned(),
            ),
            Self::Forbidden(message) => (StatusCode::FORBIDDEN, "You may not do this", message),
            Self::ForeignForm => (
                StatusCode::FORBIDDEN,
                "This form was not sent from the dashboard",
                "Nothing was changed. Go back, load the page again, and send the form once more. Where a reverse proxy \
                 stands before the server, it must pass the Host header on."
                    .to_owned(),
            ),
            Self::OtherAccount(name) => (
                StatusCode::CONFLICT,
                "This form is of another account",
                format!(
                    "Nothing was changed. Another tab has switched to {name} since the page was loaded. Switch back to the \
                     account that you meant, and load the page with the form again."
                ),
            ),
            Self::NoForm => (
                StatusCode::METHOD_NOT_ALLOWED,
                "This page takes no form",
                "Nothing was changed. Go back, and load the page with the form again.".to_owned(),
            ),
            Self::Invalid(message) => {
                (StatusCode::BAD_REQUEST, "The request cannot be read", message)
            }
            Self::TooMany(message) => {
                (StatusCode::TOO_MANY_REQUESTS, "Too much at one time", message)
            }
            Self::Unavailable(message) => {
                (StatusCode::SERVICE_UNAVAILABLE, "Not at this moment", message)
            }
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "The server has a bug",
                "The operator finds it in the log by the number of the request.".to_owned(),
            ),
        };
        let problem = ProblemPage {
            style: assets::style(),
            theme: Theme::current(),
            status: status.as_u16(),
            title,
            message,
            page,
            to_page,
            request: request_context::current().to_string(),
        };
        let html = problem.render().unwrap_or_else(|_| title.to_owned());
        (status, Html(html)).into_response()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if error.is_not_found() {
            return Self::Missing;
        }
        if !error.is_busy() {
            tracing::error!(%error, "a page of the dashboard needs the store, which failed; the browser got 503");
        }
        if error.is_unknown() {
            return Self::Unavailable(
                "The store did not answer in time: the change may have been made. Look before you make it again."
                    .to_owned(),
            );
        }
        Self::Unavailable(
            "The store cannot be read now, or is busy. Try again in some seconds.".to_owned(),
        )
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Problem::from(refusal).into()
    }
}

impl From<RoleTooLow> for Failure {
    fn from(error: RoleTooLow) -> Self {
        Self::Forbidden(sentence(&error.to_string()))
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let message = sentence(&problem.body().message);
        match problem.status() {
            StatusCode::NOT_FOUND => Self::Missing,
            StatusCode::FORBIDDEN => Self::Forbidden(message),
            StatusCode::TOO_MANY_REQUESTS => Self::TooMany(message),
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge(message),
            status if status.is_client_error() => Self::Invalid(message),
            _ => Self::Unavailable(message),
        }
    }
}

impl From<Response> for Failure {
    fn from(response: Response) -> Self {
        Self::Instead(Box::new(response))
    }
}

/// An error as a sentence.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
