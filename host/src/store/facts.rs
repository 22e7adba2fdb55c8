//! The facts that every send needs, in memory: keys, accounts, domains, published templates.
//!
//! Whoever changes a fact moves the database's revision and notes it at the account (a trigger does it); this node
//! then forgets the facts of that account alone. Who a request is from is decided on [`Facts::current`]; `commit`
//! refuses what was decided before the last change of its account, and a refusal is decided again if the revision has
//! moved. So a change holds for the next request, also one made by another process.
//!
//! A fact in memory belongs to an *epoch* of its account, a number that is never used twice. It is read after the
//! epoch was looked up, and the epoch ends before this node knows the revision that changed one of its facts: what
//! was read too early is kept under an epoch that has ended, where nobody looks for it.

use std::hash::Hash;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::Mutex;

use super::database::{Row, Statement, sql};
use super::error::DriverError;
use super::{AccountRow, DomainFacts, Maintenance, SigningKeys, Store, StoreError};
use super::{accounts, domain_keys, domains, keys, templates};
use crate::account::Account;
use crate::account::key::ApiKey;
use crate::clock::{Clock, Timestamp};
use crate::domain::name::DomainName;
use crate::id::AccountId;
use crate::template::slug::Slug;
use crate::template::version::TemplateVersion;

const MAX_CACHED_FACTS: u64 = 10_000;
/// How old the counters of an account may be where other nodes accept mail of the account, too.
const COUNTERS_KEPT: Duration = Duration::from_secs(1);
/// Changed accounts that are forgotten one by one; of more at one time, everything is.
const MAX_CHANGED_ACCOUNTS: usize = 1_000;

/// The in-memory facts and the way to newer ones.
#[derive(Debug)]
pub struct Facts {
    store: Store,
    clock: Clock,
    /// The revision that this node knows.
    revision: AtomicI64,
    cached: Arc<Cached>,
    /// Of all accounts.
    maintenance: ArcSwapOption<Maintenance>,
    looks: Looks,
}

/// Numbers the looks at the revision, so that one look answers everybody who asked before it began.
#[derive(Debug, Default)]
struct Looks {
    begun: AtomicU64,
    /// Whoever looks holds the lock.
    ended: Mutex<EndedLooks>,
}

#[derive(Debug, Default)]
struct EndedLooks {
    /// The last look that ended well.
    well: u64,
    /// The last look that failed, and why. It answers all who waited for it: otherwise each of them would look, and wait as
    /// long, one after the other.
    failed: Option<(u64, String)>,
}

/// The facts of an account as they were at one revision, if `commit` finds that none has changed since; what is not in
/// memory yet is read when a caller needs it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    store: Store,
    now: Timestamp,
    revision: i64,
    cached: Arc<Cached>,
    /// The account that it is about, with the epoch that it was in when it was first asked for.
    epoch: OnceLock<(AccountId, Epoch)>,
}

/// Why a fact cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FactError {
    /// A fact of the account has changed; start again with a new snapshot.
    #[error("the facts have changed")]
    Stale,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A time in which no fact of an account changed.
type Epoch = u64;

#[derive(Debug)]
struct Cached {
    next_epoch: AtomicU64,
    epochs: Cache<AccountId, Epoch>,
    /// The account of each key: a key never changes it.
    owners: Cache<String, AccountId>,
    keys: Cache<(Epoch, String), Arc<ApiKey>>,
    accounts: Cache<Epoch, Arc<AccountFacts>>,
    domains: Cache<(Epoch, DomainName), Arc<DomainFacts>>,
    templates: Cache<(Epoch, Slug), Arc<TemplateVersion>>,
    signing: Cache<(Epoch, DomainName), Arc<SigningKeys>>,
}

/// An account, and counters that follow its commits on this node, and within a second those on others.
#[derive(Debug)]
pub struct AccountFacts {
    pub account: Account,
    day: i64,
    read_at: Instant,
    balance: AtomicI64,
    sent_today: AtomicU64,
    sent_month: AtomicU64,
}

impl Facts {
    /// Starts with no fact in memory.
    /// Templates take at most `template_bytes`, each counted as long as its texts are.
    pub async fn open(store: Store, clock: Clock, template_bytes: u64) -> Result<Self, StoreError> {
        let revision = AtomicI64::new(store.revision().await?);
        let cached = Arc::new(Cached::new(template_bytes));
        let maintenance = ArcSwapOption::from_pointee(store.maintenance().await?);
        Ok(Self { store, clock, revision, cached, maintenance, looks: Looks::default() })
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
            revision: self.revision.load(Ordering::SeqCst),
            cached: Arc::clone(&self.cached),
            epoch: OnceLock::new(),
        }
    }

    /// Whether the server takes no messages and no changes, as this node knows: by the last look at the revision.
    #[must_use]
    pub fn maintenance(&self) -> Option<Arc<Maintenance>> {
        self.maintenance.load_full()
    }

    /// The same as it is now.
    pub async fn current_maintenance(&self) -> Result<Option<Arc<Maintenance>>, StoreError> {
        self.look().await?;
        Ok(self.maintenance())
    }

    /// Looks whether the database has moved past `seen`, and if so forgets what has changed.
    pub async fn have_moved(&self, seen: i64) -> Result<bool, StoreError> {
        self.look().await?;
        Ok(self.revision.load(Ordering::SeqCst) != seen)
    }

    /// Reads the revision, and where it has moved forgets the accounts that have changed. The read begins after
    /// the call; calls that wait at the same time share one.
    async fn look(&self) -> Result<(), StoreError> {
        self.store.look_for_primary()?;
        let asked = self.looks.begun.load(Ordering::SeqCst);
        let mut ended = self.looks.ended.lock().await;
        if ended.well > asked {
            return Ok(());
        }
        if let Some((look, why)) = &ended.failed
            && *look > asked
        {
            return Err(StoreError::during("revision")(DriverError::SharedRead(why.clone())));
        }
        let look = self.looks.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let read = self.read_revision().await;
        match &read {
            Ok(()) => ended.well = look,
            Err(error) => ended.failed = Some((look, error.to_string())),
        }
        read
    }

    async fn read_revision(&self) -> Result<(), StoreError> {
        let revision = self.store.revision().await?;
        let known = self.revision.load(Ordering::SeqCst);
        if revision < known {
            // This node has facts of a state that the database has no longer.
            tracing::error!(
                "the database has gone back to an earlier state, as after the restore of a backup; keys, accounts and \
                 templates are read again; restart all servers, because they have work under way that the database does not \
                 know"
            );
            self.cached.forget_all();
            self.store.identities.forget();
        }
        if revision != known {
            // Read after the revision, so that none of its changes is left out.
            let changed = self.store.accounts_changed_since(known, MAX_CHANGED_ACCOUNTS).await?;
            self.cached.forget(&changed);
            if self.store.were_accounts_deleted_since(known).await? {
                self.cached.forget_all();
            }
            self.maintenance.store(self.store.maintenance().await?.map(Arc::new));
            self.revision.store(revision, Ordering::SeqCst);
        }
        Ok(())
    }
}

impl Snapshot {
    #[must_use]
    pub fn revision(&self) -> i64 {
        self.revision
    }

    /// The key with these 8 characters. A key that does not exist is not remembered.
    pub async fn key(&self, lookup: &str) -> Result<Option<Arc<ApiKey>>, FactError> {
        let Some(owner) = self.owner(lookup).await? else { return Ok(None) };
        let at = (self.epoch(owner), lookup.to_owned());
        if let Some(key) = self.cached.keys.get(&at) {
            return Ok(Some(key));
        }
        let statement = sql(keys::KEY).bind(lookup.to_owned());
        let key = self.read(owner, statement, keys::key_row).await?;
        let key = key.filter(|key| key.account_id == owner);
        if key.is_none() {
            self.cached.owners.invalidate(lookup);
        }
        Ok(key.inspect(|key| self.cached.keys.insert(at, Arc::clone(key))))
    }

    fn epoch(&self, account: AccountId) -> Epoch {
        let (pinned, epoch) = self.epoch.get_or_init(|| (account, self.cached.epoch(account)));
        if *pinned == account { *epoch } else { self.cached.epoch(account) }
    }

    async fn owner(&self, lookup: &str) -> Result<Option<AccountId>, StoreError> {
        if let Some(owner) = self.cached.owners.get(lookup) {
            return Ok(Some(owner));
        }
        let owner = self.store.key_owner(lookup).await?;
        Ok(owner.inspect(|owner| self.cached.owners.insert(lookup.to_owned(), *owner)))
    }

    pub async fn account(&self, id: AccountId) -> Result<Option<Arc<AccountFacts>>, FactError> {
        let (epoch, today) = (self.epoch(id), self.now.day());
        // Other nodes accept mail of the account, too.
        let is_known = |it: &Arc<AccountFacts>| {
            it.day == today && (self.store.has_file() || it.read_at.elapsed() < COUNTERS_KEPT)
        };
        if let Some(account) = self.cached.accounts.get(&epoch).filter(is_known) {
            return Ok(Some(account));
        }
        let statement = accounts::account(id, today);
        let read = |row: &Row| accounts::account_row(row).map(|it| AccountFacts::new(it, today));
        let account = self.read(id, statement, read).await?;
        Ok(account.inspect(|it| self.cached.accounts.insert(epoch, Arc::clone(it))))
    }

    /// A sender domain of an account.
    pub async fn domain(
        &self,
        account: AccountId,
        name: &DomainName,
    ) -> Result<Option<Arc<DomainFacts>>, FactError> {
        let at = (self.epoch(account), name.clone());
        if let Some(domain) = self.cached.domains.get(&at) {
            return Ok(Some(domain));
        }
        let statement = sql(domains::DOMAIN).bind(account).bind(name.as_str().to_owned());
        let domain = self.read(account, statement, domains::domain_facts).await?;
        Ok(domain.inspect(|it| self.cached.domains.insert(at, Arc::clone(it))))
    }

    /// The keys that sign for a domain of an account; none where the account has no such domain.
    pub async fn signing_keys(
        &self,
        account: AccountId,
        name: &DomainName,
    ) -> Result<Option<Arc<SigningKeys>>, FactError> {
        let at = (self.epoch(account), name.clone());
        if let Some(keys) = self.cached.signing.get(&at) {
            return Ok(Some(keys));
        }
        let statement = sql(domain_keys::SIGNING_KEYS);
        let statement = statement.bind(account).bind(name.as_str().to_owned());
        let keys = self.read(account, statement, domain_keys::signing_keys_row).await?;
        Ok(keys.inspect(|it| self.cached.signing.insert(at, Arc::clone(it))))
    }

    /// The published version of a template of an account.
    pub async fn template(
        &self,
        account: AccountId,
        slug: &Slug,
    ) -> Result<Option<Arc<TemplateVersion>>, FactError> {
        let at = (self.epoch(account), slug.clone());
        if let Some(template) = self.cached.templates.get(&at) {
            return Ok(Some(template));
        }
        let statement = sql(templates::TEMPLATE).bind(account).bind(slug.as_str().to_owned());
        let template = self.read(account, statement, templates::template_row).await?;
        Ok(template.inspect(|it| self.cached.templates.insert(at, Arc::clone(it))))
    }

    /// Reads a row of an account, which has not changed since the snapshot.
    async fn read<T>(
        &self,
        account: AccountId,
        statement: Statement<'_>,
        convert: impl FnOnce(&Row) -> Result<T, StoreError>,
    ) -> Result<Option<Arc<T>>, FactError> {
        let (changed, row) = self.store.read_fact(account, statement).await?;
        if changed > self.revision {
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
            read_at: Instant::now(),
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

impl Cached {
    fn new(template_bytes: u64) -> Self {
        let weight = |_: &(Epoch, Slug), it: &Arc<TemplateVersion>| it.weight();
        let templates = Cache::builder().max_capacity(template_bytes).weigher(weight);
        Self {
            next_epoch: AtomicU64::new(0),
            epochs: cache(),
            owners: cache(),
            keys: cache(),
            accounts: cache(),
            domains: cache(),
            templates: templates.eviction_policy(EvictionPolicy::lru()).build(),
            signing: cache(),
        }
    }

    fn epoch(&self, account: AccountId) -> Epoch {
        self.epochs.get_with(account, || self.next_epoch.fetch_add(1, Ordering::Relaxed))
    }

    /// Ends the epochs of these accounts, or of all where there may be more than these.
    fn forget(&self, accounts: &[AccountId]) {
        if accounts.len() >= MAX_CHANGED_ACCOUNTS {
            return self.forget_all();
        }
        for account in accounts {
            self.epochs.invalidate(account);
        }
    }

    fn forget_all(&self) {
        self.epochs.invalidate_all();
    }
}

/// What was not asked for longest goes first: the facts of an epoch that has ended are never asked for.
fn cache<K, V>() -> Cache<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    let builder = Cache::builder().max_capacity(MAX_CACHED_FACTS);
    builder.eviction_policy(EvictionPolicy::lru()).build()
}

#[cfg(test)]
mod tests;
