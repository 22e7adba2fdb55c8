//! Sender domains: which there are, and a new one.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use super::words::When;
use crate::account::role::Role;
use crate::api::domains::{permit, refused};
use crate::clock::Timestamp;
use crate::domain::look_alike::{LookAlikes, shown};
use crate::domain::name::DomainName;
use crate::domain::state::{DomainKind, Phase};
use crate::id::{AccountId, DomainId};
use crate::management::Change;
use crate::management::accounts::{self, AccountChange, AccountError};
use crate::management::acts::{self, Act};
use crate::message::address::EmailAddress;
use crate::store::DomainRow;
use crate::upkeep::verify_domains::{DomainError, NotAdded};

const LINES: u32 = 50;

#[derive(Debug)]
struct DomainLine {
    id: String,
    name: String,
    /// Class, glyph and word.
    state: (&'static str, &'static str, &'static str),
    is_sandbox: bool,
    /// How many records are left to publish.
    missing: usize,
    since: When,
}

#[derive(Template)]
#[template(path = "app/domains.html")]
struct DomainsPage {
    frame: Frame,
    domains: Vec<DomainLine>,
    is_first_page: bool,
    next: Option<String>,
    name: String,
    wants_sandbox: bool,
    fault: Option<String>,
    /// The account's default sender, or what was typed instead.
    sender: String,
    sender_fault: Option<String>,
    /// The domains of the page from which mail may be sent.
    sending: Vec<String>,
}

/// Class, glyph and word of where a domain stands.
pub fn badge(phase: Phase) -> (&'static str, &'static str, &'static str) {
    let (class, glyph) = match phase {
        Phase::Verified => ("good", "✓"),
        Phase::Pending => ("way", "◔"),
        Phase::Warned => ("wait", "↻"),
        Phase::Degraded | Phase::Failed => ("bad", "✕"),
    };
    (class, glyph, phase.as_str())
}

impl DomainLine {
    fn of(row: DomainRow, now: Timestamp) -> Self {
        let domain = row.domain;
        Self {
            id: domain.id.to_string(),
            name: shown(&domain.name),
            state: badge(domain.standing.phase),
            is_sandbox: domain.kind == DomainKind::Sandbox,
            missing: domain.standing.missing.len(),
            since: When::of(domain.standing.since, now),
        }
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let query = Form::of_query(uri.query());
    let mut shown = domains_page(&dashboard, &visitor, query.get("after").parse().ok()).await?;
    shown.frame.notice = match query.get("done") {
        "removed" => {
            Some("The domain is removed with its keys. Its DNS records can go.".to_owned())
        }
        "sender" => Some("The default sender is changed.".to_owned()),
        _ => None,
    };
    page(&shown)
}

/// Adds a domain, and shows which records to publish.
pub async fn add(State(dashboard): State<Dashboard>, sent: Submitted) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    let account = visitor.account()?;
    visitor.membership()?.at_least(Role::Owner)?;
    let _permit = permit(&dashboard.api.verifier.permits, account)?;
    let typed = form.get("name").trim();
    let wants_sandbox = form.get("kind") == "sandbox";
    let kind = if wants_sandbox { DomainKind::Sandbox } else { DomainKind::Dns };
    let fault = match typed.parse::<DomainName>() {
        Ok(name) => match added(&dashboard, account, (name.clone(), kind)).await {
            Ok(id) => {
                visitor.record(&dashboard, "add_domain", &name).await?;
                let done = if wants_sandbox { "sandbox" } else { "added" };
                return Ok(to(&format!("/app/domains/{id}?done={done}")));
            }
            // What the person can mend stands beside the form.
            Err(
                error @ (DomainError::Name(_)
                | DomainError::NotAdded(
                    NotAdded::LooksLikeAnother | NotAdded::Exists | NotAdded::TooMany(_),
                )),
            ) => sentence(&error.to_string()),
            Err(
                error @ (DomainError::Policy(_)
                | DomainError::Key(_)
                | DomainError::Sandbox
                | DomainError::RotatedTooOften
                | DomainError::Busy
                | DomainError::Store(_)),
            ) => return Err(refused(&error).into()),
        },
        Err(error) => sentence(&error.to_string()),
    };
    let mut again = domains_page(&dashboard, &visitor, None).await?;
    typed.clone_into(&mut again.name);
    (again.fault, again.wants_sandbox) = (Some(fault), wants_sandbox);
    with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
}

/// Sets who mail is from when neither its request nor its template names a sender; empty for nobody.
pub async fn change_sender(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.membership()?.at_least(Role::Owner)?;
    let (account, typed) = (visitor.account()?, form.get("sender").trim());
    let fault = match with_sender(&dashboard, account, typed).await {
        Ok(act) => {
            visitor.record(&dashboard, act.action, act.subject).await?;
            return Ok(to("/app/domains?done=sender"));
        }
        Err(NoSender::Address) => "The address must be whole, as in hello@example.com.".to_owned(),
        Err(NoSender::Account(AccountError::Store(error))) => return Err(error.into()),
        Err(NoSender::Account(
            error @ (AccountError::SenderNotVerified(_)
            | AccountError::Name
            | AccountError::CreditsLow
            | AccountError::UnknownPlan { .. }
            | AccountError::OwnAccount
            | AccountError::NotSuspended
            | AccountError::BeingDeleted),
        )) => sentence(&error.to_string()),
    };
    let mut again = domains_page(&dashboard, &visitor, None).await?;
    (again.sender, again.sender_fault) = (typed.to_owned(), Some(fault));
    with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
}

/// Why an account does not get a default sender.
enum NoSender {
    /// No e-mail address was typed.
    Address,
    Account(AccountError),
}

async fn with_sender(
    dashboard: &Dashboard,
    account: AccountId,
    typed: &str,
) -> Result<Act, NoSender> {
    let api = &dashboard.api;
    let sender = match typed {
        "" => Change::Clear,
        typed => {
            let sender = typed.parse::<EmailAddress>().map_err(|_| NoSender::Address)?;
            let checked = accounts::check_sender(&api.store, account, &sender).await;
            checked.map_err(NoSender::Account)?;
            Change::Set(sender)
        }
    };
    let change = AccountChange { sender, ..AccountChange::default() };
    let act = acts::account_changed(account, &change);
    let changed = accounts::change(&api.store, None, account, change, &[], api.clock.now()).await;
    changed.map(|_| act).map_err(NoSender::Account)
}

async fn added(
    dashboard: &Dashboard,
    account: AccountId,
    (name, kind): (DomainName, DomainKind),
) -> Result<DomainId, DomainError> {
    let api = &dashboard.api;
    let account = api.store.account(account, api.clock.now()).await?.account;
    api.verifier.add(&account, name, kind, LookAlikes::Refused).await
}

async fn domains_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    after: Option<DomainId>,
) -> Result<DomainsPage, Failure> {
    let (api, account) = (&dashboard.api, visitor.account()?);
    let _page = api.lists.admit(account).await?;
    let mut rows = api.store.domains(account, after, LINES + 1).await?;
    let lines = usize::try_from(LINES).unwrap_or(usize::MAX);
    let has_more = rows.len() > lines;
    rows.truncate(lines);
    let next = rows.last().filter(|_| has_more).map(|it| it.domain.id);
    let now = api.clock.now();
    let sender = api.store.account(account, now).await?.account.sender;
    let may_send = |it: &&DomainRow| it.domain.standing.may_send();
    Ok(DomainsPage {
        sending: rows.iter().filter(may_send).map(|it| shown(&it.domain.name)).collect(),
        sender: sender.map_or_else(String::new, |it| it.to_string()),
        sender_fault: None,
        domains: rows.into_iter().map(|row| DomainLine::of(row, now)).collect(),
        is_first_page: after.is_none(),
        next: next.map(|id| format!("/app/domains?after={id}")),
        name: String::new(),
        wants_sandbox: false,
        fault: None,
        frame: Frame::of(dashboard, visitor, Place::Domains).await?,
    })
}
