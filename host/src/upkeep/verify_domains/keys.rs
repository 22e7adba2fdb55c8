//! Makes the DKIM keys of a domain, and looks whether DNS has them.

use super::Verifier;
use super::lookups::Lookups;
use crate::clock::Timestamp;
use crate::dns::{Outcome, text};
use crate::domain::key::{DkimKey, KeyPhase, identity, selector_stem};
use crate::domain::name::DomainName;
use crate::id::DomainId;
use crate::mail::dkim::{Algorithm, Generated, KeyError, SigningKey};
use crate::plugin::domain::{Lookup, RecordType};
use crate::store::seal::Seal;

impl Verifier {
    /// A new pair of keys, RSA first.
    pub(super) async fn pair(
        &self,
        domain: DomainId,
        phase: KeyPhase,
        now: Timestamp,
    ) -> Result<Vec<DkimKey>, KeyError> {
        // About 80 ms of arithmetic, in which this thread would answer nobody.
        let made = tokio::task::spawn_blocking(|| {
            [Algorithm::Rsa, Algorithm::Ed25519].map(|it| (it, SigningKey::generate(it)))
        });
        let made = made.await.map_err(|_| KeyError::Library)?;
        let name = selector_stem();
        let key = |(algorithm, made): (Algorithm, Result<Generated, KeyError>)| {
            Ok(stored(&self.keys, domain, &name, algorithm, &made?, phase, now))
        };
        made.into_iter().map(key).collect()
    }
}

fn stored(
    seal: &Seal,
    domain: DomainId,
    name: &str,
    algorithm: Algorithm,
    made: &Generated,
    phase: KeyPhase,
    since: Timestamp,
) -> DkimKey {
    let letter = match algorithm {
        Algorithm::Rsa => 'r',
        Algorithm::Ed25519 => 'e',
    };
    let selector = format!("{name}{letter}");
    DkimKey {
        algorithm: algorithm.as_str().to_owned(),
        public_base64: made.key.public_base64(),
        sealed: seal.seal(&identity(domain, &selector), &made.pkcs8),
        selector,
        phase,
        since,
    }
}

/// The name of a key's record.
#[must_use]
pub fn record_name(domain: &DomainName, key: &DkimKey) -> String {
    format!("{}._domainkey.{domain}", key.selector)
}

/// Where the keys are looked for that wait to be published.
pub fn next_keys(domain: &DomainName, keys: &[DkimKey]) -> Vec<Lookup> {
    let next = keys.iter().filter(|key| key.phase == KeyPhase::Next);
    next.map(|key| Lookup {
        id: format!("next:{}", key.selector),
        name: record_name(domain, key),
        record_type: RecordType::Txt,
    })
    .collect()
}

/// Whether the key's record was seen, alone and with this key: the host's own look, whatever the policy
/// makes of it.
pub fn is_published(domain: &DomainName, key: &DkimKey, lookups: &Lookups) -> bool {
    let Some(made) = lookups.of(&record_name(domain, key), RecordType::Txt) else { return false };
    let Outcome::Answers(answers) = &made.seen.outcome else { return false };
    let [answer] = answers.as_slice() else { return false };
    let text = text(&answer.data);
    let text = String::from_utf8_lossy(&text);
    let tag = |name: &str| {
        let mut tags = text.split(';').filter_map(|tag| tag.split_once('='));
        let (_, value) = tags.find(|(found, _)| found.trim() == name)?;
        Some(value.split_whitespace().collect::<String>())
    };
    let kind = key.algorithm.split('-').next().unwrap_or_default();
    tag("p").is_some_and(|it| it == key.public_base64)
        && tag("k").map_or(kind == "rsa", |it| it == kind)
}
