//! Credits: how long do they last?

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::Uri;

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Theme, Visitor};
use super::response::{Failure, page};
use super::state::Dashboard;
use super::words::{When, number};
use crate::api::credits::Cursor;
use crate::clock::Timestamp;
use crate::management::plans::{self, PlanTerms};
use crate::plugin::Kind;
use crate::plugin::binding::Scope;
use crate::store::{AccountRow, LedgerRow};

const LINES: u32 = 50;
/// What `sent_month` counts.
const DAYS_OF_MONTH: i64 = 30;

/// An entry of a ledger.
#[derive(Debug)]
pub struct LedgerLine {
    pub at: When,
    pub kind: &'static str,
    pub amount: String,
    pub reason: String,
    /// The message of a refund.
    pub message: Option<String>,
}

#[derive(Template)]
#[template(path = "app/credits.html")]
struct CreditsPage {
    frame: Frame,
    balance: String,
    is_empty: bool,
    today: String,
    month: String,
    plan: String,
    /// What the plan policy says of the plan: price of a recipient, limits of a day and a month.
    terms: Option<[String; 3]>,
    /// At the pace of the last 30 days; none where nothing was sent, or the price is not known.
    lasts: Option<String>,
    ledger: Vec<LedgerLine>,
    is_first_page: bool,
    next: Option<String>,
}

impl LedgerLine {
    pub fn of(row: LedgerRow, now: Timestamp) -> Self {
        let sign = if row.amount.0 > 0 { "+" } else { "" };
        Self {
            at: When::of(row.at, now),
            kind: row.kind.as_str(),
            amount: format!("{sign}{}", number(row.amount.0)),
            reason: match (row.reason, row.messages) {
                (Some(reason), _) => reason,
                (None, Some(1)) => "1 message".to_owned(),
                (None, Some(many)) => format!("{many} messages"),
                (None, None) => String::new(),
            },
            message: row.message_id.map(|it| it.to_string()),
        }
    }
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, account) = (&dashboard.api, visitor.account()?);
    let now = api.clock.now();
    let cursor = Cursor::of(api, account);
    let query = Form::of_query(uri.query());
    let after = Some(query.get("after")).filter(|it| !it.is_empty());
    let first = after.and_then(|text| cursor.read(text).ok());
    let _page = api.lists.admit(account).await?;
    let row = api.store.account(account, now).await?;
    let mut rows = api.store.ledger_from(account, first, LINES + 1).await?;
    let lines = usize::try_from(LINES).unwrap_or(usize::MAX);
    let next = rows.get(lines).map(|it| format!("/app/credits?after={}", cursor.tell(it.number)));
    rows.truncate(lines);
    let name = row.account.plan.name.clone();
    let terms = terms_of(&dashboard, &row);
    let count = |it: u64| number(i64::try_from(it).unwrap_or(i64::MAX));
    let or = |it: Option<u64>, none: &str| it.map_or_else(|| none.to_owned(), count);
    page(&CreditsPage {
        balance: number(row.balance.0),
        is_empty: row.balance.0 <= 0,
        today: count(row.sent_today),
        month: count(row.sent_month),
        lasts: lasts(&row, terms.as_ref().and_then(|it| it.credits_per_recipient)),
        terms: terms.map(|it| {
            [
                or(it.credits_per_recipient, "not said"),
                or(it.daily_limit, "no limit"),
                or(it.monthly_limit, "no limit"),
            ]
        }),
        plan: name,
        ledger: rows.into_iter().map(|it| LedgerLine::of(it, now)).collect(),
        is_first_page: first.is_none(),
        next,
        frame: Frame::of(&dashboard, &visitor, Place::Credits).await?,
    })
}

/// What the plan policy says of the account's plan.
pub fn terms_of(dashboard: &Dashboard, row: &AccountRow) -> Option<PlanTerms> {
    let (own, name) = (row.account.id.to_string(), &row.account.plan.name);
    let scope = Scope { plan: name, account: &own, domain: None };
    let policy = dashboard.api.plugins.table().serving(Kind::Plan, &scope);
    plans::named_by(&policy)?.into_iter().find(|it| it.plan.name == *name)
}

/// Whole days that the balance lasts at the pace of the last 30.
pub fn lasts(row: &AccountRow, price: Option<u64>) -> Option<String> {
    let spent = i64::try_from(row.sent_month.checked_mul(price?)?).ok()?;
    if row.balance.0 <= 0 || spent == 0 {
        return None;
    }
    let days = row.balance.0.checked_mul(DAYS_OF_MONTH)? / spent;
    Some(match days {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        2..=3_650 => format!("{} days", number(days)),
        _ => "10+ years".to_owned(),
    })
}
