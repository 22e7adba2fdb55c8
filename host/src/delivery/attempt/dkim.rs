//! Signs a message with the DKIM keys of its author's domain, at each attempt anew: with the keys
//! that are published now.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;

use super::author_keys::author_keys;
use crate::clock::Clock;
use crate::domain::key::identity;
use crate::id::DomainId;
use crate::mail::dkim::{self, SigningKey};
use crate::store::SealedKey;
use crate::store::facts::Facts;
use crate::store::records::{Lease, RouteChoice};
use crate::store::seal::{Seal, SealError};

/// Caches parsed keys: parsing an RSA key costs half as much as signing with it.
const MAX_CACHED_KEYS: u64 = 10_000;
/// How long an unused key is cached.
const KEY_IDLE: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub struct DkimSigner {
    facts: Arc<Facts>,
    seal: Seal,
    clock: Clock,
    ready: Cache<String, Arc<SigningKey>>,
}

/// Why a DKIM key of the sender domain cannot sign now.
#[derive(Debug, thiserror::Error)]
enum UnusableKey {
    #[error(transparent)]
    Sealed(#[from] SealError),
    #[error(transparent)]
    Algorithm(#[from] dkim::UnknownAlgorithm),
    #[error(transparent)]
    Key(#[from] dkim::KeyError),
}

#[derive(Debug)]
pub enum Signed {
    /// The message with its signatures.
    Message(Vec<u8>),
    /// It goes unsigned: it cannot leave the sandbox, whose domains have no keys.
    Unsigned,
    /// The keys cannot be read now, and the message must not go unsigned.
    Defer(String),
    /// It can never be signed.
    Fail(String),
}

impl DkimSigner {
    /// `seal` opens the keys.
    #[must_use]
    pub fn new(facts: Arc<Facts>, seal: Seal, clock: Clock) -> Self {
        let ready = Cache::builder().max_capacity(MAX_CACHED_KEYS).time_to_idle(KEY_IDLE).build();
        Self { facts, seal, clock, ready }
    }

    /// Checks whether keys have changed; once for many messages.
    pub async fn refresh(&self) {
        // If the store fails, the known keys still sign.
        let _known_to_the_caller = self.facts.have_moved(self.facts.snapshot().revision()).await;
    }

    pub(super) async fn sign(&self, lease: &Lease, raw: &[u8]) -> Signed {
        let sandbox = lease.route == RouteChoice::Sandbox;
        let Some(domain) = lease.author.domain() else {
            return Signed::Fail("the author has no domain".to_owned());
        };
        let keys = match author_keys(&self.facts, lease).await {
            Ok(keys) => keys,
            Err(reason) => return Signed::Defer(reason.to_string()),
        };
        let keys = match keys {
            None if sandbox => return Signed::Unsigned,
            Some(keys) if sandbox && keys.keys.is_empty() => return Signed::Unsigned,
            // A domain that was removed and added again is another domain: it must be verified
            // anew.
            Some(keys) if lease.domain.is_none_or(|it| it == keys.domain) => keys,
            Some(_) | None => {
                return Signed::Fail(format!("{domain} was removed from the account"));
            }
        };
        // The message may be old, and the domain somebody else's by now.
        if !keys.phase.may_send() || keys.keys.is_empty() {
            return Signed::Defer(format!("{domain} is not verified any more"));
        }
        let ready: Result<Vec<_>, UnusableKey> =
            keys.keys.iter().map(|key| self.ready(keys.domain, key)).collect();
        let ready = match ready {
            Ok(ready) => ready,
            Err(reason) => {
                tracing::error!(%domain, %reason, "DKIM key cannot be used; deferring mail of the domain");
                return Signed::Defer(reason.to_string());
            }
        };
        let signers: Vec<dkim::Signer<'_>> = keys
            .keys
            .iter()
            .zip(&ready)
            .map(|(key, ready)| dkim::Signer {
                domain: domain.as_str(),
                selector: &key.selector,
                key: ready,
            })
            .collect();
        match dkim::sign(raw, &signers, self.clock.now()) {
            Ok(mut signed) => {
                signed.extend_from_slice(raw);
                Signed::Message(signed)
            }
            Err(unsignable) => Signed::Fail(format!("it cannot be signed: {unsignable}")),
        }
    }

    fn ready(&self, domain: DomainId, key: &SealedKey) -> Result<Arc<SigningKey>, UnusableKey> {
        let name = identity(domain, &key.selector);
        if let Some(ready) = self.ready.get(&name) {
            return Ok(ready);
        }
        let pkcs8 = self.seal.open(&name, &key.sealed)?;
        let read = Arc::new(SigningKey::from_pkcs8(key.algorithm.parse()?, &pkcs8)?);
        self.ready.insert(name, Arc::clone(&read));
        Ok(read)
    }
}
