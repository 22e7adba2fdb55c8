//! The public key that receivers check signatures with (RFC 6376 section 3.6.1, RFC 8463).

use waxwing_plugin::dns::{Reading, Tags};
use waxwing_plugin::domain_policy::{DkimKey, Requirement};

/// The record's value for a key.
pub fn value(key: &DkimKey) -> String {
    format!("v=DKIM1; k={}; p={}", key_type(&key.algorithm), without_space(&key.public_key_base64))
}

/// Judges the TXT records at `<selector>._domainkey.<domain>`.
pub fn judge(requirement: &Requirement, key: &DkimKey, records: &[String]) -> Reading {
    let name = &requirement.name;
    let [record] = records else {
        let hint = format!(
            "There are {} TXT records at {name}, and receivers may take any of them. Keep only \
             `{}`.",
            records.len(),
            requirement.suggested_value
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
        Some(why) => Reading::wrong(
            records,
            format!("The TXT record at {name} {why}. Set it to `{}`.", requirement.suggested_value),
        ),
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
        return Some(format!("says `k={}`, but this key is `k={expected}`", brief(kind)));
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
    let wanted = without_space(&key.public_key_base64);
    if found == wanted {
        None
    } else if wanted.starts_with(&found) {
        let (have, all) = (found.len(), wanted.len());
        Some(format!(
            "has only the first {have} of {all} characters of the key; some DNS providers need a \
             long value in several quoted strings of at most 255 characters"
        ))
    } else {
        Some("has another key, perhaps that of an earlier set-up".to_owned())
    }
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
