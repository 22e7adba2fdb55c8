//! The suppression list: who gets nothing?

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use serde_json::json;

use super::form::{self, Form};
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use super::words::When;
use crate::account::role::Role;
use crate::api::suppressions::parse::wanted;
use crate::clock::Timestamp;
use crate::management::{acts, suppressions};
use crate::message::address::EmailAddress;
use crate::store::SuppressionRow;
use crate::store::records::SuppressionKind;

const LINES: u32 = 50;
/// What the row of links above the list offers.
const TABS: [(&str, &str); 4] =
    [("", "All"), ("bounce", "Bounced"), ("complaint", "Complained"), ("manual", "By hand")];

#[derive(Debug)]
struct SuppressionLine {
    address: String,
    /// Class, glyph and word.
    kind: (&'static str, &'static str, &'static str),
    reason: String,
    message: Option<String>,
    at: When,
    until: Option<When>,
}

#[derive(Debug)]
struct Tab {
    title: &'static str,
    link: String,
    is_shown: bool,
}

#[derive(Template)]
#[template(path = "app/suppressions.html")]
struct SuppressionsPage {
    frame: Frame,
    query: String,
    kind: String,
    tabs: Vec<Tab>,
    lines: Vec<SuppressionLine>,
    is_first_page: bool,
    next: Option<String>,
    address: String,
    reason: String,
    fault: Option<String>,
    /// What was just removed, in words and sealed.
    undo: Option<(String, String)>,
}

impl SuppressionLine {
    fn of(row: SuppressionRow, now: Timestamp) -> Self {
        let kind = match row.kind {
            SuppressionKind::Bounce => ("bad", "✕", "bounced"),
            SuppressionKind::Complaint => ("spam", "!", "complained"),
            SuppressionKind::Manual => ("off", "–", "by hand"),
        };
        Self {
            address: row.address,
            kind,
            reason: row.reason,
            message: row.message_id.map(|it| it.to_string()),
            at: When::of(row.created_at, now),
            until: row.expires_at.map(|at| When::of(at, now)),
        }
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let query = Form::of_query(uri.query());
    let mut shown = suppressions_page(&dashboard, &visitor, &query).await?;
    shown.frame.notice = match query.get("done") {
        "added" => Some("The address is on the list. Messages to it are not sent.".to_owned()),
        "stood" => Some(
            "The address stood on the list before. Its entry is renewed, unless it is stronger, as a complaint is."
                .to_owned(),
        ),
        "undone" => Some("The addresses are on the list again, as they were.".to_owned()),
        "none" => Some("No address was chosen that is on the list.".to_owned()),
        _ => None,
    };
    page(&shown)
}

pub async fn add(State(dashboard): State<Dashboard>, sent: Submitted) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.membership()?.at_least(Role::Member)?;
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let (address, reason) = (form.get("address").trim(), form.get("reason").trim());
    let said = Some(reason).filter(|it| !it.is_empty());
    let body = json!({"address": address, "reason": said});
    let new = match wanted(visitor.account()?, &body, now) {
        Ok(new) => new,
        Err(faults) => {
            let faults: Vec<String> = faults
                .into_iter()
                .map(|it| sentence(&format!("the {} {}", it.field, it.message)))
                .collect();
            let mut again = suppressions_page(&dashboard, &visitor, &Form::default()).await?;
            address.clone_into(&mut again.address);
            reason.clone_into(&mut again.reason);
            again.fault = Some(faults.join(" "));
            return with_status(StatusCode::UNPROCESSABLE_ENTITY, &again);
        }
    };
    let address = new.address.clone();
    let added = api.store.suppress_all(&[new], now).await?;
    let stood = added.first().is_some_and(|it| it.before);
    visitor.record(&dashboard, "add_suppression", address).await?;
    Ok(to(if stood { "/app/suppressions?done=stood" } else { "/app/suppressions?done=added" }))
}

/// Takes the chosen addresses off the list. The page that says so can put them back as they were.
pub async fn remove(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.membership()?.at_least(Role::Member)?;
    let (api, account) = (&dashboard.api, visitor.account()?);
    let lines = usize::try_from(LINES).unwrap_or(usize::MAX);
    let mut removed = Vec::new();
    for address in form.all("address").take(lines) {
        let found = api.store.suppression(account, address, api.clock.now()).await?;
        if api.store.unsuppress(account, address, api.clock.now()).await? {
            removed.extend(found);
            visitor.record(&dashboard, "delete_suppression", address).await?;
        }
    }
    if removed.is_empty() {
        return Ok(to("/app/suppressions?done=none"));
    }
    let said = match removed.as_slice() {
        [one] => format!("{} is off the list. Messages to it are sent again.", one.address),
        all => {
            format!("{} addresses are off the list. Messages to them are sent again.", all.len())
        }
    };
    let sealed = suppressions::sealed(&api.seal, account, removed);
    let mut shown = suppressions_page(&dashboard, &visitor, &Form::default()).await?;
    shown.undo = Some((said, sealed));
    page(&shown)
}

/// Puts back what was taken off the list a moment ago.
pub async fn undo(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.membership()?.at_least(Role::Member)?;
    let (api, account) = (&dashboard.api, visitor.account()?);
    let unread = || Failure::Invalid("The form does not say what was removed.".to_owned());
    let removed = suppressions::opened(&api.seal, account, form.get("removed"));
    let new = removed.ok_or_else(unread)?;
    api.store.suppress_all(&new, api.clock.now()).await?;
    let addresses: Vec<String> = new.into_iter().map(|it| it.address).collect();
    let act = acts::suppressions_restored(account, &addresses);
    visitor.record(&dashboard, act.action, act.subject).await?;
    Ok(to("/app/suppressions?done=undone"))
}

/// A whole address finds itself; a part finds the addresses that begin with it, because the list is in their order.
async fn suppressions_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    query: &Form,
) -> Result<SuppressionsPage, Failure> {
    let (api, account) = (&dashboard.api, visitor.account()?);
    let now = api.clock.now();
    let typed = query.get("q").trim().to_owned();
    let kind = SuppressionKind::from_name(query.get("kind"));
    let word = kind.map_or("", SuppressionKind::as_str);
    let after = Some(query.get("after")).filter(|it| !it.is_empty());
    let _page = api.lists.admit(account).await?;
    let (mut rows, mut next) = (Vec::new(), None);
    if let Ok(whole) = typed.parse::<EmailAddress>() {
        let found = api.store.suppression(account, &whole.folded(), now).await?;
        rows.extend(found.filter(|it| kind.is_none_or(|kind| it.kind == kind)));
    } else {
        let start = typed.to_lowercase();
        let from = after.or(Some(start.as_str()).filter(|it| !it.is_empty()));
        let found = api.store.suppressions(account, kind, from, LINES, now).await?;
        rows = found.suppressions;
        let count = rows.len();
        rows.retain(|it| it.address.starts_with(&start));
        let is_within = rows.len() == count;
        next = found.next.filter(|it| is_within && it.starts_with(&start));
    }
    let link = |kind: &str, after: &str| {
        let pairs = form::query([("q", typed.as_str()), ("kind", kind), ("after", after)]);
        let mark = if pairs.is_empty() { "" } else { "?" };
        format!("/app/suppressions{mark}{pairs}")
    };
    Ok(SuppressionsPage {
        tabs: TABS
            .into_iter()
            .map(|(kind, title)| Tab { title, link: link(kind, ""), is_shown: kind == word })
            .collect(),
        next: next.map(|after| link(word, &after)),
        lines: rows.into_iter().map(|it| SuppressionLine::of(it, now)).collect(),
        is_first_page: after.is_none(),
        kind: word.to_owned(),
        address: String::new(),
        reason: String::new(),
        fault: None,
        undo: None,
        frame: Frame::of(dashboard, visitor, Place::Suppressions).await?,
        query: typed,
    })
}
