//! Asks the policy what a domain needs, DNS what is there, and the policy again what to make of it.

use std::sync::Arc;
use std::time::Duration;

use super::Verifier;
use super::lookups::Lookups;
use crate::account::Account;
use crate::domain::key::{DkimKey, KeyPhase};
use crate::domain::state::{DomainKind, SenderDomain};
use crate::plugin::binding::Scope;
use crate::plugin::decision::Decision;
use crate::plugin::domain::{self as policy, Domain, Finding, Lookup, Requirement, Verdict};
use crate::plugin::table::{Called, Table};
use crate::plugin::{CallContext, CallFailure, Pair};

/// Records that a policy may ask for.
pub const MAX_RECORDS: usize = 40;
/// Rounds of further lookups, at most.
pub const MAX_ROUNDS: usize = 3;
/// Names of all rounds together, at most.
pub const MAX_NAMES: usize = 20;

/// What came of asking a policy.
#[derive(Debug)]
pub struct Evaluation {
    /// What the domain needs; nothing where the policy did not say.
    pub requirements: Vec<Requirement>,
    /// What it makes of what is there.
    pub judged: Result<Judged, Unjudged>,
    /// The record of each call, at least one.
    pub decisions: Vec<Decision>,
}

/// What a policy made of a domain.
#[derive(Debug)]
pub struct Judged {
    pub findings: Vec<Finding>,
    /// The record of the judgement.
    pub decision: Decision,
    /// When the policy would look again.
    pub recheck_after: Option<Duration>,
}

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
pub enum Unjudged {
    /// The policy gave no answer.
    #[error(transparent)]
    Policy(#[from] CallFailure),
    /// It asks for more than anybody would publish.
    #[error(
        "the domain policy `{plugin}` asks for {count} records; at most {MAX_RECORDS} are looked up"
    )]
    TooManyRecords { plugin: String, count: usize },
    /// It never has enough.
    #[error(
        "the domain policy `{plugin}` goes on asking for lookups: a check has at most \
         {MAX_ROUNDS} rounds of them and {MAX_NAMES} names"
    )]
    TooManyLookups { plugin: String },
}

impl Unjudged {
    /// The words for the account holder; the plugin's own are the operator's.
    #[must_use]
    pub fn for_client(&self) -> String {
        match self {
            Self::Policy(failure) => failure.for_client(),
            Self::TooManyRecords { .. } | Self::TooManyLookups { .. } => self.to_string(),
        }
    }
}

impl Verifier {
    /// A judgement of the domain by what `lookups` shows; what the policy needs is added to it. Without a
    /// resolver's work when `looking` says so: a domain that is just being added.
    pub(super) async fn evaluate(
        &self,
        account: &Account,
        domain: &SenderDomain,
        keys: &[DkimKey],
        looking: DnsLookups,
        lookups: &mut Lookups,
    ) -> Evaluation {
        let table = self.plugins.table();
        let context = self.plugins.context(domain.id.to_string());
        let described = self.described(account, domain, keys);
        let account_id = account.id.to_string();
        let scope = Scope {
            plan: &account.plan.name,
            account: &account_id,
            domain: Some(domain.name.as_str()),
        };
        let Called { result, decision, failed: _ } =
            table.require(&scope, &context, &described).await;
        let plugin = decision.identity.name.clone();
        let mut decisions = vec![decision];
        let requirements = match result {
            Ok(requirements) if requirements.len() <= MAX_RECORDS => requirements,
            Ok(requirements) => {
                let judged = Err(Unjudged::TooManyRecords { plugin, count: requirements.len() });
                return Evaluation { requirements: Vec::new(), judged, decisions };
            }
            Err(failure) => {
                let judged = Err(failure.into());
                return Evaluation { requirements: Vec::new(), judged, decisions };
            }
        };
        match looking {
            DnsLookups::Query => {
                lookups.make(&self.resolver, requirements.iter().map(lookup).collect()).await;
            }
            DnsLookups::Skip => {}
        }
        let policy = Policy { table, scope, context, described };
        let judged = self.rounds(&policy, plugin, looking, lookups, &mut decisions).await;
        Evaluation { requirements, judged, decisions }
    }

    async fn rounds(
        &self,
        policy: &Policy<'_>,
        plugin: String,
        looking: DnsLookups,
        lookups: &mut Lookups,
        decisions: &mut Vec<Decision>,
    ) -> Result<Judged, Unjudged> {
        let mut names = 0;
        for round in 0..=MAX_ROUNDS {
            let Called { result, decision, failed: _ } = policy.judge(lookups).await;
            decisions.push(decision.clone());
            match result? {
                Verdict::Decided(policy::Judgement { findings, recheck_after_s }) => {
                    let recheck_after =
                        recheck_after_s.map(|it| Duration::from_secs(u64::from(it)));
                    return Ok(Judged { findings, decision, recheck_after });
                }
                Verdict::Need(_) if looking == DnsLookups::Skip => {
                    return Ok(Judged { findings: Vec::new(), decision, recheck_after: None });
                }
                Verdict::Need(further) => {
                    names += further.len();
                    if round == MAX_ROUNDS || names > MAX_NAMES || further.is_empty() {
                        break;
                    }
                    lookups.make(&self.resolver, further).await;
                }
            }
        }
        Err(Unjudged::TooManyLookups { plugin })
    }

    fn described(&self, account: &Account, domain: &SenderDomain, keys: &[DkimKey]) -> Domain {
        let pair = |key: &str| Pair { key: key.to_owned(), value: "true".to_owned() };
        let wanted = keys.iter().filter(|key| key.phase != KeyPhase::Retired);
        Domain {
            name: domain.name.as_str().to_owned(),
            organizational_domain: domain.name.organizational().to_owned(),
            verification_token: domain.verification_token.clone(),
            dkim: wanted.map(for_policy).collect(),
            spf_include: self.rules.spf_include.clone(),
            return_path_host: self.rules.return_path_host.clone(),
            plan: account.plan.name.clone(),
            extra: match domain.kind {
                DomainKind::Sandbox => vec![pair("sandbox")],
                DomainKind::Dns => Vec::new(),
            },
        }
    }
}

/// The policy and the domain of one check: all its calls go to one generation.
struct Policy<'a> {
    table: Arc<Table>,
    scope: Scope<'a>,
    context: CallContext,
    described: Domain,
}

impl Policy<'_> {
    async fn judge(&self, lookups: &Lookups) -> Called<Verdict> {
        let Self { table, scope, context, described } = self;
        table.judge(scope, context, described, &lookups.observations()).await
    }
}

/// Whether DNS is queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsLookups {
    Query,
    /// Nothing can have been published yet.
    Skip,
}

fn lookup(requirement: &Requirement) -> Lookup {
    let Requirement { id, name, record_type, .. } = requirement;
    Lookup { id: id.clone(), name: name.clone(), record_type: *record_type }
}

fn for_policy(key: &DkimKey) -> policy::DkimKey {
    policy::DkimKey {
        selector: key.selector.clone(),
        public_key_base64: key.public_base64.clone(),
        algorithm: key.algorithm.clone(),
    }
}
