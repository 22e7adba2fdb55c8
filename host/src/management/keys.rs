//! API keys: who may make, see, change and switch off which.
//!
//! A key gives no more than it has. A change either narrows a key or leaves it within what the caller has; keys with
//! the scope `operator` are an operator's. A key that the caller may not see is reported as missing.

mod rights;

use super::Change;
use crate::account::AccountState;
use crate::account::ip_network::IpNetwork;
use crate::account::key::{ApiKey, KeyState, Mode, PresentedKey, Scope};
use crate::account::role::RoleTooLow;
use crate::clock::Timestamp;
use crate::domain::name::DomainName;
use crate::id::{AccountId, Identifier as _, KeyId};
use crate::message::line::{ONE_LINE, is_one_line};
use crate::store::{Store, StoreError};
use crate::template::slug::Slug;
pub use rights::{Excess, Grantor};

/// Keys of an account, at most, deactivated ones included.
const MAX_KEYS_OF_ACCOUNT: u32 = 10_000;
const MAX_NAME_CHARS: usize = 100;
/// Keys read at one time, at most, for a page of those that the caller may see.
const MAX_KEYS_PER_READ: u32 = 500;
/// Domains, templates or networks that one key may name, at most.
const MAX_RESTRICTIONS: usize = 100;

/// A key to make.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// What a person calls it.
    pub name: String,
    pub mode: Mode,
    pub scopes: Vec<Scope>,
    /// Empty for all.
    pub domains: Vec<DomainName>,
    /// Empty for all.
    pub templates: Vec<Slug>,
    /// Empty for any.
    pub networks: Vec<IpNetwork>,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
}

/// The fields to change; fields left out keep their value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyChange {
    pub name: Option<String>,
    pub scopes: Option<Vec<Scope>>,
    pub domains: Option<Vec<DomainName>>,
    pub templates: Option<Vec<Slug>>,
    pub networks: Option<Vec<IpNetwork>>,
    pub expires_at: Change<Timestamp>,
}

/// Whether a caller may take rights from the key that it calls with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnKey {
    Refused,
    Allowed,
}

/// A fault of a requested key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    #[error("must be 1 to {MAX_NAME_CHARS} characters {ONE_LINE}")]
    Name,
    #[error("must name at least one scope")]
    NoScope,
    /// A key that would stay in the sandbox and manage the server.
    #[error(
        "a test key cannot have the scope operator: it stays in the sandbox, and an operator manages \
         the whole server; make a live key, or leave out the scope operator"
    )]
    OperatorTestKey,
    /// Of domains, templates or networks.
    #[error("may name at most {MAX_RESTRICTIONS}")]
    TooMany(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// All faults of the request.
    #[error("{}", lines(.0))]
    Faults(Vec<KeyFault>),
    /// All rights that the caller cannot grant.
    #[error("{}", Excess::message(.0))]
    Exceeds(Vec<Excess>),
    #[error("only a key with the scope operator changes or switches off a key that has it")]
    OperatorsOnly,
    #[error(
        "this is the key of the request: with force=true it loses its rights nevertheless, and the next request \
         with it may be refused"
    )]
    OwnKey,
    #[error(
        "the dashboard sends tests of templates, and messages once more, with this key; deactivated it would stay so for \
         good, and nobody knows its secret, so it keeps its rights"
    )]
    OfDashboard,
    #[error("the key is deactivated, which is final; make a new one")]
    Deactivated,
    #[error("the account is being deleted")]
    BeingDeleted,
    #[error("the account has {MAX_KEYS_OF_ACCOUNT} keys, the most that it may have")]
    TooMany,
    #[error("there is no key `{0}`")]
    Missing(KeyId),
    #[error(transparent)]
    Role(#[from] RoleTooLow),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl KeyFault {
    /// The member of a request that is at fault.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::NoScope | Self::OperatorTestKey => "scopes",
            Self::TooMany(field) => field,
        }
    }
}

impl NewKey {
    /// All faults, whoever makes the request.
    #[must_use]
    pub fn faults(&self) -> Vec<KeyFault> {
        let mut faults = Vec::new();
        let name = Some(&self.name);
        faults_of(name, Some(&self.scopes), self.mode, &mut faults);
        let counts = [self.domains.len(), self.templates.len(), self.networks.len()];
        too_many(counts, &mut faults);
        faults
    }
}

impl KeyChange {
    /// All that is wrong with it for a key of that mode, whoever asks for it.
    #[must_use]
    pub fn faults(&self, mode: Mode) -> Vec<KeyFault> {
        let mut faults = Vec::new();
        faults_of(self.name.as_ref(), self.scopes.as_ref(), mode, &mut faults);
        let counts = [
            self.domains.as_ref().map_or(0, Vec::len),
            self.templates.as_ref().map_or(0, Vec::len),
            self.networks.as_ref().map_or(0, Vec::len),
        ];
        too_many(counts, &mut faults);
        faults
    }

    fn of(self, key: ApiKey) -> ApiKey {
        let texts = |domains: Vec<DomainName>| domains.into_iter().map(String::from).collect();
        let slugs = |slugs: Vec<Slug>| slugs.into_iter().map(String::from).collect();
        ApiKey {
            name: self.name.unwrap_or(key.name),
            scopes: self.scopes.map_or(key.scopes, without_duplicates),
            domains: self.domains.map_or(key.domains, texts),
            templates: self.templates.map_or(key.templates, slugs),
            networks: self.networks.unwrap_or(key.networks),
            expires_at: self.expires_at.of(key.expires_at),
            ..key
        }
    }
}

/// Makes a key of an account. It is shown this once.
///
/// # Errors
/// The key is refused, there is no such account, or the database failed.
pub async fn create(
    store: &Store,
    by: Grantor<'_>,
    account: AccountId,
    new: NewKey,
    now: Timestamp,
) -> Result<(ApiKey, PresentedKey), KeyError> {
    by.may_manage()?;
    let faults = new.faults();
    if !faults.is_empty() {
        return Err(KeyError::Faults(faults));
    }
    let presented = PresentedKey::generate(new.mode);
    let scopes = without_duplicates(new.scopes);
    let key = ApiKey {
        domains: new.domains.into_iter().map(String::from).collect(),
        templates: new.templates.into_iter().map(String::from).collect(),
        networks: new.networks,
        expires_at: new.expires_at,
        ..ApiKey::new((KeyId::new(now), account), new.name, &presented, scopes, now)
    };
    within(by, &key)?;
    // For its message: a key of no account would only show the database's constraint.
    let found = store.account(account, now).await?;
    if found.account.state == AccountState::Deleting {
        return Err(KeyError::BeingDeleted);
    }
    store.add_key(&key, may_have_one_more).await??;
    Ok((key, presented))
}

/// Whether an account with so many keys gets another.
fn may_have_one_more(keys: u32) -> Result<(), KeyError> {
    if keys < MAX_KEYS_OF_ACCOUNT { Ok(()) } else { Err(KeyError::TooMany) }
}

/// The API key of an account with which the dashboard sends tests; the first test makes it. Its identifier is derived from
/// the account's, so an account has one such key. Nobody knows its secret, and it cannot be deactivated: there is no
/// other one.
///
/// # Errors
/// The account has as many keys as it may have, or the database failed.
pub async fn of_dashboard(
    store: &Store,
    account: AccountId,
    now: Timestamp,
) -> Result<ApiKey, KeyError> {
    let id = id_of_dashboards(account);
    if let Some(key) = store.key(id).await? {
        return Ok(key);
    }
    let secret = PresentedKey::generate(Mode::Live);
    let key =
        ApiKey::new((id, account), "Dashboard".to_owned(), &secret, vec![Scope::Templates], now);
    match store.add_key(&key, may_have_one_more).await {
        Ok(added) => added.map(|()| key),
        // Somebody else was first.
        Err(error) => store.key(id).await?.ok_or(KeyError::Store(error)),
    }
}

fn id_of_dashboards(account: AccountId) -> KeyId {
    KeyId::from_bytes(account.to_bytes())
}

/// Whether the dashboard sends with that key.
#[must_use]
pub fn is_of_dashboard(key: &ApiKey) -> bool {
    key.id == id_of_dashboards(key.account_id)
}

/// A key that the caller may see.
///
/// # Errors
/// There is none, or the database failed.
pub async fn find(
    store: &Store,
    by: Grantor<'_>,
    account: AccountId,
    id: KeyId,
) -> Result<ApiKey, KeyError> {
    let key = store.key(id).await?.ok_or(KeyError::Missing(id))?;
    seen(by, Some(account), key)
}

/// Keys of an account that the caller may see, in the order of their making, behind `after`; and whether there
/// are more.
pub async fn list(
    store: &Store,
    by: Grantor<'_>,
    account: AccountId,
    mut after: Option<KeyId>,
    limit: u32,
) -> Result<(Vec<ApiKey>, bool), StoreError> {
    let count = |it: u32| usize::try_from(it).unwrap_or(usize::MAX);
    let (wanted, mut size) = (count(limit), limit + 1);
    let mut found = Vec::new();
    // A caller that is told of some passes over all the others, so one page may not be enough.
    while found.len() <= wanted {
        let page = store.keys_after(account, after, size).await?;
        let is_last = page.len() < count(size);
        size = MAX_KEYS_PER_READ;
        after = page.last().map(|key| key.id);
        found.extend(page.into_iter().filter(|key| by.may_see(key)));
        if is_last {
            break;
        }
    }
    let has_more = found.len() > wanted;
    found.truncate(wanted);
    Ok((found, has_more))
}

/// Changes a key; the next request with it is decided on the change. None for the account: a key of any.
///
/// # Errors
/// The change is refused, there is no such key, or the database failed.
pub async fn change(
    store: &Store,
    by: Grantor<'_>,
    account: Option<AccountId>,
    id: KeyId,
    change: &KeyChange,
    own: OwnKey,
) -> Result<ApiKey, KeyError> {
    let decide = |key: ApiKey| {
        let key = seen(by, account, key)?;
        let faults = change.faults(key.mode);
        if !faults.is_empty() {
            return Err(KeyError::Faults(faults));
        }
        let changed = change.clone().of(key.clone());
        let renames = KeyChange { name: change.name.clone(), ..KeyChange::default() };
        let takes_rights = *change != renames;
        may_change(by, &key)?;
        if key.state == KeyState::Deactivated {
            return Err(KeyError::Deactivated);
        }
        if takes_rights && is_of_dashboard(&key) {
            return Err(KeyError::OfDashboard);
        }
        if takes_rights && own == OwnKey::Refused && by.calls_with(&key) {
            return Err(KeyError::OwnKey);
        }
        if !rights::excess_of(&changed, &key).is_empty() {
            within(by, &changed)?;
        }
        Ok(changed)
    };
    store.change_key(id, decide).await?.ok_or(KeyError::Missing(id))?
}

/// Switches a key off for good; the next request with it is refused. None for the account: a key of any.
///
/// # Errors
/// The caller may not do that, there is no such key, or the database failed.
pub async fn deactivate(
    store: &Store,
    by: Grantor<'_>,
    account: Option<AccountId>,
    id: KeyId,
    own: OwnKey,
) -> Result<ApiKey, KeyError> {
    let decide = |key: ApiKey| {
        let key = seen(by, account, key)?;
        may_change(by, &key)?;
        if is_of_dashboard(&key) {
            return Err(KeyError::OfDashboard);
        }
        if own == OwnKey::Refused && by.calls_with(&key) {
            return Err(KeyError::OwnKey);
        }
        Ok(ApiKey { state: KeyState::Deactivated, ..key })
    };
    store.change_key(id, decide).await?.ok_or(KeyError::Missing(id))?
}

fn seen(by: Grantor<'_>, account: Option<AccountId>, key: ApiKey) -> Result<ApiKey, KeyError> {
    let is_seen = account.is_none_or(|it| it == key.account_id) && by.may_see(&key);
    if is_seen { Ok(key) } else { Err(KeyError::Missing(key.id)) }
}

fn may_change(by: Grantor<'_>, key: &ApiKey) -> Result<(), KeyError> {
    by.may_manage()?;
    let may = by.is_operator() || !key.allows(Scope::Operator);
    if may { Ok(()) } else { Err(KeyError::OperatorsOnly) }
}

fn within(by: Grantor<'_>, key: &ApiKey) -> Result<(), KeyError> {
    let excess = by.cannot_grant(key);
    if excess.is_empty() { Ok(()) } else { Err(KeyError::Exceeds(excess)) }
}

fn faults_of(
    name: Option<&String>,
    scopes: Option<&Vec<Scope>>,
    mode: Mode,
    faults: &mut Vec<KeyFault>,
) {
    let is_name = |name: &String| {
        let shown = name.trim();
        !shown.is_empty() && name.chars().count() <= MAX_NAME_CHARS && is_one_line(name)
    };
    if !name.is_none_or(is_name) {
        faults.push(KeyFault::Name);
    }
    match scopes {
        Some(scopes) if scopes.is_empty() => faults.push(KeyFault::NoScope),
        Some(scopes) if mode == Mode::Test && scopes.contains(&Scope::Operator) => {
            faults.push(KeyFault::OperatorTestKey);
        }
        Some(_) | None => {}
    }
}

fn too_many(counts: [usize; 3], faults: &mut Vec<KeyFault>) {
    for (field, count) in ["domains", "templates", "networks"].into_iter().zip(counts) {
        if count > MAX_RESTRICTIONS {
            faults.push(KeyFault::TooMany(field));
        }
    }
}

fn without_duplicates(scopes: Vec<Scope>) -> Vec<Scope> {
    let mut once = Vec::with_capacity(scopes.len());
    for scope in scopes {
        if !once.contains(&scope) {
            once.push(scope);
        }
    }
    once
}

fn lines(faults: &[KeyFault]) -> String {
    let lines: Vec<String> = faults.iter().map(|it| format!("{}: {it}", it.field())).collect();
    lines.join("\n")
}
