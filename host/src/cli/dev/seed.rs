//! What the first start makes: an account with credits, a key, a sandbox domain, templates.

use serde_json::{Map, Value};

use crate::account::key::{ApiKey, KeyState, Mode, PresentedKey, Scope};
use crate::account::plan::Plan;
use crate::account::{Account, AccountState};
use crate::cli::error::CliError;
use crate::cli::starter;
use crate::credit::{Credits, EntryKind};
use crate::domain::state::DomainKind;
use crate::id::{AccountId, KeyId};
use crate::message::address::EmailAddress;
use crate::server::Running;
use crate::server::data_dir::DataDir;
use crate::upkeep::verify_domains;

const ACCOUNT: &str = "Development";
const PLAN: &str = "pro";
const CREDITS: i64 = 1_000_000;
const SENDER: &str = "hello@sandbox.test";
const TEMPLATE: &str = "verification-code";
/// The key is shown at every start, so `dev` keeps it as it is, readable by its owner only.
const KEY_FILE: &str = "dev.key";

/// What a newcomer needs for a first send.
#[derive(Debug)]
pub struct Seed {
    /// The account.
    pub account: AccountId,
    /// A key with all scopes.
    pub api_key: String,
    /// The sender.
    pub from: String,
    /// A published template.
    pub template: String,
    /// Data that it accepts.
    pub example: Map<String, Value>,
}

/// Makes what is missing; what is there stays as it is.
pub async fn plant(running: &Running, data: &DataDir) -> Result<Seed, CliError> {
    let now = running.clock.now();
    let accounts = running.store.accounts(now).await?;
    let account = match accounts.into_iter().find(|row| row.account.name == ACCOUNT) {
        Some(row) => row.account,
        None => open_account(running).await?,
    };
    let templates = running.store.templates(account.id).await?;
    let example = templates
        .into_iter()
        .find(|version| version.slug.as_str() == TEMPLATE)
        .map(|version| version.source.example)
        .unwrap_or_default();
    Ok(Seed {
        account: account.id,
        api_key: key(running, data, account.id).await?,
        from: account.sender.map_or_else(|| SENDER.to_owned(), |sender| sender.to_string()),
        template: TEMPLATE.to_owned(),
        example,
    })
}

async fn open_account(running: &Running) -> Result<Account, CliError> {
    let now = running.clock.now();
    let sender: EmailAddress = SENDER.parse().expect("the sandbox sender is an address");
    let account = Account {
        id: AccountId::new(now),
        name: ACCOUNT.to_owned(),
        plan: Plan::named(PLAN),
        state: AccountState::Active,
        sender: Some(sender.clone()),
        created_at: now,
    };
    let name = sender.domain().expect("the sandbox sender has a domain").clone();
    let domain =
        verify_domains::add(&running.plugins, &account, name, DomainKind::Sandbox, now).await?;
    let store = &running.store;
    store.create_account(&account).await?;
    let (kind, amount) = (EntryKind::Grant, Credits(CREDITS));
    store.add_credits(account.id, kind, amount, "development credits", now).await?;
    store.put_domain(&domain, now).await?;
    for (slug, source) in starter::templates()? {
        starter::publish(store, &running.plugins, account.id, &slug, &source, now).await?;
    }
    Ok(account)
}

/// The kept key while it works, else a new one.
async fn key(running: &Running, data: &DataDir, account: AccountId) -> Result<String, CliError> {
    let now = running.clock.now();
    let keys = running.store.keys(account).await?;
    let kept = std::fs::read_to_string(data.file(KEY_FILE)).ok();
    if let Some(kept) = kept.and_then(|text| text.trim().parse::<PresentedKey>().ok())
        && keys.iter().any(|key| key.hash.matches(&kept.hash()) && key.is_live_at(now))
    {
        return Ok(kept.reveal());
    }
    let presented = PresentedKey::generate(Mode::Live);
    running
        .store
        .create_key(&ApiKey {
            id: KeyId::new(now),
            account_id: account,
            name: "dev".to_owned(),
            mode: presented.mode(),
            lookup: presented.lookup().to_owned(),
            hash: presented.hash(),
            scopes: vec![Scope::Send, Scope::Admin, Scope::Operator],
            domains: Vec::new(),
            templates: Vec::new(),
            networks: Vec::new(),
            state: KeyState::Active,
            expires_at: None,
            last_used_at: None,
            created_at: now,
        })
        .await?;
    data.write_private(KEY_FILE, presented.reveal().as_bytes())?;
    Ok(presented.reveal())
}
