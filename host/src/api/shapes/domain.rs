//! Sender domains, as their holders see them: what to publish, what was seen of it, and what comes next.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::{Object, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::message::Event;
use crate::clock::Timestamp;
use crate::domain::key::{DkimKey, KeyPhase};
use crate::domain::look_alike::shown;
use crate::domain::name::DomainName;
use crate::domain::state::{DomainKind, Phase};
use crate::id::{AccountId, DomainId};
use crate::store::{self, CheckRow, DomainRow, EventRow};
use crate::upkeep::verify_domains::{DomainCheckSettings, RETIRED_KEY_TIME, record_name};

/// A sender domain.
#[derive(Serialize)]
pub struct Domain {
    #[serde(flatten)]
    summary: DomainSummary,
    #[serde(flatten)]
    details: DomainDetails,
}

/// A sender domain, without its DNS records and keys.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainSummary {
    /// `dom_…`
    #[schema(value_type = String)]
    id: DomainId,
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: AccountId,
    /// A-labels.
    #[schema(value_type = String)]
    name: DomainName,
    /// The name in Unicode.
    unicode_name: String,
    /// `dns` or `sandbox`.
    #[schema(value_type = String)]
    kind: DomainKind,
    /// `pending`, `verified`, `warned`, `degraded` or `failed`.
    #[schema(value_type = String)]
    state: Phase,
    /// Since when, RFC 3339.
    since: String,
    /// Whether mail may be sent from it.
    verified: bool,
    /// Required records that are satisfied, in percent.
    #[schema(maximum = 100)]
    progress: u8,
    /// What is required and not satisfied.
    missing: Vec<String>,
    /// `warned`: until when it sends, RFC 3339.
    sends_until: Option<String>,
    /// RFC 3339.
    created_at: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DomainDetails {
    /// What to publish, and what was seen of it.
    records: Vec<DomainRecord>,
    /// The DKIM keys of the domain.
    dkim: Vec<DomainKey>,
    /// When DNS was last checked, RFC 3339.
    checked_at: Option<String>,
    /// When DNS is checked next, RFC 3339; none where only on demand.
    next_check_at: Option<String>,
    /// Since when required records cannot be seen, RFC 3339.
    unclear_since: Option<String>,
    /// Why the last check came to no judgement.
    failure: Option<String>,
    /// The lookups of the last check: exact data, resolver, time.
    #[schema(value_type = Vec<Object>)]
    lookups: Value,
    /// The record of the judgement.
    #[schema(value_type = Object)]
    decision: Value,
    /// Events of the domain, newest first.
    events: Vec<Event>,
    /// Members of the request that were ignored.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// One record to publish.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainRecord {
    /// The policy's identifier.
    pub id: String,
    /// `ownership`, `DKIM`, `SPF`, `DMARC`, `return path`, …
    pub purpose: String,
    /// Whether the domain sends only with it.
    pub required: bool,
    /// `TXT`, `CNAME`, …
    pub r#type: String,
    /// DNS name to publish the record at.
    pub name: String,
    /// Value of the record to publish.
    pub value: String,
    /// What it is for and how to publish it.
    pub help: String,
    /// `satisfied`, `missing`, `wrong`, `propagating`, `unknown` or `unchecked`.
    #[serde(default)]
    #[schema(required)]
    pub status: String,
    /// Values that were found in DNS.
    #[serde(default)]
    #[schema(required)]
    pub found: Vec<String>,
    /// What was expected and what to change.
    pub hint: Option<String>,
    /// `next` for the record of a key that will sign once it was seen, `retired` for one that signs no
    /// more.
    pub rotation: Option<String>,
}

/// A DKIM key.
#[derive(Serialize, ToSchema)]
#[schema(as = DkimKey)]
#[serde(rename_all = "camelCase")]
struct DomainKey {
    selector: String,
    algorithm: String,
    /// DNS name of the record of the key.
    name: String,
    /// `next`, `signing` or `retired`.
    state: &'static str,
    since: String,
    /// A retired key's record must stay until then.
    keep_until: Option<String>,
}

/// What the last check saw of one record.
#[derive(Deserialize)]
struct Finding {
    id: String,
    status: String,
    found: Vec<String>,
    hint: Option<String>,
}

/// A domain that was deleted.
#[derive(Serialize, ToSchema)]
pub struct DeletedDomain {
    /// `dom_…`
    #[schema(value_type = String)]
    pub id: DomainId,
    /// Its name.
    #[schema(value_type = String)]
    pub name: DomainName,
    /// Always true.
    pub deleted: bool,
}

impl DomainSummary {
    pub fn new(row: &DomainRow, rules: &DomainCheckSettings) -> Self {
        let domain = &row.domain;
        let standing = &domain.standing;
        let sends_until = match standing.phase {
            Phase::Warned => Some(standing.since.after(rules.schedule.grace).rfc3339()),
            Phase::Pending | Phase::Verified | Phase::Degraded | Phase::Failed => None,
        };
        Self {
            id: domain.id,
            account_id: domain.account_id,
            name: domain.name.clone(),
            unicode_name: shown(&domain.name),
            kind: domain.kind,
            state: standing.phase,
            since: standing.since.rfc3339(),
            verified: standing.may_send(),
            progress: standing.progress,
            missing: standing.missing.clone(),
            sends_until,
            created_at: domain.created_at.rfc3339(),
        }
    }
}

impl Domain {
    pub fn new(
        domain: store::DomainDetails,
        events: Vec<EventRow>,
        rules: &DomainCheckSettings,
    ) -> Self {
        let summary = DomainSummary::new(&domain.row, rules);
        let store::DomainDetails { row, check, keys, .. } = domain;
        let at = |at: fn(&CheckRow) -> Option<Timestamp>| {
            check.as_ref().and_then(at).map(Timestamp::rfc3339)
        };
        let details = DomainDetails {
            records: domain_records(&row, check.as_ref(), &keys),
            checked_at: at(|it| it.checked_at),
            next_check_at: at(|it| it.next_at),
            unclear_since: at(|it| it.unclear_since),
            failure: check.as_ref().and_then(|it| it.failure.clone()),
            lookups: check.map_or_else(|| Value::Array(Vec::new()), |it| it.observations),
            dkim: keys.into_iter().map(|key| DomainKey::new(&row.domain.name, key)).collect(),
            decision: row.decision,
            events: events.into_iter().map(Event::from).collect(),
            warnings: Vec::new(),
        };
        Self { summary, details }
    }

    pub fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.details.warnings = warnings;
        self
    }
}

/// The records to publish, each with what was seen of it.
pub fn domain_records(
    row: &DomainRow,
    check: Option<&CheckRow>,
    keys: &[DkimKey],
) -> Vec<DomainRecord> {
    let name_of = |key: &DkimKey| record_name(&row.domain.name, key);
    let findings: Vec<Finding> = check.map(|it| read(&it.findings)).unwrap_or_default();
    let mut records: Vec<DomainRecord> = read(&row.requirements);
    for record in &mut records {
        let finding = findings.iter().find(|it| it.id == record.id);
        record.status = finding.map_or_else(|| "unchecked".to_owned(), |it| it.status.clone());
        record.found = finding.map(|it| it.found.clone()).unwrap_or_default();
        record.hint = finding.and_then(|it| it.hint.clone());
        let key = keys.iter().find(|key| record.name == name_of(key));
        match key.map(|key| (key.phase, key.since)) {
            Some((KeyPhase::Next, _)) => record.rotation = Some("next".to_owned()),
            Some((KeyPhase::Retired, since)) => {
                record.rotation = Some("retired".to_owned());
                record.required = false;
                record.help = until(since);
            }
            Some((KeyPhase::Signing, _)) | None => {}
        }
    }
    let retired = keys.iter().filter(|key| key.phase == KeyPhase::Retired);
    let retired = retired.filter(|key| !records.iter().any(|it| it.name == name_of(key)));
    let retired: Vec<_> = retired.map(|it| retired_record(&row.domain.name, it)).collect();
    records.extend(retired);
    records
}

/// A JSON list of the database, as this server wrote it.
fn read<T: for<'de> Deserialize<'de>>(list: &Value) -> Vec<T> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|it| T::deserialize(it).ok()).collect()
}

/// The record of a key that signs no more: the policy does not know of it, and verifiers still ask.
fn retired_record(domain: &DomainName, key: &DkimKey) -> DomainRecord {
    let kind = key.algorithm.split('-').next().unwrap_or_default();
    DomainRecord {
        id: format!("dkim:{}", key.selector),
        purpose: "DKIM".to_owned(),
        required: false,
        r#type: "TXT".to_owned(),
        name: record_name(domain, key),
        value: format!("v=DKIM1; k={kind}; p={}", key.public_base64),
        help: until(key.since),
        status: "unchecked".to_owned(),
        found: Vec::new(),
        hint: None,
        rotation: Some("retired".to_owned()),
    }
}

/// The hint for the DNS record of a DKIM key that was retired at `since`: how long the record must stay.
fn until(since: Timestamp) -> String {
    let until = since.after(RETIRED_KEY_TIME).rfc3339();
    format!(
        "Mail that was signed with this key may still be under way. Leave the record until {until}."
    )
}

impl DomainKey {
    fn new(domain: &DomainName, key: DkimKey) -> Self {
        let keep_until = match key.phase {
            KeyPhase::Retired => Some(key.since.after(RETIRED_KEY_TIME).rfc3339()),
            KeyPhase::Next | KeyPhase::Signing => None,
        };
        Self {
            name: record_name(domain, &key),
            state: key.phase.as_str(),
            since: key.since.rfc3339(),
            keep_until,
            selector: key.selector,
            algorithm: key.algorithm,
        }
    }
}

/// One flat object: a derived schema would refer to the parts.
impl PartialSchema for Domain {
    fn schema() -> RefOr<Schema> {
        let (mut domain, details) = (object::<DomainSummary>(), object::<DomainDetails>());
        domain.description = Some("A sender domain.".to_owned());
        domain.properties.extend(details.properties);
        domain.required.extend(details.required);
        domain.into()
    }
}

impl ToSchema for Domain {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        DomainSummary::schemas(schemas);
        DomainDetails::schemas(schemas);
    }
}

fn object<T: PartialSchema>() -> Object {
    let RefOr::T(Schema::Object(object)) = T::schema() else { return Object::new() };
    object
}
