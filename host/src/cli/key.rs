//! `waxwing key`.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::{Output, text};
use crate::account::ip_network::IpNetwork;
use crate::account::key::{ApiKey, Mode, Scope};
use crate::api::shapes;
use crate::clock::Timestamp;
use crate::domain::name::DomainName;
use crate::id::{AccountId, KeyId};
use crate::management::Change as Becomes;
use crate::management::keys::{self, Grantor, KeyChange, NewKey, OwnKey};
use crate::template::slug::Slug;

/// Make, list, change and switch off API keys.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key; it is shown once, now
    Create {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// What a person calls it
        #[arg(long, default_value = "key")]
        name: String,
        /// Deliver to the sandbox inbox only, for 0 credits
        #[arg(long)]
        test: bool,
        /// What it may do; repeatable
        #[arg(long = "scope", value_enum, default_values = ["send"])]
        scopes: Vec<ScopeArg>,
        /// A sender domain that it may use; repeatable, none means all
        #[arg(long = "domain")]
        domains: Vec<DomainName>,
        /// A template that it may send; repeatable, none means all
        #[arg(long = "template")]
        templates: Vec<Slug>,
        /// An address or network that it may be used from; repeatable, none means any
        #[arg(long = "ip")]
        networks: Vec<IpNetwork>,
        /// When it stops working, RFC 3339
        #[arg(long, value_parser = moment)]
        expires: Option<Timestamp>,
        #[command(flatten)]
        target: Target,
    },
    /// List the keys of an account
    List {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        #[command(flatten)]
        target: Target,
    },
    /// Change the name, the scopes, the restrictions or the end of a key; the next request is decided on that
    Update {
        /// `key_…`
        id: KeyId,
        #[command(flatten)]
        change: Change,
        #[command(flatten)]
        target: Target,
    },
    /// Switch a key off for good; the next request with it is refused
    Deactivate {
        /// `key_…`
        id: KeyId,
        #[command(flatten)]
        target: Target,
    },
}

/// The fields to change; a list replaces the one before it.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct Change {
    /// What a person calls it
    #[arg(long)]
    name: Option<String>,
    /// What it may do; repeatable
    #[arg(long = "scope", value_enum)]
    scopes: Vec<ScopeArg>,
    /// A sender domain that it may use; repeatable
    #[arg(long = "domain")]
    domains: Vec<DomainName>,
    /// A template that it may send; repeatable
    #[arg(long = "template")]
    templates: Vec<Slug>,
    /// An address or network that it may be used from; repeatable
    #[arg(long = "ip")]
    networks: Vec<IpNetwork>,
    /// When it stops working, RFC 3339
    #[arg(long, value_parser = moment)]
    expires: Option<Timestamp>,
    /// Take a restriction away; repeatable
    #[arg(long, value_enum)]
    clear: Vec<Restriction>,
}

/// What a key may be restricted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Restriction {
    Domain,
    Template,
    Ip,
    Expires,
}

/// A scope, as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ScopeArg {
    /// Send messages
    Send,
    /// Write the account's templates
    Templates,
    /// Manage its account, templates included
    Admin,
    /// Manage the server
    Operator,
}

pub async fn run(command: KeyCommand) -> Result<(), CliError> {
    match command {
        KeyCommand::Create {
            account,
            name,
            test,
            scopes,
            domains,
            templates,
            networks,
            expires,
            target,
        } => {
            let opened = target.open().await?;
            let new = NewKey {
                name,
                mode: if test { Mode::Test } else { Mode::Live },
                scopes: scopes.into_iter().map(Scope::from).collect(),
                domains,
                templates,
                networks,
                expires_at: expires,
            };
            let now = opened.clock.now();
            let made = keys::create(&opened.store, Grantor::Machine, account, new, now).await?;
            let value = json!(shapes::NewKey::from(made));
            target.output.one(&value, || format!("{}\n{}", line(&value), text(&value, "key")));
            Ok(())
        }
        KeyCommand::List { account, target } => {
            let keys = target.open().await?.store.keys(account).await?;
            let keys = keys.into_iter().map(|key| json!(shapes::Key::from(key)));
            target.output.list(&keys.collect::<Vec<_>>(), line);
            Ok(())
        }
        KeyCommand::Update { id, change, target } => {
            let (store, change) = (target.open().await?.store, change.into());
            let machine = Grantor::Machine;
            let key = keys::change(&store, machine, None, id, &change, OwnKey::Refused).await?;
            show(key, target.output);
            Ok(())
        }
        KeyCommand::Deactivate { id, target } => {
            let store = target.open().await?.store;
            let machine = Grantor::Machine;
            let key = keys::deactivate(&store, machine, None, id, OwnKey::Refused).await?;
            show(key, target.output);
            Ok(())
        }
    }
}

fn show(key: ApiKey, output: Output) {
    let value = json!(shapes::Key::from(key));
    output.one(&value, || line(&value));
}

impl From<Change> for KeyChange {
    fn from(change: Change) -> Self {
        let cleared = change.clear;
        let expires_at = match change.expires {
            Some(end) => Becomes::Set(end),
            None if cleared.contains(&Restriction::Expires) => Becomes::Clear,
            None => Becomes::Keep,
        };
        let scopes: Vec<Scope> = change.scopes.into_iter().map(Scope::from).collect();
        Self {
            name: change.name,
            scopes: (!scopes.is_empty()).then_some(scopes),
            domains: named(change.domains, Restriction::Domain, &cleared),
            templates: named(change.templates, Restriction::Template, &cleared),
            networks: named(change.networks, Restriction::Ip, &cleared),
            expires_at,
        }
    }
}

/// The named items, an empty list where the restriction is cleared, or `None` if the option was not given.
fn named<T>(values: Vec<T>, of: Restriction, cleared: &[Restriction]) -> Option<Vec<T>> {
    (cleared.contains(&of) || !values.is_empty()).then_some(values)
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Send => Self::Send,
            ScopeArg::Templates => Self::Templates,
            ScopeArg::Admin => Self::Admin,
            ScopeArg::Operator => Self::Operator,
        }
    }
}

/// A moment as the command line takes it.
pub fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_rfc3339(text)
        .ok_or_else(|| "must be RFC 3339, as in 2027-01-01T00:00:00Z".to_owned())
}

fn line(value: &Value) -> String {
    format!(
        "{}  {}  {}…  {}  scopes {}",
        text(value, "id"),
        text(value, "name"),
        text(value, "prefix"),
        text(value, "state"),
        text(value, "scopes"),
    )
}
