//! The public key that receivers check signatures with (RFC 6376 section 3.6.1, RFC 8463).

use waxwing_plugin::dns::{Reading, Tags, quoted, slip};
use waxwing_plugin::domain_policy::{DkimKey, Requirement};

/// A key of more characters does not fit into one string of a TXT record.
const LONG: usize = 230;

/// The record's value for a key.
pub fn value(key: &DkimKey) -> String {
    format!("v=DKIM1; k={}; p={}", key_type(&key.algorithm), without_space(&key.public_key_base64))
}

/// Judges the TXT records at `<selector>._domainkey.<domain>`.
pub fn judge(requirement: &Requirement, key: &DkimKey, records: &[String]) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    let [record] = records else {
        let hint = format!(
            "There are {} TXT records at {name}, and receivers may take any of them. Remove all but \
             `{suggested_value}`.",
            records.len()
        );
        return Reading::wrong(records, hint);
    };
    match fault(record, key) {
        None if is_testing(record) => Reading::satisfied(
            records,
            "The key is right. Remove `t=y` from the record: it tells receivers that signatures \
             are only a test.",
        ),
        None => Reading::satisfied(records, "The record has the right key."),
        Some(why) => {
            let found = quoted(records);
            let why = slip(record, |it| fault(it, key).is_none())
                .map_or(why, |it| it.sentence().to_owned());
            let hint =
                format!("The TXT record {found} at {name} {why}. Set it to `{suggested_value}`.");
            Reading::wrong(records, hint)
        }
    }
}

/// What is wrong with a record, as the end of "The record …".
fn fault(record: &str, key: &DkimKey) -> Option<String> {
    let tags = match Tags::parse(record) {
        Ok(tags) => tags,
        Err(fault) => return Some(fault.sentence()),
    };
    if let Some(version) = tags.value("v")
        && (version != "DKIM1" || tags.first().is_none_or(|(name, _)| name != "v"))
    {
        return Some("must begin with exactly `v=DKIM1` if it has `v` at all".to_owned());
    }
    let Some(found) = tags.value("p").map(without_space) else {
        return Some("has no key: the tag `p=` is not there".to_owned());
    };
    if found.is_empty() {
        return Some("has an empty `p=`, which says that the key is revoked".to_owned());
    }
    let (kind, expected) = (tags.value("k").unwrap_or("rsa"), key_type(&key.algorithm));
    if kind != expected {
        let is = match tags.value("k") {
            Some(_) => format!("says `k={}`", brief(kind)),
            None => "has no `k=`, which means `k=rsa`".to_owned(),
        };
        return Some(format!("{is}, but this key is `k={expected}`"));
    }
    if let Some(hashes) = tags.value("h")
        && !lists(hashes, &["sha256"])
    {
        return Some("allows other hashes than `sha256`, which signatures use".to_owned());
    }
    if let Some(services) = tags.value("s")
        && !lists(services, &["*", "email"])
    {
        return Some("is not for e-mail: its tag `s=` names another service".to_owned());
    }
    other_key(&found, &without_space(&key.public_key_base64))
}

/// How the key that is published differs from the one that signs.
fn other_key(found: &str, wanted: &str) -> Option<String> {
    if found == wanted {
        return None;
    }
    let (have, all) = (found.len(), wanted.len());
    Some(if wanted.starts_with(found) {
        let pieces = if all > LONG {
            ". If your DNS provider takes no more than 255 characters at a time, enter the value in \
             several pieces, one after the other in the same record"
        } else {
            ""
        };
        format!("has only the first {have} of {all} characters of the key: it was cut off{pieces}")
    } else if found.starts_with(wanted) {
        format!("has {} characters behind the end of the key", have - all)
    } else if found.eq_ignore_ascii_case(wanted) {
        "has the key with other upper and lower case letters".to_owned()
    } else {
        "has another key, perhaps that of another selector or of an earlier set-up".to_owned()
    })
}

fn is_testing(record: &str) -> bool {
    Tags::parse(record).is_ok_and(|tags| tags.value("t").is_some_and(|it| lists(it, &["y"])))
}

/// Whether a colon-separated list has one of `wanted`.
fn lists(list: &str, wanted: &[&str]) -> bool {
    list.split(':').any(|it| wanted.contains(&it.trim()))
}

/// The tag `k` for the host's word: `ed25519` and `ed25519-sha256`, or any kind of RSA.
fn key_type(algorithm: &str) -> &'static str {
    if algorithm.to_ascii_lowercase().starts_with("ed25519") { "ed25519" } else { "rsa" }
}

fn without_space(base64: &str) -> String {
    base64.split_ascii_whitespace().collect()
}

fn brief(value: &str) -> String {
    value.chars().take(40).collect()
}

#[cfg(test)]
mod tests;
