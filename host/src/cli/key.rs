//! `waxwing key`.

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::text;
use crate::account::ip_network::IpNetwork;
use crate::account::key::{ApiKey, KeyState, Mode, PresentedKey, Scope};
use crate::clock::Timestamp;
use crate::domain::name::DomainName;
use crate::id::{AccountId, KeyId};
use crate::template::slug::Slug;

/// Make, list and switch off API keys.
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
    /// Switch a key off; the next request with it is refused
    Deactivate {
        /// `key_…`
        id: KeyId,
        #[command(flatten)]
        target: Target,
    },
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
            let scopes: Vec<Scope> = scopes.into_iter().map(Scope::from).collect();
            if test && scopes.contains(&Scope::Operator) {
                return Err(CliError::OperatorTestKey);
            }
            let opened = target.open().await?;
            let now = opened.clock.now();
            // For its message: a key of no account would only show the database's constraint.
            opened.store.account(account, now).await?;
            let presented = PresentedKey::generate(if test { Mode::Test } else { Mode::Live });
            let key = ApiKey {
                id: KeyId::new(now),
                account_id: account,
                name,
                mode: presented.mode(),
                lookup: presented.lookup().to_owned(),
                hash: presented.hash(),
                scopes,
                domains: domains.into_iter().map(String::from).collect(),
                templates: templates.into_iter().map(String::from).collect(),
                networks,
                state: KeyState::Active,
                expires_at: expires,
                last_used_at: None,
                created_at: now,
            };
            opened.store.create_key(&key).await?;
            let mut value = to_json(&key);
            value["key"] = json!(presented.reveal());
            target.output.one(&value, || format!("{}\n{}", line(&value), presented.reveal()));
            Ok(())
        }
        KeyCommand::List { account, target } => {
            let keys = target.open().await?.store.keys(account).await?;
            target.output.list(&keys.iter().map(to_json).collect::<Vec<_>>(), line);
            Ok(())
        }
        KeyCommand::Deactivate { id, target } => {
            target.open().await?.store.deactivate_key(id).await?;
            let value = json!({"id": id, "state": KeyState::Deactivated});
            target.output.one(&value, || format!("{id}  deactivated"));
            Ok(())
        }
    }
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

fn to_json(key: &ApiKey) -> Value {
    json!({
        "id": key.id,
        "accountId": key.account_id,
        "name": key.name,
        "mode": key.mode,
        "prefix": format!("wx_{}_{}", key.mode.as_str(), key.lookup),
        "scopes": key.scopes,
        "domains": key.domains,
        "templates": key.templates,
        "networks": key.networks,
        "state": key.state,
        "expiresAt": key.expires_at.map(Timestamp::rfc3339),
        "lastUsedAt": key.last_used_at.map(Timestamp::rfc3339),
        "createdAt": key.created_at.rfc3339(),
    })
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
