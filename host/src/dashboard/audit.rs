//! The audit log: who did what, from where?

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::Uri;

use super::form::{self, Form};
use super::frame::{Frame, Place};
use super::guard::{Theme, Visitor};
use super::ops::operating::Operating;
use super::response::{Failure, page};
use super::state::Dashboard;
use super::words::When;
use crate::clock::Timestamp;
use crate::fair_share::ShareOwner;
use crate::id::AccountId;
use crate::management::audit::{Cursor, actor, search};
use crate::message::line::printable;
use crate::store::{ActorId, AuditRow};

const LINES: u32 = 50;

#[derive(Debug)]
struct ChangeLine {
    at: When,
    who: String,
    /// What the actor is, where that is no person.
    kind: &'static str,
    acting: bool,
    action: String,
    subject: String,
    /// The account that was changed, and its name; its identifier again where the account is gone.
    account: Option<(AccountId, String)>,
    ip: Option<String>,
}

#[derive(Template)]
#[template(path = "app/audit.html")]
struct AuditPage {
    frame: Frame,
    /// `/app/audit`, or the server's.
    path: &'static str,
    of_server: bool,
    query: String,
    changes: Vec<ChangeLine>,
    is_first_page: bool,
    next: Option<String>,
    looked_to: Option<When>,
}

impl ChangeLine {
    fn of(row: AuditRow, now: Timestamp) -> Self {
        Self {
            at: When::of(row.at, now),
            who: actor(&row).to_owned(),
            kind: if matches!(row.actor, ActorId::Key(_)) { "key" } else { "" },
            acting: row.acting,
            action: row.action.replace('_', " "),
            subject: printable(&row.subject.unwrap_or_default()),
            account: row.account.map(|it| (it, it.to_string())),
            ip: row.ip,
        }
    }

    fn name_account(&mut self, names: &BTreeMap<AccountId, String>) {
        let Some((id, name)) = &mut self.account else { return };
        if let Some(known) = names.get(id) {
            known.clone_into(name);
        }
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let account = visitor.account()?;
    let _page = dashboard.api.lists.admit(account).await?;
    shown(&dashboard, &visitor, uri, Some(account)).await
}

pub async fn of_server(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    uri: Uri,
) -> Result<Response, Failure> {
    let _page = dashboard.api.lists.admit(ShareOwner::Operator).await?;
    shown(&dashboard, &visitor, uri, None).await
}

async fn shown(
    dashboard: &Dashboard,
    visitor: &Visitor,
    uri: Uri,
    account: Option<AccountId>,
) -> Result<Response, Failure> {
    let (store, now) = (&dashboard.api.store, dashboard.api.clock.now());
    let sent = Form::of_query(uri.query());
    let query = sent.get("q").trim().to_lowercase();
    let cursor = Cursor { seal: &dashboard.api.seal, account };
    let first = cursor.read(sent.get("after"));
    let found = search(store, account, &query, first, LINES).await?;
    let is_full = found.rows.len() >= usize::try_from(LINES).unwrap_or(usize::MAX);
    let mut changes: Vec<ChangeLine> =
        found.rows.into_iter().map(|(_, row)| ChangeLine::of(row, now)).collect();
    if account.is_none() {
        let ids = changes.iter().filter_map(|it| Some(it.account.as_ref()?.0));
        let names = store.account_names(ids.collect::<BTreeSet<AccountId>>()).await?;
        for change in &mut changes {
            change.name_account(&names);
        }
    }
    let path = if account.is_some() { "/app/audit" } else { "/ops/audit" };
    let next = found.next.map(|number| {
        let after = cursor.tell(number);
        format!("{path}?{}", form::query([("q", query.as_str()), ("after", &after)]))
    });
    let place = if account.is_some() { Place::Audit } else { Place::OpsAudit };
    page(&AuditPage {
        frame: Frame::of(dashboard, visitor, place).await?,
        path,
        of_server: account.is_none(),
        looked_to: found
            .looked_to
            .filter(|_| next.is_some() && !is_full)
            .map(|at| When::of(at, now)),
        query,
        changes,
        is_first_page: first.is_none(),
        next,
    })
}
