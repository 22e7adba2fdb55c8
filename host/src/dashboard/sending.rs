//! What people send from the pages: as every send it needs a key, and takes from the account's rate.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::json;

use super::guard::Visitor;
use super::response::{Failure, sentence};
use super::state::Dashboard;
use crate::account::brand::BrandField;
use crate::account::key::{ApiKey, KeyState, Scope};
use crate::journey::accept::authenticate::Caller;
use crate::journey::accept::refusal::Refusal;
use crate::management::keys::{self, KeyError};

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
            "the account's key “Dashboard”, with which mail is sent from here, is deactivated"
                .to_owned();
        return Err(Refusal::Forbidden { message, retry_after_s: None });
    }
    let caller = Caller { key: Arc::new(key), ip, scope: Scope::Templates };
    let accept = &dashboard.api.journey.accept;
    accept.take_sends(&caller, sends).map_err(|(refusal, _)| refusal)?;
    Ok(caller)
}

/// A command that sends a message with that key.
pub async fn curl(dashboard: &Dashboard, visitor: &Visitor, key: &str) -> Result<String, Failure> {
    let account = visitor.account()?;
    let published = dashboard.api.store.templates(account).await?;
    let code = published.iter().find(|it| it.slug.as_str() == "verification-code");
    let template = code.or(published.first());
    let (slug, data) = match template {
        Some(version) => {
            let example = version.source.example().cloned().unwrap_or_default();
            let own =
                example.into_iter().filter(|(name, _)| BrandField::of_variable(name).is_none());
            (version.slug.to_string(), own.collect())
        }
        None => ("welcome".to_owned(), serde_json::Map::new()),
    };
    let to = &visitor.person.user.email;
    let body = json!({"to": to.to_string(), "type": "EMAIL", "template": slug, "data": data});
    let body = body.to_string().replace('\'', r"'\''");
    let base = &visitor.guest.base;
    Ok(format!(
        "curl -sS {base}/messages/send \\\n  -H 'x-api-key: {key}' \\\n  -H 'content-type: application/json' \\\n  \
         -d '{body}'"
    ))
}
