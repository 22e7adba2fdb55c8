//! What the first start makes: an account with credits, a key, a sandbox domain, templates.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::account::Account;
use crate::account::brand::{Brand, BrandChanges, BrandField};
use crate::account::key::{ApiKey, Mode, PresentedKey, Scope};
use crate::account::plan::Plan;
use crate::account::role::Role;
use crate::authoring::error::AuthoringError;
use crate::authoring::folder::{self, ExistingLayout};
use crate::authoring::{Authoring, PublishOptions};
use crate::cli::error::CliError;
use crate::cli::publish_folder::{place, publish};
use crate::credit::{Credits, EntryKind};
use crate::domain::look_alike::LookAlikes;
use crate::domain::state::DomainKind;
use crate::id::{AccountId, KeyId, UserId};
use crate::message::address::EmailAddress;
use crate::people::{MemberError as PeopleError, Secret};
use crate::server::RunningServer;
use crate::server::data_dir::DataDir;
use crate::store::{AccountRow, LinkPurpose, NewUser};

const ACCOUNT: &str = "Development";
const PLAN: &str = "pro";
const CREDITS: i64 = 1_000_000;
const BRAND: [(BrandField, &str); 5] = [
    (BrandField::ProductName, "Tern & Co"),
    (BrandField::ProductUrl, "https://tern.example"),
    (BrandField::SupportEmail, "help@tern.example"),
    (BrandField::CompanyAddress, "12 Harbour Row, Bristol BS1 4RN"),
    (BrandField::BrandColor, "#23695e"),
];
const SENDER: &str = "hello@sandbox.test";
const TEMPLATE: &str = "verification-code";
/// The key is shown at every start, so `dev` keeps it in the clear, readable by its owner only.
const KEY_FILE: &str = "dev.key";
const PERSON: &str = "dev@sandbox.test";
/// The same for the password of the dashboard.
const PASSWORD_FILE: &str = "dev.password";
/// Passwords are hashed in turn for each address: this server's own.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What a newcomer needs for a first send.
#[derive(Debug)]
pub struct Seed {
    pub account: AccountId,
    /// A key with all scopes.
    pub api_key: String,
    /// The sender.
    pub from: String,
    /// A published template.
    pub template: String,
    /// Data that it accepts.
    pub example: Map<String, Value>,
    /// Who logs in to the dashboard.
    pub person: SeedPerson,
}

/// The owner of the account, who is the operator too.
#[derive(Debug)]
pub struct SeedPerson {
    pub email: String,
    /// None once it was changed.
    pub password: Option<String>,
    /// The secret of a link that logs in once.
    pub link: Secret,
}

/// Makes what is missing, piece by piece, so that a first start that was cut off is finished by the
/// next one; what is there stays unchanged.
pub async fn plant(running: &RunningServer, data: &DataDir) -> Result<Seed, CliError> {
    let now = running.clock.now();
    let accounts = running.store.accounts(now).await?;
    let of_key = account_of_kept_key(running, data, &accounts).await?;
    let is_it =
        |row: &AccountRow| of_key.map_or(row.account.name == ACCOUNT, |it| row.account.id == it);
    let account = match accounts.into_iter().find(is_it) {
        Some(row) => row.account,
        None => open_account(running).await?,
    };
    brand(running, &account).await?;
    credits(running, account.id).await?;
    domain(running, &account).await?;
    Box::pin(templates(running, account.id)).await?;
    let published = running.store.templates(account.id).await?;
    let example = published.into_iter().find(|version| version.slug.as_str() == TEMPLATE);
    Ok(Seed {
        account: account.id,
        api_key: key(running, data, account.id).await?,
        from: account.sender.map_or_else(|| SENDER.to_owned(), |sender| sender.to_string()),
        template: TEMPLATE.to_owned(),
        person: person(running, data, account.id).await?,
        example: example
            .map(|version| version.source.example().cloned().unwrap_or_default())
            .unwrap_or_default(),
    })
}

async fn open_account(running: &RunningServer) -> Result<Account, CliError> {
    let mut account = Account::new(ACCOUNT, Plan::named(PLAN), running.clock.now());
    account.sender = Some(sender());
    running.store.create_account(&account).await?;
    Ok(account)
}

/// Mail of a product that is not called Waxwing.
async fn brand(running: &RunningServer, account: &Account) -> Result<(), CliError> {
    if account.brand != Brand::default() {
        return Ok(());
    }
    let mut changes = BrandChanges::default();
    for (field, value) in BRAND {
        changes.set(field, Some(value)).expect("the values of dev's brand are valid");
    }
    running.store.change_brand(account.id, &changes).await?;
    Ok(())
}

async fn credits(running: &RunningServer, account: AccountId) -> Result<(), CliError> {
    let now = running.clock.now();
    if running.store.ledger(account, 1).await?.is_empty() {
        let (kind, amount) = (EntryKind::Grant, Credits(CREDITS));
        running.store.add_credits(account, kind, amount, "development credits", now).await?;
    }
    Ok(())
}

async fn domain(running: &RunningServer, account: &Account) -> Result<(), CliError> {
    let name = sender().domain().expect("the sandbox sender has a domain").clone();
    if running.store.domain_named(account.id, &name).await?.is_none() {
        let (kind, any) = (DomainKind::Sandbox, LookAlikes::Allowed);
        running.verifier.add(account, name, kind, any).await?;
    }
    Ok(())
}

async fn templates(running: &RunningServer, account: AccountId) -> Result<(), CliError> {
    let (store, plugins) = (running.store.clone(), Arc::clone(&running.plugins));
    let authoring = Authoring::new(store, plugins, running.clock.clone());
    for (slug, folder) in folder::starters()? {
        match authoring.find(&place(account, &slug)).await {
            Ok(row) if row.published.is_some() => continue,
            Ok(_) | Err(AuthoringError::Missing { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let (existing, options) = (ExistingLayout::Kept, PublishOptions::default());
        publish(&authoring, account, &slug, &folder, existing, &options).await?;
    }
    Ok(())
}

/// The person of the kept password, made where there is none yet. A password that was changed since is not printed.
async fn person(
    running: &RunningServer,
    data: &DataDir,
    account: AccountId,
) -> Result<SeedPerson, CliError> {
    let (people, email) = (&running.people, PERSON.parse::<EmailAddress>());
    let email = email.expect("the address of dev's person is an address");
    let kept = std::fs::read_to_string(data.file(PASSWORD_FILE)).ok();
    let (id, password) = if let Some(user) = running.store.user_by_email(&email).await? {
        let kept = kept.unwrap_or_default();
        let is_right = people.passwords.is_right(&kept, user.password.as_deref(), HERE).await;
        (user.id, is_right.map_err(PeopleError::from)?.then_some(kept))
    } else {
        let (password, now) = (Secret::random().reveal(), running.clock.now());
        let hash = people.passwords.hash(&password, HERE).await.map_err(PeopleError::from)?;
        let new = NewUser {
            id: UserId::new(now),
            email,
            password: Some(hash),
            is_operator: true,
            membership: Some((account, Role::Owner)),
            at: now,
        };
        // The file first: a password that nobody knows would be of no use.
        data.write_private(PASSWORD_FILE, password.as_bytes())?;
        running.store.add_user(&new).await?;
        (new.id, Some(password))
    };
    let link = people.make_link(LinkPurpose::LogIn, Some(id)).await?;
    Ok(SeedPerson { email: PERSON.to_owned(), password, link })
}

fn sender() -> EmailAddress {
    SENDER.parse().expect("the sandbox sender is an address")
}

/// The account whose key was kept: it may have another name by now.
async fn account_of_kept_key(
    running: &RunningServer,
    data: &DataDir,
    accounts: &[AccountRow],
) -> Result<Option<AccountId>, CliError> {
    let Some(kept) = kept_key(data) else { return Ok(None) };
    for row in accounts {
        let keys = running.store.keys(row.account.id).await?;
        if keys.iter().any(|key| key.hash.matches(&kept.hash())) {
            return Ok(Some(row.account.id));
        }
    }
    Ok(None)
}

fn kept_key(data: &DataDir) -> Option<PresentedKey> {
    std::fs::read_to_string(data.file(KEY_FILE)).ok()?.trim().parse().ok()
}

/// The kept key while it works, else a new one.
async fn key(
    running: &RunningServer,
    data: &DataDir,
    account: AccountId,
) -> Result<String, CliError> {
    let now = running.clock.now();
    let keys = running.store.keys(account).await?;
    if let Some(kept) = kept_key(data)
        && keys.iter().any(|key| key.hash.matches(&kept.hash()) && key.is_usable_at(now))
    {
        return Ok(kept.reveal());
    }
    let presented = PresentedKey::generate(Mode::Live);
    running
        .store
        .create_key(&ApiKey::new(
            (KeyId::new(now), account),
            "dev".to_owned(),
            &presented,
            vec![Scope::Send, Scope::Admin, Scope::Operator],
            now,
        ))
        .await?;
    data.write_private(KEY_FILE, presented.reveal().as_bytes())?;
    Ok(presented.reveal())
}
