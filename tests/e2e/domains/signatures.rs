//! Verifies signatures with dkimpy, which we did not write. Where it is missing, CI fails.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use waxwing_tests::Domain;

use crate::fixture::run_python;

const VERIFIER: &str = include_str!("dkim.py");

/// What DNS has: names and TXT values.
pub(super) type Texts = BTreeMap<String, String>;

/// A message, and what DNS has of its domain when it arrives.
pub(super) struct Arrived {
    pub raw: Vec<u8>,
    pub texts: Texts,
}

/// What dkimpy says of one message.
#[derive(Debug)]
pub(super) struct Verified(Value);

/// The TXT records of a domain that are published when all that it shows is.
pub(super) fn texts_of(domain: &Domain) -> Texts {
    let records = domain.records().into_iter().filter(|it| it.text("type") == "TXT");
    records.map(|it| (it.name().to_owned(), it.value().to_owned())).collect()
}

/// Verifies all signatures of all messages in one run; none where dkimpy cannot be installed.
pub(super) fn verify(messages: &[Arrived]) -> Option<Vec<Verified>> {
    let python = waxwing_tools::python("DKIM signatures of sent messages, by dkimpy")?;
    let message = |it: &Arrived| json!({"raw": BASE64.encode(&it.raw), "txt": it.texts});
    let input: Value = messages.iter().map(message).collect();
    let said = run_python(&python, VERIFIER, input.to_string().as_bytes());
    let said = said.as_array().expect("a list").iter().cloned().map(Verified).collect::<Vec<_>>();
    assert_eq!(said.len(), messages.len());
    Some(said)
}

impl Verified {
    /// Both signatures are right, made by these keys, and aligned with From.
    #[track_caller]
    pub fn assert_signed_by(&self, domain: &str, selectors: &[&str]) {
        self.assert_right(domain);
        assert_eq!(self.selectors(), selectors, "{self:?}");
    }

    /// Both signatures are right and aligned with From: one of each algorithm.
    #[track_caller]
    pub fn assert_right(&self, domain: &str) {
        assert_eq!(self.0["author"], domain, "{self:?}");
        let signatures = self.0["signatures"].as_array().expect("a list");
        let algorithms: Vec<&Value> = signatures.iter().map(|it| &it["algorithm"]).collect();
        assert_eq!(algorithms, ["rsa-sha256", "ed25519-sha256"], "{self:?}");
        for signature in signatures {
            assert_eq!(
                (&signature["ok"], &signature["domain"]),
                (&json!(true), &json!(domain)),
                "{self:?}"
            );
        }
    }

    /// The selectors of its signatures, in their order.
    pub fn selectors(&self) -> Vec<&str> {
        let signatures = self.0["signatures"].as_array().expect("a list");
        signatures.iter().filter_map(|it| it["selector"].as_str()).collect()
    }

    /// Whether each signature is right.
    pub fn verdicts(&self) -> Vec<bool> {
        let signatures = self.0["signatures"].as_array().expect("a list");
        signatures.iter().map(|it| it["ok"] == true).collect()
    }

    /// The names of the fields that the first signature covers, each as often as it is listed.
    pub fn covered(&self) -> Vec<String> {
        let covered = self.0["signatures"][0]["covered"].as_str().expect("a list of fields");
        covered.split(':').map(str::to_lowercase).collect()
    }
}
