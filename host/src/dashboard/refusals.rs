//! Sends that were refused: what was not sent, and why?

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::Uri;

use super::form::{self, Form};
use super::frame::{Frame, Place};
use super::guard::{Theme, Visitor};
use super::message::DecisionView;
use super::messages::{Tab, tabs};
use super::response::{Failure, page};
use super::state::Dashboard;
use super::words::When;
use crate::clock::Timestamp;
use crate::id::DecisionId;
use crate::store::{DecisionFilter, DecisionRow};

const LINES: u32 = 50;

#[derive(Debug)]
struct RefusalLine {
    id: String,
    code: String,
    /// The code in a query.
    link: String,
    plugins: Vec<DecisionView>,
    at: When,
}

#[derive(Template)]
#[template(path = "app/refusals.html")]
struct RefusalsPage {
    frame: Frame,
    query: String,
    tabs: Vec<Tab>,
    lines: Vec<RefusalLine>,
    is_first_page: bool,
    first: String,
    looked_to: Option<When>,
    next: Option<String>,
}

impl RefusalLine {
    fn of(row: DecisionRow, now: Timestamp) -> Self {
        Self {
            id: row.id.to_string(),
            link: link(&row.outcome, ""),
            code: row.outcome,
            plugins: row.plugins.as_array().into_iter().flatten().map(DecisionView::of).collect(),
            at: When::of(row.created_at, now),
        }
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let account = visitor.account()?;
    let sent = Form::of_query(uri.query());
    let query = sent.get("q").trim().to_uppercase();
    let after = sent.get("after").parse::<DecisionId>().ok();
    let filter = DecisionFilter {
        account: Some(account),
        outcome: Some(query.clone()).filter(|it| !it.is_empty()),
        only_refusals: true,
        ..DecisionFilter::default()
    };
    let _page = api.lists.admit(account).await?;
    let found = api.store.decisions(&filter, after, LINES).await?;
    let is_short = found.decisions.len() < usize::try_from(LINES).unwrap_or(usize::MAX);
    page(&RefusalsPage {
        frame: Frame::of(&dashboard, &visitor, Place::Messages).await?,
        lines: found.decisions.into_iter().map(|it| RefusalLine::of(it, now)).collect(),
        is_first_page: after.is_none(),
        // The word of this search is a code, which finds no message.
        tabs: tabs("", None),
        first: link(&query, ""),
        looked_to: found.next.filter(|_| is_short).map(|id| When::of(id.made_at(), now)),
        next: found.next.map(|id| link(&query, &id.to_string())),
        query,
    })
}

fn link(code: &str, after: &str) -> String {
    let pairs = form::query([("q", code), ("after", after)]);
    let mark = if pairs.is_empty() { "" } else { "?" };
    format!("/app/refusals{mark}{pairs}")
}
