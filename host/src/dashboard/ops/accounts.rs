//! Accounts and plans: who sends, on what terms, with which credits?

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use sha2::{Digest, Sha256};

use super::operating::{Operating, Order, done, record};
use crate::account::AccountState;
use crate::account::brand::BrandChanges;
use crate::account::idempotency::Idempotency;
use crate::account::plan::{BadPlanName, Plan};
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::dashboard::credits::LedgerLine;
use crate::dashboard::form::Form;
use crate::dashboard::frame::{Frame, Place};
use crate::dashboard::guard::{Theme, Visitor};
use crate::dashboard::response::{Failure, page, sentence, with_status};
use crate::dashboard::state::Dashboard;
use crate::dashboard::words::{When, counted, number};
use crate::fair_share::ShareOwner;
use crate::id::{AccountId, UserId};
use crate::management::accounts::{self, AccountChange, AccountError, NewAccount, PlanChoice};
use crate::management::credits::{self, GrantError, GrantRequest};
use crate::management::{acts, plans};
use crate::people::Secret;
use crate::plugin::Kind;
use crate::plugin::binding::Binding;
use crate::store::{AccountRow, MemberRow, SentLately};

const LINES: u32 = 50;
const LEDGER_LINES: u32 = 10;
const MEMBER_LINES: u32 = 100;

#[derive(Debug)]
struct AccountLine {
    id: String,
    name: String,
    plan: String,
    state: AccountState,
    is_empty: bool,
    balance: String,
    month: String,
    /// Of what was accepted in the last seven days; none where nothing was.
    bounced: Option<String>,
    /// Whether so many bounces endanger the reputation of the server.
    is_risky: bool,
    since: When,
}

#[derive(Template)]
#[template(path = "app/ops/accounts.html")]
struct AccountsPage {
    frame: Frame,
    accounts: Vec<AccountLine>,
    is_first_page: bool,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "app/ops/account_new.html")]
struct NewAccountPage {
    frame: Frame,
    name: String,
    plan: String,
    is_own: bool,
    known: Vec<String>,
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/ops/account.html")]
struct AccountPage {
    frame: Frame,
    account: AccountLine,
    today: String,
    sender: Option<String>,
    members: Vec<MemberRow>,
    is_first_page: bool,
    /// The next page of people.
    next: Option<String>,
    ledger: Vec<LedgerLine>,
    known: Vec<String>,
    /// Idempotency key: a form that is sent twice grants once.
    once: String,
    amount: String,
    reason: String,
    grant_fault: Option<String>,
    plan_fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/ops/account_suspend.html")]
struct SuspendPage {
    frame: Frame,
    account: AccountLine,
    /// As in `2 messages`: of the last 30 days.
    sent: String,
}

#[derive(Debug)]
struct PlanLine {
    name: String,
    price: String,
    day: String,
    month: String,
}

#[derive(Template)]
#[template(path = "app/ops/plans.html")]
struct PlansPage {
    frame: Frame,
    plans: Vec<PlanLine>,
    /// Whether the policy has a list of plans in its settings.
    is_listed: bool,
    policy: String,
    slot: String,
}

impl AccountLine {
    fn of(row: &AccountRow, sent: SentLately, now: Timestamp) -> Self {
        let account = &row.account;
        Self {
            id: account.id.to_string(),
            name: account.name.clone(),
            plan: account.plan.name.clone(),
            state: account.state,
            is_empty: row.balance.0 <= 0,
            balance: number(row.balance.0),
            month: number(i64::try_from(row.sent_month).unwrap_or(i64::MAX)),
            bounced: sent.bounced_per_mille().map(|it| format!("{}.{}\u{202f}%", it / 10, it % 10)),
            is_risky: accounts::is_risky(sent),
            since: When::of(account.created_at, now),
        }
    }

    fn is_suspended(&self) -> bool {
        self.state == AccountState::Suspended
    }

    fn is_deleting(&self) -> bool {
        self.state == AccountState::Deleting
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let after = Form::of_query(uri.query()).get("after").parse::<AccountId>().ok();
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let mut rows = api.store.accounts_after(after, LINES + 1, now).await?;
    let lines = usize::try_from(LINES).unwrap_or(usize::MAX);
    let has_more = rows.len() > lines;
    rows.truncate(lines);
    let last = rows.last().filter(|_| has_more).map(|it| it.account.id);
    let rows = accounts::with_sent_lately(&api.store, rows, now).await?;
    page(&AccountsPage {
        accounts: rows.iter().map(|(row, sent)| AccountLine::of(row, *sent, now)).collect(),
        is_first_page: after.is_none(),
        next: last.map(|id| format!("/ops/accounts?after={id}")),
        frame: Frame::of(&dashboard, &visitor, Place::OpsAccounts).await?,
    })
}

pub async fn ask(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
) -> Result<Response, Failure> {
    page(&NewAccountPage {
        frame: Frame::of(&dashboard, &visitor, Place::OpsAccounts).await?,
        name: String::new(),
        plan: "free".to_owned(),
        is_own: false,
        known: known(&dashboard),
        fault: None,
    })
}

pub async fn create(State(dashboard): State<Dashboard>, order: Order) -> Result<Response, Failure> {
    let Order { visitor, form } = order;
    let api = &dashboard.api;
    let (name, plan) = (form.get("name").trim().to_owned(), form.get("plan").trim().to_owned());
    let is_own = form.get("own") == "on";
    let made = match choice(&plan, form.get("own")) {
        Ok(plan) => {
            let new = NewAccount { name: name.clone(), plan, sender: None, strict: false };
            let (brand, named) =
                (BrandChanges::default(), plans::names_of_server(&dashboard.api.plugins));
            accounts::create(&api.store, new, &brand, &named, api.clock.now()).await
        }
        Err(error) => {
            let fault = sentence(&error.to_string());
            return again(&dashboard, &visitor, (name, plan, is_own), fault).await;
        }
    };
    match made {
        Ok(row) => {
            let id = row.account.id;
            record(&dashboard, &visitor, ("create_account", id.to_string()), Some(id)).await;
            Ok(done(&format!("/ops/accounts/{id}"), "created"))
        }
        Err(AccountError::Store(error)) => Err(error.into()),
        Err(error) => again(&dashboard, &visitor, (name, plan, is_own), words(&error)).await,
    }
}

async fn again(
    dashboard: &Dashboard,
    visitor: &Visitor,
    (name, plan, is_own): (String, String, bool),
    fault: String,
) -> Result<Response, Failure> {
    let frame = Frame::of(dashboard, visitor, Place::OpsAccounts).await?;
    let (known, fault) = (known(dashboard), Some(fault));
    let again = NewAccountPage { frame, name, plan, is_own, known, fault };
    with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Failure> {
    let query = Form::of_query(uri.query());
    let mut shown = account_page(&dashboard, &visitor, id_of(&id)?, &query).await?;
    shown.frame.notice = match query.get("done") {
        "created" => Some("The account is open. Grant credits and invite its owner.".to_owned()),
        "granted" => Some(format!("Granted. The balance is {}.", shown.account.balance)),
        "plan" => Some(format!("The plan is {} from now on.", shown.account.plan)),
        "suspended" => Some("The account is suspended: each request is refused.".to_owned()),
        "resumed" => Some("The account is active, and mail that was held back goes on.".to_owned()),
        "deleting" => Some("It is being deleted. When all is gone, so is this page.".to_owned()),
        _ => None,
    };
    page(&shown)
}

pub async fn grant(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    order: Order,
) -> Result<Response, Failure> {
    let Order { visitor, form } = order;
    let (api, account) = (&dashboard.api, id_of(&id)?);
    let (typed, reason) = (form.get("amount").trim(), form.get("reason").trim());
    // People write 10 000 and 10,000.
    let plain: String = typed.chars().filter(|it| !matches!(it, ' ' | ',' | '\u{202f}')).collect();
    // 0 is refused with the bounds.
    let amount: i64 = plain.parse().unwrap_or_default();
    let reason = if reason.is_empty() { credits::NO_REASON } else { reason };
    let key = form.get("once").parse::<Secret>().ok().map(|it| it.reveal());
    let request = GrantRequest {
        account,
        amount,
        reason: reason.to_owned(),
        idempotency: key.map(|key| {
            let body_hash = Sha256::digest(format!("{account} {plain} {reason}")).into();
            Idempotency { key: format!("dashboard {key}"), body_hash }
        }),
    };
    match credits::grant(&api.store, request, api.clock.now()).await {
        Ok(receipt) => {
            if !receipt.is_replayed {
                let act = acts::granted(account, Credits(amount));
                record(&dashboard, &visitor, (act.action, act.subject), act.account).await;
            }
            Ok(done(&format!("/ops/accounts/{account}"), "granted"))
        }
        Err(GrantError::Store(error)) => Err(error.into()),
        Err(error @ (GrantError::Faults(_) | GrantError::Conflict)) => {
            let mut again = account_page(&dashboard, &visitor, account, &Form::default()).await?;
            again.grant_fault = Some(sentence(&error.to_string()));
            typed.clone_into(&mut again.amount);
            form.get("reason").clone_into(&mut again.reason);
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
    }
}

pub async fn change_plan(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    order: Order,
) -> Result<Response, Failure> {
    let Order { visitor, form } = order;
    let id = id_of(&id)?;
    let fault = match choice(form.get("plan").trim(), form.get("own")) {
        Ok(plan) => {
            let change = AccountChange { plan: Some(plan), ..AccountChange::default() };
            match changed(&dashboard, &visitor, id, change).await {
                Ok(()) => return Ok(done(&format!("/ops/accounts/{id}"), "plan")),
                Err(AccountError::Store(error)) => return Err(error.into()),
                Err(error) => words(&error),
            }
        }
        Err(error) => sentence(&error.to_string()),
    };
    let mut again = account_page(&dashboard, &visitor, id, &Form::default()).await?;
    again.plan_fault = Some(fault);
    with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let now = dashboard.api.clock.now();
    let row = dashboard.api.store.account(id_of(&id)?, now).await?;
    page(&SuspendPage {
        frame: Frame::of(&dashboard, &visitor, Place::OpsAccounts).await?,
        account: AccountLine::of(&row, SentLately::default(), now),
        sent: counted(row.sent_month, "message", "messages"),
    })
}

pub async fn suspend(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    order: Order,
) -> Result<Response, Failure> {
    set_state(&dashboard, &order.visitor, id_of(&id)?, AccountState::Suspended).await
}

pub async fn resume(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    order: Order,
) -> Result<Response, Failure> {
    set_state(&dashboard, &order.visitor, id_of(&id)?, AccountState::Active).await
}

async fn set_state(
    dashboard: &Dashboard,
    visitor: &Visitor,
    id: AccountId,
    state: AccountState,
) -> Result<Response, Failure> {
    let change = AccountChange { state: Some(state), ..AccountChange::default() };
    changed(dashboard, visitor, id, change).await.map_err(|error| match error {
        AccountError::Store(error) => Failure::from(error),
        other @ (AccountError::Name
        | AccountError::CreditsLow
        | AccountError::UnknownPlan { .. }
        | AccountError::SenderNotVerified(_)
        | AccountError::OwnAccount
        | AccountError::NotSuspended
        | AccountError::BeingDeleted) => Failure::Invalid(words(&other)),
    })?;
    dashboard.api.due.notify_one();
    let what = if state == AccountState::Active { "resumed" } else { "suspended" };
    Ok(done(&format!("/ops/accounts/{id}"), what))
}

async fn changed(
    dashboard: &Dashboard,
    visitor: &Visitor,
    id: AccountId,
    change: AccountChange,
) -> Result<(), AccountError> {
    let api = &dashboard.api;
    let act = acts::account_changed(id, &change);
    accounts::change(
        &api.store,
        None,
        id,
        change,
        &plans::names_of_server(&dashboard.api.plugins),
        api.clock.now(),
    )
    .await?;
    record(dashboard, visitor, (act.action, act.subject), act.account).await;
    Ok(())
}

pub async fn plans(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
) -> Result<Response, Failure> {
    let policy = dashboard.api.plugins.serving(Kind::Plan, &Binding::Server);
    let terms = plans::named_by(&policy);
    let or = |it: Option<u64>, none: &str| {
        it.map_or_else(|| none.to_owned(), |it| number(i64::try_from(it).unwrap_or(i64::MAX)))
    };
    let line = |it: plans::PlanTerms| PlanLine {
        name: it.plan.name,
        price: or(it.credits_per_recipient, "not said"),
        day: or(it.daily_limit, "no limit"),
        month: or(it.monthly_limit, "no limit"),
    };
    page(&PlansPage {
        is_listed: terms.is_some(),
        plans: terms.unwrap_or_default().into_iter().map(line).collect(),
        policy: format!("{} {}", policy.identity().name, policy.identity().version),
        slot: policy.slot().as_str().to_owned(),
        frame: Frame::of(&dashboard, &visitor, Place::OpsAccounts).await?,
    })
}

async fn account_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    id: AccountId,
    query: &Form,
) -> Result<AccountPage, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let after = query.get("after").parse::<UserId>().ok();
    let mut members = api.store.members(id, after, MEMBER_LINES + 1).await?;
    let lines = usize::try_from(MEMBER_LINES).unwrap_or(usize::MAX);
    let has_more = members.len() > lines;
    members.truncate(lines);
    let last = members.last().filter(|_| has_more);
    let row = api.store.account(id, now).await?;
    let sent = api.store.sent_lately(&[id], now).await?;
    let ledger = api.store.ledger(id, LEDGER_LINES).await?;
    Ok(AccountPage {
        account: AccountLine::of(&row, sent.get(&id).copied().unwrap_or_default(), now),
        today: number(i64::try_from(row.sent_today).unwrap_or(i64::MAX)),
        sender: row.account.sender.map(|it| it.to_string()),
        is_first_page: after.is_none(),
        next: last.map(|it| format!("/ops/accounts/{id}?after={}#people", it.user.id)),
        members,
        ledger: ledger.into_iter().map(|it| LedgerLine::of(it, now)).collect(),
        known: known(dashboard),
        once: Secret::random().reveal(),
        amount: String::new(),
        reason: String::new(),
        grant_fault: None,
        plan_fault: None,
        frame: Frame::of(dashboard, visitor, Place::OpsAccounts).await?,
    })
}

/// What is no identifier names no account.
pub(super) fn id_of(text: &str) -> Result<AccountId, Failure> {
    text.parse().map_err(|_| Failure::Missing)
}

/// The plan of a form, whose box says that the operator's own policy has it.
fn choice(plan: &str, own: &str) -> Result<PlanChoice, BadPlanName> {
    let plan: Plan = plan.parse()?;
    Ok(if own == "on" { PlanChoice::Own(plan) } else { PlanChoice::Known(plan) })
}

fn words(error: &AccountError) -> String {
    let words = sentence(&error.to_string());
    match error {
        AccountError::UnknownPlan { .. } => {
            format!("{words} If your own plan policy has it, say so with the box below the field.")
        }
        AccountError::Name
        | AccountError::CreditsLow
        | AccountError::SenderNotVerified(_)
        | AccountError::OwnAccount
        | AccountError::NotSuspended
        | AccountError::BeingDeleted
        | AccountError::Store(_) => words,
    }
}

/// What is offered where a plan is typed.
fn known(dashboard: &Dashboard) -> Vec<String> {
    plans::known(&plans::names_of_server(&dashboard.api.plugins))
}
