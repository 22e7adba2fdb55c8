//! The facts that every send needs, in memory: keys, accounts, domains, published templates.
//!
//! All of a snapshot belongs to one revision of the database. Whoever changes a fact moves the
//! revision (a trigger does it). Who a request is from is decided on [`Facts::current`]; `commit`
//! refuses what was decided on an older revision, and a refusal is decided again if the revision has
//! moved. So a change holds for the next request, also one made by another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use moka::sync::Cache;
use tokio::sync::Mutex;

use super::database::{Row, Statement, sql};
use super::{AccountRow, DomainRow, SigningKeys, Store, StoreError};
use super::{accounts, domain_keys, domains, keys, templates};
use crate::account::Account;
use crate::account::key::ApiKey;
use crate::clock::{Clock, Timestamp};
use crate::domain::name::DomainName;
use crate::id::AccountId;
use crate::template::slug::Slug;
use crate::template::version::TemplateVersion;

const MAX_CACHED_FACTS: u64 = 10_000;
const MAX_CACHED_TEMPLATES: u64 = 1_000;

/// The in-memory facts and the way to newer ones.
#[derive(Debug)]
pub struct Facts {
    store: Store,
    clock: Clock,
    current: ArcSwap<Epoch>,
    looks: Looks,
}

/// Numbers the looks at the revision, so that one look answers everybody who asked before it began.
#[derive(Debug, Default)]
struct Looks {
    begun: AtomicU64,
    /// The last look that ended well. Whoever looks holds the lock.
    ended: Mutex<u64>,
}

/// The facts of one revision; what is not in memory yet is read on demand.
#[derive(Debug, Clone)]
pub struct Snapshot {
    store: Store,
    now: Timestamp,
    epoch: Arc<Epoch>,
}

/// Why a fact cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FactError {
    /// The database has moved on; start again with a new snapshot.
    #[error("the facts have changed")]
    Stale,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug)]
struct Epoch {
    revision: i64,
    keys: Cache<String, Arc<ApiKey>>,
    accounts: Cache<AccountId, Arc<AccountFacts>>,
    domains: Cache<(AccountId, DomainName), Arc<DomainRow>>,
    templates: Cache<(AccountId, Slug), Arc<TemplateVersion>>,
    signing: Cache<(AccountId, DomainName), Arc<SigningKeys>>,
}

/// An account, and counters that follow its commits on this node.
#[derive(Debug)]
pub struct AccountFacts {
    pub account: Account,
    day: i64,
    balance: AtomicI64,
    sent_today: AtomicU64,
    sent_month: AtomicU64,
}

impl Facts {
    /// Starts with no fact in memory.
    pub async fn open(store: Store, clock: Clock) -> Result<Self, StoreError> {
        let current = ArcSwap::from_pointee(Epoch::new(store.revision().await?));
        Ok(Self { store, clock, current, looks: Looks::default() })
    }

    /// The facts as they are: every change that was committed before this call is in them.
    pub async fn current(&self) -> Result<Snapshot, StoreError> {
        self.look().await?;
        Ok(self.snapshot())
    }

    /// The facts as this node knows them. They may be old: only what `commit` checks once more may be
    /// decided on them.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            store: self.store.clone(),
            now: self.clock.now(),
            epoch: self.current.load_full(),
        }
    }

    /// Looks whether the database has moved past `seen`, and if so forgets what was in memory.
    pub async fn have_moved(&self, seen: i64) -> Result<bool, StoreError> {
        self.look().await?;
        Ok(self.current.load().revision != seen)
    }

    /// Reads the revision, and where it has moved forgets what was in memory. The read begins after
    /// the call; calls that wait at the same time share one.
    async fn look(&self) -> Result<(), StoreError> {
        let asked = self.looks.begun.load(Ordering::SeqCst);
        let mut ended = self.looks.ended.lock().await;
        if *ended > asked {
            return Ok(());
        }
        let look = self.looks.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let revision = self.store.revision().await?;
        if revision != self.current.load().revision {
            self.current.store(Arc::new(Epoch::new(revision)));
        }
        *ended = look;
        Ok(())
    }
}

impl Snapshot {
    /// The revision that all of it belongs to.
    #[must_use]
    pub fn revision(&self) -> i64 {
        self.epoch.revision
    }

    /// The key with these 8 characters. A key that does not exist is not remembered.
    pub async fn key(&self, lookup: &str) -> Result<Option<Arc<ApiKey>>, FactError> {
        if let Some(key) = self.epoch.keys.get(lookup) {
            return Ok(Some(key));
        }
        let statement = sql(keys::KEY).bind(lookup.to_owned());
        let key = self.read(statement, keys::key_row).await?;
        Ok(key.inspect(|key| self.epoch.keys.insert(lookup.to_owned(), Arc::clone(key))))
    }

    /// An account.
    pub async fn account(&self, id: AccountId) -> Result<Option<Arc<AccountFacts>>, FactError> {
        let today = self.now.day();
        if let Some(account) = self.epoch.accounts.get(&id).filter(|it| it.day == today) {
            return Ok(Some(account));
        }
        let statement = accounts::account(id, today);
        let read = |row: &Row| accounts::account_row(row).map(|it| AccountFacts::new(it, today));
        let account = self.read(statement, read).await?;
        Ok(account.inspect(|it| self.epoch.accounts.insert(id, Arc::clone(it))))
    }

    /// A sender domain of an account.
    pub async fn domain(
        &self,
        account: AccountId,
        name: &DomainName,
    ) -> Result<Option<Arc<DomainRow>>, FactError> {
        let at = (account, name.clone());
        if let Some(domain) = self.epoch.domains.get(&at) {
            return Ok(Some(domain));
        }
        let statement = sql(domains::DOMAIN).bind(account).bind(name.as_str().to_owned());
        let domain = self.read(statement, domains::domain_row).await?;
        Ok(domain.inspect(|it| self.epoch.domains.insert(at, Arc::clone(it))))
    }

    /// The keys that sign for a domain of an account; none where the account has no such domain.
    pub async fn signing_keys(
        &self,
        account: AccountId,
        name: &DomainName,
    ) -> Result<Option<Arc<SigningKeys>>, FactError> {
        let at = (account, name.clone());
        if let Some(keys) = self.epoch.signing.get(&at) {
            return Ok(Some(keys));
        }
        let statement = sql(domain_keys::SIGNING_KEYS);
        let statement = statement.bind(account).bind(name.as_str().to_owned());
        let keys = self.read(statement, domain_keys::signing_keys_row).await?;
        Ok(keys.inspect(|it| self.epoch.signing.insert(at, Arc::clone(it))))
    }

    /// The published version of a template of an account.
    pub async fn template(
        &self,
        account: AccountId,
        slug: &Slug,
    ) -> Result<Option<Arc<TemplateVersion>>, FactError> {
        let at = (account, slug.clone());
        if let Some(template) = self.epoch.templates.get(&at) {
            return Ok(Some(template));
        }
        let statement = sql(templates::TEMPLATE).bind(account).bind(slug.as_str().to_owned());
        let template = self.read(statement, templates::template_row).await?;
        Ok(template.inspect(|it| self.epoch.templates.insert(at, Arc::clone(it))))
    }

    /// Reads a row and the revision that it belongs to in one transaction.
    async fn read<T>(
        &self,
        statement: Statement,
        convert: impl FnOnce(&Row) -> Result<T, StoreError>,
    ) -> Result<Option<Arc<T>>, FactError> {
        let (revision, row) = self.store.read_fact(statement).await?;
        if revision != self.epoch.revision {
            return Err(FactError::Stale);
        }
        row.map(|row| convert(&row).map(Arc::new)).transpose().map_err(FactError::Store)
    }
}

impl AccountFacts {
    fn new(row: AccountRow, day: i64) -> Self {
        Self {
            account: row.account,
            day,
            balance: AtomicI64::new(row.balance.0),
            sent_today: AtomicU64::new(row.sent_today),
            sent_month: AtomicU64::new(row.sent_month),
        }
    }

    /// The balance as this node last saw it; `commit` alone decides by the true one.
    #[must_use]
    pub fn balance(&self) -> i64 {
        self.balance.load(Ordering::Relaxed)
    }

    /// Messages accepted today, as this node knows.
    #[must_use]
    pub fn sent_today(&self) -> u64 {
        self.sent_today.load(Ordering::Relaxed)
    }

    /// Messages accepted in 30 days, as this node knows.
    #[must_use]
    pub fn sent_month(&self) -> u64 {
        self.sent_month.load(Ordering::Relaxed)
    }

    /// Follows a commit of one message.
    pub fn committed(&self, balance: i64) {
        self.balance.store(balance, Ordering::Relaxed);
        self.sent_today.fetch_add(1, Ordering::Relaxed);
        self.sent_month.fetch_add(1, Ordering::Relaxed);
    }
}

impl Epoch {
    fn new(revision: i64) -> Self {
        Self {
            revision,
            keys: Cache::new(MAX_CACHED_FACTS),
            accounts: Cache::new(MAX_CACHED_FACTS),
            domains: Cache::new(MAX_CACHED_FACTS),
            templates: Cache::new(MAX_CACHED_TEMPLATES),
            signing: Cache::new(MAX_CACHED_FACTS),
        }
    }
}

#[cfg(test)]
mod tests;
