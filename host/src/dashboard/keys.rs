//! API keys: who may do what?

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, to, with_status};
use super::sending::{Sample, curl};
use super::state::{Dashboard, SmtpSettings};
use super::words::When;
use crate::account::key::{ApiKey, Mode, Scope};
use crate::account::role::Role;
use crate::clock::Timestamp;
use crate::id::KeyId;
use crate::management::keys::{self, Grantor, KeyError, NewKey, OwnKey};
use crate::plural::plural;

const LINES: u32 = 100;

#[derive(Debug)]
struct KeyLine {
    id: String,
    name: String,
    prefix: String,
    is_test: bool,
    scopes: String,
    limits: Vec<String>,
    used: Option<When>,
    made: When,
    ends: Option<When>,
    /// Whether the dashboard sends with it, so that it stays.
    is_of_dashboard: bool,
    /// Active, expired or deactivated.
    state: &'static str,
}

#[derive(Template)]
#[template(path = "app/keys.html")]
struct KeysPage {
    frame: Frame,
    keys: Vec<KeyLine>,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "app/key_new.html")]
struct NewKeyPage {
    frame: Frame,
    name: String,
    is_test: bool,
    scopes: Vec<(&'static str, &'static str, bool)>,
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/key_made.html")]
struct KeyMadePage {
    frame: Frame,
    name: String,
    secret: String,
    curl: String,
    env: String,
    smtp: SmtpSettings,
    can_send: bool,
}

#[derive(Template)]
#[template(path = "app/key_deactivate.html")]
struct DeactivatePage {
    frame: Frame,
    key: KeyLine,
}

impl KeyLine {
    fn of(key: &ApiKey, now: Timestamp) -> Self {
        let when = |at| When::of(at, now);
        let limit = |count: usize, one: &str, several: &str| {
            (count > 0).then(|| format!("{count} {}", plural(count, one, several)))
        };
        let limits = [
            limit(key.domains.len(), "domain", "domains"),
            limit(key.templates.len(), "template", "templates"),
            limit(key.networks.len(), "network", "networks"),
        ];
        let scopes: Vec<&str> = key.scopes.iter().map(|it| it.as_str()).collect();
        Self {
            id: key.id.to_string(),
            name: key.name.clone(),
            prefix: format!("wx_{}_{}", key.mode.as_str(), key.lookup),
            is_test: key.mode == Mode::Test,
            scopes: scopes.join(", "),
            limits: limits.into_iter().flatten().collect(),
            used: key.last_used_at.map(when),
            made: when(key.created_at),
            ends: key.expires_at.map(when),
            is_of_dashboard: keys::is_of_dashboard(key),
            state: if key.is_usable_at(now) {
                "active"
            } else if key.expires_at.is_some_and(|end| end <= now) {
                "expired"
            } else {
                "deactivated"
            },
        }
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, account) = (&dashboard.api, visitor.account()?);
    let after = Form::of_query(uri.query()).get("after").parse::<KeyId>().ok();
    let _page = api.lists.admit(account).await?;
    let by = Grantor::Person(visitor.role()?);
    let (found, has_more) = keys::list(&api.store, by, account, after, LINES).await?;
    let last = found.last().filter(|_| has_more).map(|it| it.id);
    let now = api.clock.now();
    page(&KeysPage {
        keys: found.iter().map(|key| KeyLine::of(key, now)).collect(),
        next: last.map(|id| format!("/app/keys?after={id}")),
        frame: Frame::of(&dashboard, &visitor, Place::Keys).await?,
    })
}

pub async fn ask(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    visitor.membership()?.at_least(Role::Owner)?;
    let frame = Frame::of(&dashboard, &visitor, Place::Keys).await?;
    let scopes = scopes(&[Scope::Send]);
    page(&NewKeyPage { frame, name: String::new(), is_test: false, scopes, fault: None })
}

/// The key is shown in the answer to the form and nowhere else: no redirect, and no page that keeps it.
pub async fn create(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    let (api, membership) = (&dashboard.api, visitor.membership()?);
    let chosen: Vec<Scope> = form.all("scope").filter_map(|it| it.parse().ok()).collect();
    if chosen.contains(&Scope::Admin) {
        visitor.step_up_for(&dashboard, &form)?;
    }
    let mode = if form.get("mode") == "test" { Mode::Test } else { Mode::Live };
    let new = NewKey {
        name: form.get("name").trim().to_owned(),
        mode,
        scopes: chosen.clone(),
        domains: Vec::new(),
        templates: Vec::new(),
        networks: Vec::new(),
        expires_at: None,
    };
    let (by, name) = (Grantor::Person(membership.role), new.name.clone());
    let created = keys::create(&api.store, by, membership.account, new, api.clock.now()).await;
    if let Ok((key, _)) = &created {
        visitor.record(&dashboard, "create_key", key.id).await?;
    }
    let frame = Frame::of(&dashboard, &visitor, Place::Keys).await?;
    let (key, presented) = match created {
        Ok(created) => created,
        Err(
            error @ (KeyError::Faults(_)
            | KeyError::Exceeds(_)
            | KeyError::BeingDeleted
            | KeyError::TooMany),
        ) => {
            let (is_test, fault) = (mode == Mode::Test, Some(sentence(&error.to_string())));
            let again = NewKeyPage { frame, name, is_test, scopes: scopes(&chosen), fault };
            return with_status(StatusCode::UNPROCESSABLE_ENTITY, &again);
        }
        Err(error) => return Err(refused(error)),
    };
    let (secret, base) = (presented.reveal(), &visitor.guest.base);
    page(&KeyMadePage {
        frame,
        name: key.name.clone(),
        curl: if key.allows(Scope::Send) {
            let row = api.store.account(key.account_id, api.clock.now()).await?;
            curl(&visitor, Sample::of(&dashboard, &row).await?.as_ref(), &secret)
        } else {
            let path = if key.allows(Scope::Admin) { "messages" } else { "templates" };
            format!("curl -sS {base}/v1/{path} -H 'x-api-key: {secret}'")
        },
        env: format!("WAXWING_URL={base}\nWAXWING_API_KEY={secret}"),
        smtp: dashboard.smtp.clone(),
        can_send: key.allows(Scope::Send),
        secret,
    })
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    visitor.membership()?.at_least(Role::Owner)?;
    let id: KeyId = id.parse().map_err(|_| Failure::Missing)?;
    page(&deactivate_page(&dashboard, &visitor, id).await?)
}

async fn deactivate_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    id: KeyId,
) -> Result<DeactivatePage, Failure> {
    let (api, by) = (&dashboard.api, Grantor::Person(visitor.role()?));
    let key = keys::find(&api.store, by, visitor.account()?, id).await.map_err(refused)?;
    let key = KeyLine::of(&key, api.clock.now());
    Ok(DeactivatePage { frame: Frame::of(dashboard, visitor, Place::Keys).await?, key })
}

pub async fn deactivate(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let (api, visitor) = (&dashboard.api, &sent.visitor);
    let by = Grantor::Person(visitor.role()?);
    let id: KeyId = id.parse().map_err(|_| Failure::Missing)?;
    let account = Some(visitor.account()?);
    match keys::deactivate(&api.store, by, account, id, OwnKey::Refused).await {
        Ok(_) => {
            visitor.record(&dashboard, "deactivate_key", id).await?;
            Ok(to("/app/keys"))
        }
        Err(KeyError::OfDashboard) => {
            with_status(StatusCode::CONFLICT, &deactivate_page(&dashboard, visitor, id).await?)
        }
        Err(error) => Err(refused(error)),
    }
}

fn scopes(chosen: &[Scope]) -> Vec<(&'static str, &'static str, bool)> {
    let offered = [
        (Scope::Send, "Send messages, over HTTP and SMTP"),
        (Scope::Templates, "Write templates, layouts and partials"),
        (Scope::Admin, "Manage the account: keys, domains, webhooks, all of it"),
    ];
    offered.map(|(scope, about)| (scope.as_str(), about, chosen.contains(&scope))).to_vec()
}

fn refused(error: KeyError) -> Failure {
    match error {
        KeyError::Missing(_) => Failure::Missing,
        KeyError::Store(error) => error.into(),
        KeyError::Role(error) => error.into(),
        KeyError::OperatorsOnly => Failure::Forbidden(
            "This key manages the server. It is switched off with `waxwing key deactivate`."
                .to_owned(),
        ),
        other @ (KeyError::Faults(_)
        | KeyError::Exceeds(_)
        | KeyError::OwnKey
        | KeyError::OfDashboard
        | KeyError::Deactivated
        | KeyError::BeingDeleted
        | KeyError::TooMany) => Failure::Invalid(sentence(&other.to_string())),
    }
}
