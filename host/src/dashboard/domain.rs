//! A sender domain: what is left to publish?

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};

use super::domains::badge;
use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Change, Owned, Theme, Visitor};
use super::response::{self, Failure, page, with_status};
use super::state::Dashboard;
use super::words::{Marked, When};
use crate::account::role::Role;
use crate::api::domains::{permit, refused};
use crate::api::shapes::{DomainRecord, domain_records};
use crate::clock::Timestamp;
use crate::domain::key::{DkimKey, KeyPhase};
use crate::domain::look_alike::shown;
use crate::domain::state::{DomainKind, Phase};
use crate::id::DomainId;
use crate::store::DomainDetails;
use crate::upkeep::verify_domains::{DomainError, RETIRED_KEY_TIME, record_name};

/// One record to publish, and what DNS says of it.
#[derive(Debug)]
struct RecordView {
    record: DomainRecord,
    /// What it is for; the record of a DKIM key also names its algorithm, because there are two.
    title: String,
    /// Class, glyph and word.
    state: (&'static str, &'static str, String),
    /// What the record is for.
    help: Marked,
    /// What to do about it.
    hint: Option<Marked>,
}

#[derive(Debug)]
struct KeyLine {
    selector: String,
    algorithm: String,
    /// Class, glyph and word.
    state: (&'static str, &'static str, &'static str),
    since: When,
    keep_until: Option<When>,
}

#[derive(Template)]
#[template(path = "app/domain.html")]
struct DomainPage {
    frame: Frame,
    id: String,
    name: String,
    /// The name as DNS has it, where that is another.
    ascii: Option<String>,
    state: (&'static str, &'static str, &'static str),
    sentence: String,
    is_sandbox: bool,
    records: Vec<RecordView>,
    keys: Vec<KeyLine>,
    checked: Option<When>,
    next: Option<When>,
    unclear: Option<When>,
    failure: Option<String>,
    /// Why something of the page was not done.
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/domain_remove.html")]
struct RemovePage {
    frame: Frame,
    id: String,
    name: String,
    typed: String,
    fault: Option<String>,
}

impl RecordView {
    fn of(record: DomainRecord, key: Option<&DkimKey>) -> Self {
        let (class, glyph) = match record.status.as_str() {
            "satisfied" => ("good", "✓"),
            "propagating" => ("way", "◔"),
            "missing" | "wrong" if record.required => ("bad", "✕"),
            "missing" | "wrong" | "unknown" => ("wait", "↻"),
            _ => ("off", "–"),
        };
        let word = match record.status.as_str() {
            "satisfied" => "seen".to_owned(),
            "unknown" => "no answer".to_owned(),
            "unchecked" => "not looked at".to_owned(),
            other => other.to_owned(),
        };
        let title = match key {
            Some(key) => format!("{}, {}", record.purpose, key.algorithm),
            None => record.purpose.clone(),
        };
        // The value stands above the hint, which need not repeat it.
        let value = format!("`{}`", record.value);
        let hint = |text: &String| {
            let above = "the value above";
            Marked::of(&text.replace(&format!("the value {value}"), above).replace(&value, above))
        };
        Self {
            help: Marked::of(&record.help),
            hint: record.hint.as_ref().map(hint),
            record,
            title,
            state: (class, glyph, word),
        }
    }
}

impl KeyLine {
    fn of(key: DkimKey, now: Timestamp) -> Self {
        let (state, keep_until) = match key.phase {
            KeyPhase::Next => (("way", "◔"), None),
            KeyPhase::Signing => (("good", "✓"), None),
            KeyPhase::Retired => (("off", "–"), Some(key.since.after(RETIRED_KEY_TIME))),
        };
        Self {
            state: (state.0, state.1, key.phase.as_str()),
            since: When::of(key.since, now),
            keep_until: keep_until.map(|it| When::of(it, now)),
            selector: key.selector,
            algorithm: key.algorithm,
        }
    }
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Failure> {
    let details = DomainDetails::find(&dashboard, &visitor, &id).await?;
    let mut shown = domain_page(&dashboard, &visitor, details).await?;
    let notice = match Form::of_query(uri.query()).get("done") {
        "added" => "The domain is added. Publish the records below where its DNS is kept.",
        "sandbox" => {
            "The sandbox domain is added. It sends at once, and only into the sandbox inbox."
        }
        "checked" => "DNS was looked at just now.",
        "rotated" => {
            "The new keys are made. They sign once their records are seen; leave the old records until then."
        }
        _ => "",
    };
    shown.frame.notice = Some(notice.to_owned()).filter(|it| !it.is_empty());
    page(&shown)
}

/// Looks at DNS now.
pub async fn check(change: Change<DomainDetails>) -> Result<Response, Failure> {
    let (api, found) = (&change.dashboard.api, &change.row.row.domain);
    let _permit = permit(&api.verifier.permits, found.account_id)?;
    let checked = api.verifier.check(found.id).await;
    checked.map_err(|error| refused(&error.into()))?.ok_or(Failure::Missing)?;
    let page = format!("/app/domains/{}?done=checked", found.id);
    change.done("check_domain", &found.name, &page).await
}

/// Begins a rotation of the DKIM keys.
pub async fn rotate(change: Change<DomainDetails>) -> Result<Response, Failure> {
    let (api, domain) = (&change.dashboard.api, &change.row.row.domain);
    let _permit = permit(&api.verifier.permits, domain.account_id)?;
    if let Err(error) = api.verifier.rotate(change.row.clone()).await {
        return not_rotated(change, error).await;
    }
    let page = format!("/app/domains/{}?done=rotated", domain.id);
    change.done("rotate_domain", &domain.name, &page).await
}

/// The domain's page, which says why its keys stay.
async fn not_rotated(
    change: Change<DomainDetails>,
    error: DomainError,
) -> Result<Response, Failure> {
    match error {
        DomainError::Sandbox | DomainError::RotatedTooOften | DomainError::Busy => {
            let mut again = domain_page(&change.dashboard, &change.visitor, change.row).await?;
            again.fault = Some(response::sentence(&error.to_string()));
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
        DomainError::Name(_)
        | DomainError::NotAdded(_)
        | DomainError::Policy(_)
        | DomainError::Key(_)
        | DomainError::Store(_) => Err(refused(&error).into()),
    }
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    visitor.membership()?.at_least(Role::Owner)?;
    let domain = DomainDetails::find(&dashboard, &visitor, &id).await?.row.domain;
    let frame = Frame::of(&dashboard, &visitor, Place::Domains).await?;
    let (id, name) = (domain.id.to_string(), shown(&domain.name));
    page(&RemovePage { frame, id, name, typed: String::new(), fault: None })
}

/// Removes a domain whose name was typed once more: its keys are lost, and mail that waits fails.
pub async fn remove(change: Change<DomainDetails>) -> Result<Response, Failure> {
    let domain = &change.row.row.domain;
    let (typed, name) = (change.form.get("name").trim(), shown(&domain.name));
    let said = typed.to_lowercase();
    if said != name.to_lowercase() && said != domain.name.to_string() {
        let frame = Frame::of(&change.dashboard, &change.visitor, Place::Domains).await?;
        let fault = format!("Nothing was removed: type {name} to say that you mean this domain.");
        let id = domain.id.to_string();
        let typed = typed.to_owned();
        let again = RemovePage { frame, id, name, typed, fault: Some(fault) };
        return with_status(StatusCode::UNPROCESSABLE_ENTITY, &again);
    }
    change.dashboard.api.store.remove_domain(domain.id).await?;
    change.done("delete_domain", &domain.name, "/app/domains?done=removed").await
}

impl Owned for DomainDetails {
    async fn find(dashboard: &Dashboard, visitor: &Visitor, id: &str) -> Result<Self, Failure> {
        let id: DomainId = id.parse().map_err(|_| Failure::Missing)?;
        let account = visitor.account()?;
        let details = dashboard.api.store.domain_details(id).await?;
        details.filter(|it| it.row.domain.account_id == account).ok_or(Failure::Missing)
    }
}

async fn domain_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    details: DomainDetails,
) -> Result<DomainPage, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let DomainDetails { row, check, keys, .. } = details;
    let records = domain_records(&row, check.as_ref(), &keys);
    let (domain, when) = (row.domain, |at| When::of(at, now));
    let name = shown(&domain.name);
    let required = records.iter().filter(|it| it.required);
    let seen = required.clone().filter(|it| it.status == "satisfied").count();
    let sentence = if domain.kind == DomainKind::Sandbox {
        "It needs no records: its mail reaches the sandbox inbox alone.".to_owned()
    } else {
        let grace = domain.standing.since.after(api.verifier.rules.schedule.grace);
        let counted = format!("{seen} of {} required records are seen.", required.count());
        format!("{counted} {}", standing(domain.standing.phase, &when(grace)))
    };
    let key_of =
        |it: &DomainRecord| keys.iter().find(|key| record_name(&domain.name, key) == it.name);
    let views = records.into_iter().map(|it| {
        let key = key_of(&it);
        RecordView::of(it, key)
    });
    let views = views.collect();
    Ok(DomainPage {
        frame: Frame::of(dashboard, visitor, Place::Domains).await?,
        id: domain.id.to_string(),
        ascii: Some(domain.name.to_string()).filter(|it| *it != name),
        name,
        state: badge(domain.standing.phase),
        is_sandbox: domain.kind == DomainKind::Sandbox,
        sentence,
        records: views,
        keys: keys.into_iter().map(|key| KeyLine::of(key, now)).collect(),
        checked: check.as_ref().and_then(|it| it.checked_at).map(when),
        next: check.as_ref().and_then(|it| it.next_at).map(when),
        unclear: check.as_ref().and_then(|it| it.unclear_since).map(when),
        failure: check.and_then(|it| it.failure),
        fault: None,
    })
}

/// What a phase means for mail, and what to do.
fn standing(phase: Phase, grace: &When) -> String {
    match phase {
        Phase::Pending => {
            "Sends from this domain are refused until all of them are. Publish the rest, then check."
                .to_owned()
        }
        Phase::Verified => "Mail is sent from this domain.".to_owned(),
        Phase::Warned => format!(
            "Mail is still sent, until {}. Mend the records before, or sends are refused.",
            grace.exact
        ),
        Phase::Degraded => {
            "Sends from this domain are refused, because records were gone for longer than the grace. Mend them, then \
             check."
                .to_owned()
        }
        Phase::Failed => {
            "The server has stopped looking at DNS. Publish the records, then check.".to_owned()
        }
    }
}
