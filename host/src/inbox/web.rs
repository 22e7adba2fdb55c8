//! Web pages of the sandbox inbox, and the same as JSON for tests.
//!
//! What it shows was written by others: every text is escaped, the HTML part runs in a sandboxed
//! frame without scripts or remote content, and only names of this machine are answered, so that
//! no web site can read the mail by rebinding its own name.

mod response;
pub(crate) mod content;
mod host_check;
mod links;
mod page;
pub(crate) mod part;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{from_fn, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use serde_json::json;

use super::store::{InboxStore, InvalidMailId, MailId, StoredMessage};
use crate::clock::Clock;
use content::Content;
use page::ListFilter;
use response::{Problem, ResponseFormat, html};

const MAX_LIMIT: u16 = 200;

/// The routes `/inbox` and below.
pub fn router(store: InboxStore) -> Router {
    Router::new()
        .route("/inbox", get(list))
        .route("/inbox/list.js", get(script))
        .route("/inbox/{id}", get(message))
        .route("/inbox/{id}/raw", get(raw))
        .route("/inbox/{id}/html", get(preview))
        .route("/inbox/{id}/attachments/{number}", get(attachment))
        .route_layer(from_fn(host_check::only_this_machine))
        .route_layer(map_response(response::add_security_headers))
        .with_state(store)
}

/// The query as it was sent.
#[derive(Debug, Deserialize)]
struct ListQuery {
    limit: Option<String>,
    after: Option<String>,
    to: Option<String>,
}

impl ListQuery {
    fn wanted(&self, form: ResponseFormat) -> Result<ListFilter<'_>, Problem> {
        let mut wanted = ListFilter::default();
        if let Some(limit) = &self.limit {
            wanted.limit = match limit.parse() {
                Ok(limit @ 1..=MAX_LIMIT) => limit,
                Ok(_) | Err(_) => {
                    return Err(form.bad_request("limit must be a number from 1 to 200"));
                }
            };
        }
        if let Some(after) = &self.after {
            let id =
                after.parse().map_err(|it: InvalidMailId| form.bad_request(&it.to_string()))?;
            wanted.after = Some(id);
        }
        wanted.to = self.to.as_deref().filter(|to| !to.is_empty());
        Ok(wanted)
    }
}

async fn list(
    State(store): State<InboxStore>,
    headers: HeaderMap,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let form = ResponseFormat::wanted(&headers);
    let Ok(Query(sent)) = query else {
        return Err(form.bad_request("limit, after and to may each be given once"));
    };
    let wanted = sent.wanted(form)?;
    let page = store.list(wanted.limit, wanted.after, wanted.to);
    let page = page.await.map_err(|error| form.failed(&error))?;
    match form {
        ResponseFormat::Json => {
            let mut body = json!({"data": page.rows, "hasMore": page.has_more});
            if let Some(last) = page.rows.last().filter(|_| page.has_more) {
                body["next"] = json!(last.id);
            }
            Ok(axum::Json(body).into_response())
        }
        ResponseFormat::Html => {
            let kept = store.count().await.map_err(|error| form.failed(&error))?;
            let host = headers.get(header::HOST).and_then(|it| it.to_str().ok());
            let now = Clock::system().now();
            let list = page::List::new(page, kept, wanted, host.unwrap_or("localhost"), now);
            let policy = HeaderValue::from_static(response::LIST_PAGE_POLICY);
            Ok(([(header::CONTENT_SECURITY_POLICY, policy)], html(&list)?).into_response())
        }
    }
}

/// What keeps the list up to date without loading it anew.
async fn script() -> Response {
    const SCRIPT: &str = include_str!("../../../templates/dashboard/inbox.js");
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT).into_response()
}

async fn message(
    State(store): State<InboxStore>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let form = ResponseFormat::wanted(&headers);
    let stored = find(&store, form, &id).await?;
    let content = Content::of(&stored.raw);
    match form {
        ResponseFormat::Json => {
            Ok(axum::Json(content::MessageJson::new(&stored, &content)).into_response())
        }
        ResponseFormat::Html => html(&page::Message::new(&stored, &content)),
    }
}

async fn raw(
    State(store): State<InboxStore>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let stored = find(&store, ResponseFormat::wanted(&headers), &id).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], stored.raw).into_response())
}

async fn preview(
    State(store): State<InboxStore>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let form = ResponseFormat::wanted(&headers);
    let stored = find(&store, form, &id).await?;
    part::preview(&stored.raw).ok_or_else(|| form.not_found("the message has no HTML part"))
}

async fn attachment(
    State(store): State<InboxStore>,
    headers: HeaderMap,
    Path((id, number)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let form = ResponseFormat::wanted(&headers);
    let stored = find(&store, form, &id).await?;
    number
        .parse()
        .ok()
        .and_then(|number| part::attachment(&stored.raw, number))
        .ok_or_else(|| form.not_found("the message has no such attachment"))
}

async fn find(
    store: &InboxStore,
    form: ResponseFormat,
    id: &str,
) -> Result<StoredMessage, Problem> {
    let missing = || form.not_found("there is no such message in the inbox");
    let id = id.parse::<MailId>().map_err(|_| missing())?;
    store.get(id).await.map_err(|error| form.failed(&error))?.ok_or_else(missing)
}
