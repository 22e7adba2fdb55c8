//! API keys.

use serde::Serialize;
use utoipa::ToSchema;

use super::page::{Listed, PAGED, Page, PageDoc};
use crate::account::ip_network::IpNetwork;
use crate::account::key::{self, ApiKey, PresentedKey};
use crate::clock::Timestamp;
use crate::id::{AccountId, KeyId};

/// An API key, without its secret.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// `key_…`
    #[schema(value_type = String)]
    id: KeyId,
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: AccountId,
    /// What a person calls it.
    name: String,
    /// Where its mail goes.
    mode: KeyMode,
    /// The beginning of the key, to recognise it by.
    prefix: String,
    /// What it may do.
    scopes: Vec<KeyScope>,
    /// The sender domains that it may use; empty for all of the account's.
    domains: Vec<String>,
    /// The templates that it may send; empty for all of the account's.
    templates: Vec<String>,
    /// The networks that it may be used from; empty for any.
    #[schema(value_type = Vec<String>)]
    networks: Vec<IpNetwork>,
    /// Whether it works.
    state: KeyState,
    /// When it stops working; none for never.
    #[schema(format = "date-time", required, nullable)]
    expires_at: Option<String>,
    /// When it was last used, to about a minute.
    #[schema(format = "date-time", required, nullable)]
    last_used_at: Option<String>,
    /// When it was made.
    #[schema(format = "date-time")]
    created_at: String,
    /// Members of the request that mean nothing here.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A key with its secret, which is shown only once.
#[derive(Serialize, ToSchema)]
pub struct NewKey {
    /// The key.
    #[serde(flatten)]
    pub about: Key,
    /// The whole key, `wx_live_…` or `wx_test_…`: what goes into the header `x-api-key`.
    key: String,
}

/// Where the mail of a key goes.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyMode {
    /// To its recipients.
    Live,
    /// To the sandbox inbox only, for 0 credits.
    Test,
}

/// What a key may do.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyScope {
    /// Send messages.
    Send,
    /// Write its account's templates, layouts and partials.
    Templates,
    /// Manage its account, templates included.
    Admin,
    /// Manage the server.
    Operator,
}

/// Whether a key works.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// It does, until it expires.
    Active,
    /// It was switched off for good.
    Deactivated,
}

impl From<ApiKey> for Key {
    fn from(key: ApiKey) -> Self {
        Self {
            prefix: format!("wx_{}_{}", key.mode.as_str(), key.lookup),
            id: key.id,
            account_id: key.account_id,
            name: key.name,
            mode: match key.mode {
                key::Mode::Live => KeyMode::Live,
                key::Mode::Test => KeyMode::Test,
            },
            scopes: key.scopes.into_iter().map(Into::into).collect(),
            domains: key.domains,
            templates: key.templates,
            networks: key.networks,
            state: match key.state {
                key::KeyState::Active => KeyState::Active,
                key::KeyState::Deactivated => KeyState::Deactivated,
            },
            expires_at: key.expires_at.map(Timestamp::rfc3339),
            last_used_at: key.last_used_at.map(Timestamp::rfc3339),
            created_at: key.created_at.rfc3339(),
            warnings: Vec::new(),
        }
    }
}

impl From<key::Scope> for KeyScope {
    fn from(scope: key::Scope) -> Self {
        match scope {
            key::Scope::Send => Self::Send,
            key::Scope::Templates => Self::Templates,
            key::Scope::Admin => Self::Admin,
            key::Scope::Operator => Self::Operator,
        }
    }
}

impl From<(ApiKey, PresentedKey)> for NewKey {
    fn from((about, key): (ApiKey, PresentedKey)) -> Self {
        Self { about: about.into(), key: key.reveal() }
    }
}

pub type KeyPage = Page<Key>;

impl Listed for Key {
    const PAGE: PageDoc = PageDoc {
        name: "KeyPage",
        about: "Some of the keys.",
        data: "In the order of their making.",
        ..PAGED
    };
}
