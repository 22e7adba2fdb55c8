//! `host/API.md` is its table of endpoints and codes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::generated_docs::assert_up_to_date;

const INTRODUCTION: &str = "\
# HTTP API

`/openapi.json` has every field. `x-api-key` names the caller; the scope of the key says what it may do. Every refusal is
one flat `application/problem+json` with a `code`, all faults at once (`errors`), and a `requestId` that the log has too.

This file is written by `WAXWING_WRITE=1 cargo test --workspace --lib api::openapi`.

## Endpoints

| request | what it does | statuses |
|---|---|---|
";

const CODES: [(&str, &str, &str, &str); 16] = [
    (
        "BAD_REQUEST",
        "400",
        "The request has faults; `errors` names each with its field.",
        "Fix them; the same request fails again.",
    ),
    (
        "UNAUTHORIZED",
        "401",
        "The key is missing, unknown, expired or switched off.",
        "Send a valid key.",
    ),
    (
        "INSUFFICIENT_BALANCE",
        "402",
        "The account has too few credits; `required` and `creditsRemaining` say how many.",
        "Buy or grant credits, then repeat.",
    ),
    (
        "DOMAIN_NOT_VERIFIED",
        "403",
        "The sender's domain is not verified for this account.",
        "Publish its records, then check the domain.",
    ),
    (
        "RESTRICTED_TEMPLATE",
        "403",
        "The account's plan does not include the template.",
        "Change the plan or the template.",
    ),
    (
        "FORBIDDEN",
        "403",
        "The key lacks the scope, or the account, the plan policy or a test key does not allow the request.",
        "`message` says what is missing.",
    ),
    ("NOT_FOUND", "404", "There is no such thing, or the key may not see it.", "Check the id."),
    ("METHOD_NOT_ALLOWED", "405", "The path has other methods.", "`Allow` names them."),
    ("REQUEST_TIMEOUT", "408", "The body did not arrive in time.", "Repeat over a better line."),
    (
        "CONFLICT",
        "409",
        "The state forbids the change, or a request with the same idempotency key is under way.",
        "Look at the state; repeat later.",
    ),
    ("PAYLOAD_TOO_LARGE", "413", "The body is larger than `limits.body_bytes`.", "Send less."),
    (
        "UNSUPPORTED_MEDIA_TYPE",
        "415",
        "The body is not `application/json`, or is compressed.",
        "Send plain JSON.",
    ),
    (
        "IDEMPOTENCY_CONFLICT",
        "422",
        "The idempotency key was used for another request.",
        "Take a new key for a new request.",
    ),
    (
        "RATE_LIMITED",
        "429",
        "Too many requests, or too many failed logins from this address.",
        "Wait for `Retry-After`.",
    ),
    (
        "INTERNAL",
        "500",
        "The template, a plugin or the server is at fault; nothing was charged.",
        "Give `requestId` to the operator.",
    ),
    (
        "UNAVAILABLE",
        "503",
        "The store, a plugin or memory is not available now; nothing was charged.",
        "Repeat after `Retry-After`, with the same idempotency key.",
    ),
];

#[test]
fn layouts_and_partials_have_no_scopes_of_their_own() {
    let text = json().to_string();
    assert!(text.contains("scope `templates`"));
    for wrong in [
        "scope `layouts`",
        "scope `partials`",
        "its sends are refused until it is published or rolled back.\",\"operationId\":\"archive_layout",
    ] {
        assert!(!text.contains(wrong), "{wrong}");
    }
    let archived = &json()["paths"]["/v1/partials/{slug}/archive"]["post"]["summary"];
    assert!(archived.as_str().is_some_and(|it| it.contains("no new version")), "{archived}");
}

#[test]
fn the_table_of_the_api_is_what_the_document_says() {
    assert_up_to_date("API.md", &table(), "api::openapi");
}

fn table() -> String {
    let document = json();
    let mut text = INTRODUCTION.to_owned();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let Some(responses) = operation["responses"].as_object() else { continue };
            let summary = operation["summary"].as_str().unwrap_or_default().replace('\n', " ");
            let summary = summary.trim_end_matches('.');
            let statuses: Vec<&str> = responses.keys().map(String::as_str).collect();
            let request = format!("{} {path}", method.to_uppercase());
            let row = format!("| `{request}` | {summary} | {} |\n", statuses.join(" "));
            text.write_str(&row).expect("a String takes all");
        }
    }
    text.push_str(
        "\n## Codes\n\n| code | status | what happened | what to do |\n|---|---|---|---|\n",
    );
    for (code, status, what, remedy) in CODES {
        let row = format!("| `{code}` | {status} | {what} | {remedy} |\n");
        text.write_str(&row).expect("a String takes all");
    }
    text
}

#[test]
fn no_get_documents_a_refusal_of_a_body_or_of_a_change() {
    let document = json();
    let paths = document["paths"].as_object().expect("paths");
    for (path, methods) in paths {
        let Some(responses) = methods["get"]["responses"].as_object() else { continue };
        for status in ["408", "409", "413", "415"] {
            assert!(!responses.contains_key(status), "GET {path}: {status}");
        }
    }
}

/// What the code says: the words of `problem::Code`, and those of refusals.
#[test]
fn every_code_that_a_problem_can_have_is_in_the_table_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<PathBuf> = vec![root.join("journey/accept/refusal.rs")];
    let mut folders = vec![root.join("api")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if path.ends_with("openapi") || path.ends_with("shapes") => {}
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    let is_code =
        |it: &&str| it.len() > 4 && it.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let mut codes = BTreeSet::new();
    for file in files {
        let source = fs::read_to_string(file).expect("a source");
        let source = source.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        codes.extend(source.split('"').skip(1).step_by(2).filter(is_code).map(str::to_owned));
    }
    let listed: BTreeSet<String> = CODES.iter().map(|(code, ..)| (*code).to_owned()).collect();
    // serde's word for this form.
    codes.remove("SCREAMING_SNAKE_CASE");
    assert_eq!(codes, listed);
}
