//! Credits: how long do they last?

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use super::words::{When, number};
use crate::account::role::Role;
use crate::api::credits::Cursor;
use crate::clock::Timestamp;
use crate::management::Change;
use crate::management::accounts::{self, AccountChange, AccountError};
use crate::management::acts;
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
    /// The threshold of `credits.low` that holds, and the account's own as it is typed.
    low: String,
    own_low: String,
    fault: Option<String>,
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
                (None, Some(many)) => format!("{} messages", number(i64::from(many))),
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
    let query = Form::of_query(uri.query());
    let mut shown = credits_page(&dashboard, &visitor, &query).await?;
    if query.get("done") == "threshold" {
        shown.frame.notice = Some("The threshold is changed.".to_owned());
    }
    page(&shown)
}

/// Sets the balance below which the account is told so.
pub async fn change_threshold(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.membership()?.at_least(Role::Owner)?;
    let (api, account, typed) = (&dashboard.api, visitor.account()?, form.get("low").trim());
    let wanted = match typed {
        "" => Ok(Change::Clear),
        number => number.parse::<i64>().map(Change::Set).map_err(|_| AccountError::CreditsLow),
    };
    let changed = match wanted {
        Ok(credits_low) => {
            let change = AccountChange { credits_low, ..AccountChange::default() };
            let act = acts::account_changed(account, &change);
            let now = api.clock.now();
            accounts::change(&api.store, None, account, change, &[], now).await.map(|_| act)
        }
        Err(error) => Err(error),
    };
    match changed {
        Ok(act) => {
            visitor.record(&dashboard, act.action, act.subject).await?;
            Ok(to("/app/credits?done=threshold"))
        }
        Err(error @ AccountError::CreditsLow) => {
            let mut again = credits_page(&dashboard, &visitor, &Form::default()).await?;
            (again.own_low, again.fault) = (typed.to_owned(), Some(sentence(&error.to_string())));
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
        Err(AccountError::Store(error)) => Err(error.into()),
        Err(
            error @ (AccountError::Name
            | AccountError::UnknownPlan { .. }
            | AccountError::SenderNotVerified(_)
            | AccountError::OwnAccount
            | AccountError::NotSuspended
            | AccountError::BeingDeleted),
        ) => Err(Failure::Invalid(sentence(&error.to_string()))),
    }
}

async fn credits_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    query: &Form,
) -> Result<CreditsPage, Failure> {
    let (api, account) = (&dashboard.api, visitor.account()?);
    let now = api.clock.now();
    let cursor = Cursor::of(api, account);
    let after = Some(query.get("after")).filter(|it| !it.is_empty());
    let first = after.and_then(|text| cursor.read(text).ok());
    let _page = api.lists.admit(account).await?;
    let row = api.store.account(account, now).await?;
    let mut rows = api.store.ledger_from(account, first, LINES + 1).await?;
    let lines = usize::try_from(LINES).unwrap_or(usize::MAX);
    let next = rows.get(lines).map(|it| format!("/app/credits?after={}", cursor.tell(it.number)));
    rows.truncate(lines);
    let name = row.account.plan.name.clone();
    let terms = terms_of(dashboard, &row);
    let own_low = row.account.credits_low;
    let servers = api.settings.value("credits", "low");
    let count = |it: u64| number(i64::try_from(it).unwrap_or(i64::MAX));
    let or = |it: Option<u64>, none: &str| it.map_or_else(|| none.to_owned(), count);
    Ok(CreditsPage {
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
        low: own_low.or(servers.and_then(|it| it.parse().ok())).map_or_else(String::new, number),
        own_low: own_low.map_or_else(String::new, |it| it.to_string()),
        fault: None,
        ledger: rows.into_iter().map(|it| LedgerLine::of(it, now)).collect(),
        is_first_page: first.is_none(),
        next,
        frame: Frame::of(dashboard, visitor, Place::Credits).await?,
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
