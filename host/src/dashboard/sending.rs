//! What people send from the pages: as every send it needs a key, and takes from the account's rate.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::guard::Visitor;
use super::response::{Failure, sentence};
use super::state::Dashboard;
use crate::account::brand::BrandField;
use crate::account::key::{ApiKey, KeyState, Scope};
use crate::journey::accept::authenticate::Caller;
use crate::journey::accept::refusal::Refusal;
use crate::management::keys::{self, KeyError};
use crate::store::AccountRow;

/// What a command to paste sends: a published template of the account, with its example data.
#[derive(Debug)]
pub struct Sample {
    slug: String,
    data: Map<String, Value>,
    /// Whether the template or the account names who it is from.
    pub has_sender: bool,
}

/// The key of the account that its people send with.
pub async fn key(dashboard: &Dashboard, visitor: &Visitor) -> Result<ApiKey, Failure> {
    let now = dashboard.api.clock.now();
    let key = keys::of_dashboard(&dashboard.api.store, visitor.account()?, now).await;
    let key = key.map_err(|error| {
        let said = sentence(&error.to_string());
        if let KeyError::Store(error) = error { error.into() } else { Failure::Invalid(said) }
    })?;
    if key.created_at == now {
        visitor.record(dashboard, "create_key", key.id).await?;
    }
    Ok(key)
}

/// Takes so many sends from the account's rate.
pub fn caller(
    dashboard: &Dashboard,
    (key, ip): (ApiKey, IpAddr),
    sends: NonZeroU32,
) -> Result<Caller, Refusal> {
    if key.state == KeyState::Deactivated {
        let message =
            "the account's key “Dashboard”, with which mail is sent from here, is deactivated for good; send it over \
             the API with another key of the account"
                .to_owned();
        return Err(Refusal::Forbidden { message, retry_after_s: None });
    }
    let caller = Caller { key: Arc::new(key), ip, scope: Scope::Templates };
    let accept = &dashboard.api.journey.accept;
    accept.take_sends(&caller, sends).map_err(|(refusal, _)| refusal)?;
    Ok(caller)
}

impl Sample {
    /// None where the account has published nothing.
    pub async fn of(dashboard: &Dashboard, row: &AccountRow) -> Result<Option<Self>, Failure> {
        let account = &row.account;
        let published = dashboard.api.store.templates(account.id).await?;
        let code = published.iter().find(|it| it.slug.as_str() == "verification-code");
        let Some(version) = code.or(published.first()) else { return Ok(None) };
        let example = version.source.example().cloned().unwrap_or_default();
        // What the brand says is not said again.
        let is_of_brand = |name: &str| {
            BrandField::of_variable(name).is_some_and(|it| account.brand.value(it).is_some())
        };
        Ok(Some(Self {
            slug: version.slug.to_string(),
            data: example.into_iter().filter(|(name, _)| !is_of_brand(name)).collect(),
            has_sender: version.source.sender.is_some() || account.sender.is_some(),
        }))
    }
}

/// A command that sends a message with that key. Without a published template it names none, as with the key.
pub fn curl(visitor: &Visitor, sample: Option<&Sample>, key: &str) -> String {
    let (slug, data) = match sample {
        Some(sample) => (sample.slug.as_str(), sample.data.clone()),
        None => ("YOUR_TEMPLATE", Map::new()),
    };
    let to = &visitor.person.user.email;
    let body = json!({"to": to.to_string(), "type": "EMAIL", "template": slug, "data": data});
    let body = body.to_string().replace('\'', r"'\''");
    let base = &visitor.guest.base;
    format!(
        "curl -sS {base}/messages/send \\\n  -H 'x-api-key: {key}' \\\n  -H 'content-type: application/json' \\\n  \
         -d '{body}'"
    )
}
