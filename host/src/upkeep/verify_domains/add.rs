//! Adds a domain: which names may be added, with which keys, and what its holder has to publish.

use std::collections::HashSet;

use super::Verifier;
use super::check::{decision_json, requirements_json};
use super::error::{DomainError, MAX_NAME_OCTETS, NameRefused, NotAdded};
use super::evaluate::{DnsLookups, Evaluation, Unjudged};
use super::judge::judge;
use super::lookups::Lookups;
use crate::account::Account;
use crate::domain::key::KeyPhase;
use crate::domain::look_alike::{LookAlikes, Originals, mixes_scripts};
use crate::domain::name::DomainName;
use crate::domain::state::{DomainKind, Phase, SenderDomain, Standing};
use crate::hexadecimal::hexadecimal;
use crate::id::{DomainId, fill_random};
use crate::store::{AddingFacts, DomainRow, NewDomain};

impl Verifier {
    /// Adds a domain to an account. Nothing of it was seen in DNS yet, so one that needs records
    /// starts at 0 %; its first check is a little later, so that no resolver remembers the absence
    /// of what is just being published.
    pub async fn add(
        &self,
        account: &Account,
        name: DomainName,
        kind: DomainKind,
        look_alikes: LookAlikes,
    ) -> Result<DomainId, DomainError> {
        let now = self.clock.now();
        let id = DomainId::new(now);
        if kind == DomainKind::Dns {
            admit(&name, look_alikes)?;
        }
        let decide = |facts| may_be_added(facts, look_alikes, self.rules.per_account);
        let originals = Originals::of(account.id, &name);
        decide(self.store.adding_facts(account.id, &name, &originals).await?)?;
        let (keys, first_check) = match kind {
            DomainKind::Sandbox => (Vec::new(), None),
            DomainKind::Dns => {
                let first = now.after(self.rules.schedule.first);
                (self.pair(id, KeyPhase::Signing, now).await?, Some(first))
            }
        };
        let standing =
            Standing { phase: Phase::Pending, since: now, progress: 0, missing: Vec::new() };
        let mut domain = SenderDomain {
            id,
            account_id: account.id,
            name,
            kind,
            verification_token: token(),
            standing,
            created_at: now,
        };
        let mut lookups = Lookups::begin();
        let Evaluation { requirements, judged, .. } =
            self.evaluate(account, &domain, &keys, DnsLookups::Skip, &mut lookups).await;
        let judged = judged.map_err(|unjudged| match unjudged {
            Unjudged::Policy(failure) => DomainError::Policy(failure),
            Unjudged::TooManyRecords { ref plugin, .. }
            | Unjudged::TooManyLookups { ref plugin } => {
                DomainError::Policy(crate::plugin::CallFailure::GaveUp {
                    plugin: plugin.clone(),
                    call: "require",
                    detail: unjudged.to_string(),
                })
            }
        })?;
        let none = HashSet::new();
        let judgement = judge(&domain, &keys, &requirements, &judged.findings, &lookups, &none);
        let mut decision = judged.decision;
        decision.reason = Some(format!("{}% verified", judgement.progress));
        domain.standing.progress = judgement.progress;
        domain.standing.missing = judgement.missing;
        if judgement.progress == 100 {
            domain.standing.phase = Phase::Verified;
        }
        let row = DomainRow {
            requirements: requirements_json(&requirements),
            decision: decision_json(&decision),
            domain,
        };
        let new = NewDomain { row, look_alikes, keys, first_check };
        self.store.add_domain(&new, now, &originals, decide).await??;
        Ok(id)
    }
}

fn admit(name: &DomainName, look_alikes: LookAlikes) -> Result<(), NameRefused> {
    if name.is_public_suffix() {
        return Err(NameRefused::PublicSuffix);
    }
    if name.as_str().len() > MAX_NAME_OCTETS {
        return Err(NameRefused::TooLong);
    }
    match look_alikes {
        LookAlikes::Refused if mixes_scripts(name) => Err(NameRefused::MixedScripts),
        LookAlikes::Refused | LookAlikes::Allowed => Ok(()),
    }
}

/// Whether an account that may have `most` domains gets this one: pure, on facts that the store read.
fn may_be_added(facts: AddingFacts, look_alikes: LookAlikes, most: u32) -> Result<(), NotAdded> {
    if facts.is_there {
        Err(NotAdded::Exists)
    } else if facts.domains >= u64::from(most) {
        Err(NotAdded::TooMany(most))
    } else if facts.has_look_alike && look_alikes == LookAlikes::Refused {
        Err(NotAdded::LooksLikeAnother)
    } else {
        Ok(())
    }
}

/// 128 random bits.
fn token() -> String {
    let mut bytes = [0; 16];
    fill_random(&mut bytes);
    hexadecimal(&bytes)
}
