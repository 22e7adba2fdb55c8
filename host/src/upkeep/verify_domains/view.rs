//! A domain as its holder sees it: what to publish, what was seen of it, and what comes next.

use serde_json::{Value, json};

use super::rotate::RETIRED;
use super::{Rules, keys};
use crate::clock::Timestamp;
use crate::domain::key::{DkimKey, KeyPhase};
use crate::domain::look_alike::shown;
use crate::domain::state::{Phase, SenderDomain};
use crate::store::records::EventRow;
use crate::store::sqlite::{CheckRow, DomainFile, DomainRow};

/// A line of a list.
#[must_use]
pub fn summary(row: &DomainRow, rules: &Rules) -> Value {
    let domain = &row.domain;
    let standing = &domain.standing;
    let sends_until = match standing.phase {
        Phase::Warned => Some(standing.since.after(rules.schedule.grace).rfc3339()),
        Phase::Pending | Phase::Verified | Phase::Degraded | Phase::Failed => None,
    };
    json!({
        "id": domain.id,
        "accountId": domain.account_id,
        "name": domain.name,
        "unicodeName": shown(&domain.name),
        "kind": domain.kind,
        "state": standing.phase,
        "since": standing.since.rfc3339(),
        "verified": standing.may_send(),
        "progress": standing.progress,
        "missing": standing.missing,
        "sendsUntil": sends_until,
        "createdAt": domain.created_at.rfc3339(),
    })
}

/// All of it.
#[must_use]
pub fn whole(file: &DomainFile, events: &[EventRow], rules: &Rules) -> Value {
    let DomainFile { row, check, keys } = file;
    let mut view = summary(row, rules);
    let check = check.as_ref();
    let at = |at: fn(&CheckRow) -> Option<Timestamp>| check.and_then(at).map(Timestamp::rfc3339);
    view["records"] = records(row, check, keys);
    view["dkim"] = keys.iter().map(|it| key(&row.domain, it)).collect();
    view["checkedAt"] = json!(at(|it| it.checked_at));
    view["nextCheckAt"] = json!(at(|it| it.next_at));
    view["unclearSince"] = json!(at(|it| it.unclear_since));
    view["failure"] = json!(check.and_then(|it| it.failure.as_deref()));
    view["lookups"] = check.map_or_else(|| json!([]), |it| it.observations.clone());
    view["decision"] = row.decision.clone();
    view["events"] = json!(events);
    view
}

/// The records to publish, each with what was seen of it.
fn records(row: &DomainRow, check: Option<&CheckRow>, dkim: &[DkimKey]) -> Value {
    let empty: &[Value] = &[];
    let array = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let findings = check.map(|it| array(&it.findings)).unwrap_or_default();
    let record = |mut record: Value| {
        let finding = findings.iter().find(|it| it["id"] == record["id"]);
        record["status"] = finding.map_or_else(|| json!("unchecked"), |it| it["status"].clone());
        record["found"] = finding.map_or_else(|| json!(empty), |it| it["found"].clone());
        record["hint"] = finding.map_or(Value::Null, |it| it["hint"].clone());
        let of_key =
            dkim.iter().find(|key| record["name"] == keys::record_name(&row.domain.name, key));
        record["rotation"] = match of_key.map(|key| (key.phase, key.since)) {
            Some((KeyPhase::Next, _)) => json!("next"),
            Some((KeyPhase::Retired, since)) => {
                record["required"] = json!(false);
                record["help"] = json!(until(since));
                json!("retired")
            }
            Some((KeyPhase::Signing, _)) | None => Value::Null,
        };
        record
    };
    let needed = array(&row.requirements).into_iter().map(record);
    let needed: Vec<Value> = needed.collect();
    let is_listed = |it: &Value| needed.iter().any(|listed| listed["name"] == it["name"]);
    let retired = dkim.iter().filter(|key| key.phase == KeyPhase::Retired);
    let retired: Vec<Value> =
        retired.map(|key| retired_record(&row.domain, key)).filter(|it| !is_listed(it)).collect();
    needed.into_iter().chain(retired).collect()
}

/// The record of a key that signs no more: the policy does not know of it, and verifiers still ask.
fn retired_record(domain: &SenderDomain, key: &DkimKey) -> Value {
    let kind = key.algorithm.split('-').next().unwrap_or_default();
    json!({
        "id": format!("dkim:{}", key.selector),
        "purpose": "DKIM",
        "required": false,
        "type": "TXT",
        "name": keys::record_name(&domain.name, key),
        "value": format!("v=DKIM1; k={kind}; p={}", key.public_base64),
        "help": until(key.since),
        "status": "unchecked",
        "found": [],
        "hint": null,
        "rotation": "retired",
    })
}

/// What there is to say about the record of a key that is retired since then.
fn until(since: Timestamp) -> String {
    let until = since.after(RETIRED).rfc3339();
    format!(
        "Mail that was signed with this key may still be under way. Leave the record until {until}."
    )
}

fn key(domain: &SenderDomain, key: &DkimKey) -> Value {
    let keep_until = match key.phase {
        KeyPhase::Retired => Some(key.since.after(RETIRED).rfc3339()),
        KeyPhase::Next | KeyPhase::Signing => None,
    };
    json!({
        "selector": key.selector,
        "algorithm": key.algorithm,
        "name": keys::record_name(&domain.name, key),
        "state": key.phase.word(),
        "since": key.since.rfc3339(),
        "keepUntil": keep_until,
    })
}
