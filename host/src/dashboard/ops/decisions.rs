//! What plugins decided: a list, one decision with what went in and what came out, and the same calls made again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::Uri;
use serde_json::Value;

use super::operating::{Operating, Order};
use super::plugin_slot::short;
use crate::clock::Timestamp;
use crate::dashboard::form::{self, Form};
use crate::dashboard::frame::{Frame, Place};
use crate::dashboard::guard::{Theme, Visitor};
use crate::dashboard::message::DecisionView;
use crate::dashboard::response::{Failure, page, sentence, to};
use crate::dashboard::state::Dashboard;
use crate::dashboard::words::When;
use crate::fair_share::ShareOwner;
use crate::id::{AccountId, DecisionId};
use crate::store::{DecisionFilter, DecisionRef, DecisionRow};
use crate::upkeep::replay::{self, Recorded, ReplayError, Replayed};

const LINES: u32 = 50;
/// What the row of links above the list offers.
const TABS: [(&str, &str); 3] = [("", "All"), ("accepted", "Accepted"), ("refused", "Refused")];

#[derive(Debug)]
struct DecisionLine {
    id: String,
    account: String,
    /// What it is called; its identifier where it is not there any more.
    account_name: String,
    message: Option<String>,
    outcome: String,
    is_refusal: bool,
    plugins: Vec<DecisionView>,
    at: When,
}

#[derive(Debug)]
struct Tab {
    title: &'static str,
    link: String,
    is_shown: bool,
}

#[derive(Template)]
#[template(path = "app/ops/decisions.html")]
struct DecisionsPage {
    frame: Frame,
    query: String,
    only: String,
    tabs: Vec<Tab>,
    lines: Vec<DecisionLine>,
    faults: Vec<String>,
    is_filtered: bool,
    is_first_page: bool,
    first: String,
    looked_to: Option<When>,
    next: Option<String>,
}

/// A recorded call.
#[derive(Debug)]
struct CallView {
    slot: String,
    kind: String,
    digest: String,
    input: String,
    answer: String,
}

/// A recorded call that was made again.
#[derive(Debug)]
struct AgainView {
    slot: String,
    by: String,
    is_same: bool,
    differences: Vec<String>,
    answer: String,
}

#[derive(Template)]
#[template(path = "app/ops/decision.html")]
struct DecisionPage {
    frame: Frame,
    line: DecisionLine,
    calls: Vec<CallView>,
    again: Vec<AgainView>,
    /// Why the calls were not shown, or not made again.
    fault: Option<String>,
}

impl DecisionLine {
    fn of(row: DecisionRow, names: &BTreeMap<AccountId, String>, now: Timestamp) -> Self {
        let name = names.get(&row.account_id).cloned();
        Self {
            id: row.id.to_string(),
            account_name: name.unwrap_or_else(|| row.account_id.to_string()),
            account: row.account_id.to_string(),
            is_refusal: row.message_id.is_none(),
            message: row.message_id.map(|it| it.to_string()),
            outcome: row.outcome,
            plugins: row.plugins.as_array().into_iter().flatten().map(DecisionView::of).collect(),
            at: When::of(row.created_at, now),
        }
    }
}

impl From<Recorded> for CallView {
    fn from(call: Recorded) -> Self {
        Self {
            slot: call.slot,
            kind: call.kind.to_string(),
            digest: short(&call.digest),
            input: pretty(&call.input),
            answer: pretty(&call.answer),
        }
    }
}

impl From<Replayed> for AgainView {
    fn from(call: Replayed) -> Self {
        Self {
            slot: call.slot,
            by: short(&call.replayed_by),
            is_same: call.same,
            differences: call.differences,
            answer: pretty(&call.answer),
        }
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let sent = Form::of_query(uri.query());
    let (query, only) = (sent.get("q").trim().to_owned(), sent.get("only").to_owned());
    if let Ok(id) = query.parse::<DecisionRef>() {
        return Ok(to(&format!("/ops/decisions/{id}")));
    }
    let (filter, faults) = filter(&query, &only);
    let after = sent.get("after").parse::<DecisionId>().ok();
    let link = |only: &str, after: &str| {
        let pairs = form::query([("q", query.as_str()), ("only", only), ("after", after)]);
        let mark = if pairs.is_empty() { "" } else { "?" };
        format!("/ops/decisions{mark}{pairs}")
    };
    let (mut lines, mut next, mut looked_to) = (Vec::new(), None, None);
    if faults.is_empty() {
        let _page = api.lists.admit(ShareOwner::Operator).await?;
        let found = api.store.decisions(&filter, after, LINES).await?;
        let is_short = found.decisions.len() < usize::try_from(LINES).unwrap_or(usize::MAX);
        let accounts: BTreeSet<AccountId> =
            found.decisions.iter().map(|it| it.account_id).collect();
        let names = api.store.account_names(accounts).await?;
        lines = found.decisions.into_iter().map(|it| DecisionLine::of(it, &names, now)).collect();
        next = found.next.map(|id| link(&only, &id.to_string()));
        looked_to = found.next.filter(|_| is_short).map(|id| When::of(id.made_at(), now));
    }
    page(&DecisionsPage {
        tabs: TABS
            .into_iter()
            .map(|(word, title)| Tab { title, link: link(word, ""), is_shown: word == only })
            .collect(),
        is_filtered: !query.is_empty() || !only.is_empty(),
        is_first_page: after.is_none(),
        first: link(&only, ""),
        frame: Frame::of(&dashboard, &visitor, Place::OpsDecisions).await?,
        query,
        only,
        lines,
        faults,
        looked_to,
        next,
    })
}

/// Reads `plugin:plan-policy outcome:FORBIDDEN acc_…`; another word is a plugin.
fn filter(query: &str, only: &str) -> (DecisionFilter, Vec<String>) {
    let mut filter = DecisionFilter { only_refusals: only == "refused", ..Default::default() };
    if only == "accepted" {
        filter.outcome = Some(only.to_owned());
    }
    let mut faults = Vec::new();
    for word in query.split_whitespace() {
        match word.split_once(':') {
            Some(("outcome", outcome)) => filter.outcome = Some(outcome.to_owned()),
            // The digest of a component has a colon in it.
            Some(("plugin", plugin)) => filter.plugin = Some(plugin.to_owned()),
            Some(("account", account)) => match account.parse::<AccountId>() {
                Ok(account) => filter.account = Some(account),
                Err(error) => faults.push(sentence(&error.to_string())),
            },
            Some(_) | None => match word.parse::<AccountId>() {
                Ok(account) => filter.account = Some(account),
                Err(_) => filter.plugin = Some(word.to_owned()),
            },
        }
    }
    (filter, faults)
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    page(&decision_page(&dashboard, &visitor, &id).await?.0)
}

/// Makes the recorded calls again, to the components that answered them. Nothing is sent, and nothing changes.
pub async fn replay(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Order,
) -> Result<Response, Failure> {
    let api = &dashboard.api;
    let (mut shown, id) = decision_page(&dashboard, &sent.visitor, &id).await?;
    let calls = Box::pin(replay::replay(&api.plugins, &api.store, &api.seal, id, None)).await;
    match calls {
        Ok(calls) => shown.again = calls.into_iter().map(AgainView::from).collect(),
        Err(error) => shown.fault = Some(told(error)?),
    }
    page(&shown)
}

async fn decision_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    id: &str,
) -> Result<(DecisionPage, DecisionId), Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let id: DecisionRef = id.parse().map_err(|_| Failure::Missing)?;
    let row = api.store.decision(id).await?;
    let names = api.store.account_names([row.account_id]).await?;
    let id = row.id;
    let (calls, fault) = match replay::recorded(&api.store, &api.seal, id).await {
        Ok(calls) => (calls.into_iter().map(CallView::from).collect(), None),
        Err(error) => (Vec::new(), Some(told(error)?)),
    };
    let page = DecisionPage {
        frame: Frame::of(dashboard, visitor, Place::OpsDecisions).await?,
        line: DecisionLine::of(row, &names, now),
        calls,
        again: Vec::new(),
        fault,
    };
    Ok((page, id))
}

/// What the operator can know and mend; the rest is for the log.
fn told(error: ReplayError) -> Result<String, Failure> {
    let said = |error: &dyn Display| Ok(sentence(&error.to_string()));
    match error {
        ReplayError::Store(error) => Err(error.into()),
        error @ (ReplayError::NotRecorded
        | ReplayError::ComponentGone { .. }
        | ReplayError::NoSuchCall(_)
        | ReplayError::Load(_)
        | ReplayError::Sample(_)
        | ReplayError::Seal(_)
        | ReplayError::Slot(_)) => said(&error),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_field_finds_decisions_by_plugin_outcome_and_account() {
        let account = "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let (found, faults) =
            filter(&format!("plugin:sha256:ab outcome:FORBIDDEN {account}"), "refused");
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(found.plugin.as_deref(), Some("sha256:ab"));
        assert_eq!(found.outcome.as_deref(), Some("FORBIDDEN"));
        assert_eq!(found.account.map(|it| it.to_string()).as_deref(), Some(account));
        assert!(found.only_refusals);
        assert_eq!(filter("plan-policy", "").0.plugin.as_deref(), Some("plan-policy"));
        assert_eq!(filter("account:nobody", "").1.len(), 1);
    }
}
