//! Who may manage an account: a key of scope `admin`, its own account only; and how the key of any
//! request that manages something is found. A test key manages what test keys have sent, and reads
//! sender domains; everything else belongs to the account's live mail.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::request::Parts;

use super::problem::Problem;
use super::request_context;
use super::state::Api;
use crate::account::key::{Mode, Scope};
use crate::domain::name::DomainName;
use crate::id::AccountId;
use crate::journey::accept::authenticate::Caller;
use crate::journey::accept::refusal::Refusal;

/// Proof that the request is from somebody who may manage an account.
#[derive(Debug)]
pub struct Admin(Caller);

impl Admin {
    pub fn account(&self) -> AccountId {
        self.0.key.account_id
    }

    pub fn caller(&self) -> &Caller {
        &self.0
    }

    /// Whether the key may see a message from that domain, of that template.
    pub fn may_see(&self, domain: &str, template: Option<&str>) -> bool {
        self.0.key.covers(domain, template)
    }

    /// Whether the key is for the account as a whole.
    pub fn is_for_all(&self) -> bool {
        self.0.key.covers_all()
    }

    /// Whether it is a test key: it sees only what test keys have sent.
    pub fn is_test(&self) -> bool {
        self.0.key.mode == Mode::Test
    }

    /// Refuses a test key what belongs to the live mail of the account; `why` says how it does.
    ///
    /// # Errors
    /// It is a test key.
    pub fn must_be_live(self, why: &str) -> Result<Self, Problem> {
        if !self.is_test() {
            return Ok(self);
        }
        let message =
            format!("a test key may not do this: {why}; use a live key with the scope admin");
        Err(Refusal::Forbidden { message, retry_after_s: None }.into())
    }

    /// Whether the key may have to do with a sender domain.
    pub fn may_manage(&self, name: &DomainName) -> bool {
        let domains = &self.0.key.domains;
        domains.is_empty() || domains.iter().any(|it| it == name.as_str())
    }
}

impl FromRequestParts<Api> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let ip = request_context::ip(&parts.extensions);
        authenticated(&parts.headers, ip, api, Scope::Admin).await.map(Self)
    }
}

/// Finds the key of a request, and notes the key for the log, also where it is refused. A caller who is let in is noted,
/// too: [`super::body`] checks the caller once more when the body has arrived.
pub async fn authenticated(
    headers: &HeaderMap,
    ip: IpAddr,
    api: &Api,
    scope: Scope,
) -> Result<Caller, Problem> {
    let presented = headers.get("x-api-key").and_then(|value| value.to_str().ok());
    let logged_in = api.journey.accept.log_in(presented, ip, scope).await;
    let key = logged_in.as_ref().map_or_else(|failed| failed.key.as_ref(), |it| Some(&it.key));
    if let Some(key) = key {
        request_context::note_key(key);
    }
    if let Ok(caller) = &logged_in {
        request_context::note_caller(caller);
    }
    logged_in.map_err(|failed| failed.refusal.into())
}
