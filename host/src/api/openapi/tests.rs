//! `host/API.md` is its table of endpoints, pages and codes.

mod pages;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::*;
use crate::generated_docs::assert_up_to_date;

const INTRODUCTION: &str = "\
# HTTP API

`/openapi.json` has every field. `x-api-key` names the caller; the scope of the key says what it may do. Every refusal is
one flat `application/problem+json` with a `code`, all faults at once (`errors`), and a `requestId` that the log has too.
A query parameter that an operation of `/v1` does not know is 400, and never ignored.

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

const FAULTS_INTRODUCTION: &str = "
## Codes of `errors`

Each member of `errors` has `field`, `code` and `message`; more of them may come. Faults that a renderer or another plugin finds
in the data, and those of a template's source, have the plugin's codes and those of
[what publishing warns of](../templates/email/README.md#what-publishing-warns-of).

| code | what is wrong with the field |
|---|---|
";

/// Each code of a fault that the server finds by itself.
const FAULTS: [(&str, &str); 24] = [
    ("archived", "The template was archived."),
    ("empty", "There are no items."),
    ("empty_message", "The rendered message has nothing to show."),
    ("empty_subject", "The rendered subject is empty."),
    ("forbidden", "The key may not set it."),
    ("format", "It is not of the format that the template declares, as `date` or `money`."),
    ("invalid", "Its value is not one of those that `message` names."),
    ("malformed_json", "It is not JSON."),
    ("malformed_mime", "Its parts are not closed or not encoded as they say (SMTP)."),
    ("missing", "It must be given."),
    ("missing_sender", "The account has no sender to write to the address from."),
    ("more", "The first faults are listed; `message` says how many there are beside them."),
    ("nul", "It has a NUL character."),
    ("past", "The time is in the past."),
    ("refused", "It was looked at and refused; `message` says why."),
    ("repeated", "It is given more than once."),
    ("too_far", "The time is too far ahead."),
    ("too_large", "It has too many bytes."),
    ("too_long", "It has too many characters."),
    ("too_many", "It has too many items."),
    (
        "too_much_work",
        "With this data the template needs more time or memory than the server allows.",
    ),
    ("type", "It is of another type than wanted."),
    ("unexpected", "It must not be given here."),
    ("unknown", "There is no such field, template or value."),
];

/// The second argument of each call of a function of that name, where it is a text.
fn codes_in<'a>(source: &'a str, call: &str) -> Vec<&'a str> {
    let after = |at: usize| source.get(at + call.len()..).unwrap_or_default();
    let calls = source.match_indices(call).map(|(at, _)| after(at));
    let codes = calls.filter_map(|arguments| {
        let (mut depth, mut in_text) = (0, false);
        let comma = arguments.char_indices().find(|&(_, c)| {
            match c {
                '"' => in_text = !in_text,
                '(' | '[' | '{' if !in_text => depth += 1,
                ')' | ']' | '}' if !in_text => depth -= 1,
                _ => {}
            }
            (c == ',' && depth == 0 && !in_text) || depth < 0
        })?;
        let second = arguments.get(comma.0 + 1..)?.trim_start().strip_prefix('"')?;
        second.split_once('"').map(|(code, _)| code)
    });
    codes.collect()
}

#[test]
fn every_code_of_a_fault_is_in_the_table_and_no_other() {
    let (mut found, mut texts) = (BTreeSet::new(), BTreeSet::new());
    for folder in ["api", "authoring", "journey", "management", "relay", "template"] {
        for source in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder)) {
            for call in ["Fault::new(", "Refusal::fault(", ".fault("] {
                found.extend(codes_in(&source, call).into_iter().map(str::to_owned));
            }
            texts.extend(source.split('"').skip(1).step_by(2).map(str::to_owned));
        }
    }
    let listed: BTreeSet<String> = FAULTS.iter().map(|(code, _)| (*code).to_owned()).collect();
    let unlisted: Vec<_> = found.difference(&listed).collect();
    assert!(unlisted.is_empty(), "not in the table: {unlisted:?}");
    let unknown: Vec<_> = listed.difference(&texts).collect();
    assert!(unknown.is_empty(), "nowhere in the code: {unknown:?}");
}

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
    text.push_str(&pages::chapter());
    text.push_str(
        "\n## Codes\n\n| code | status | what happened | what to do |\n|---|---|---|---|\n",
    );
    for (code, status, what, remedy) in CODES {
        let row = format!("| `{code}` | {status} | {what} | {remedy} |\n");
        text.write_str(&row).expect("a String takes all");
    }
    text.push_str(FAULTS_INTRODUCTION);
    for (code, what) in FAULTS {
        text.write_str(&format!("| `{code}` | {what} |\n")).expect("a String takes all");
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
    let mut all = sources(&root.join("api"));
    all.push(without_tests(&root.join("journey/accept/refusal.rs")));
    let is_code =
        |it: &&str| it.len() > 4 && it.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let mut codes = BTreeSet::new();
    for source in all {
        codes.extend(source.split('"').skip(1).step_by(2).filter(is_code).map(str::to_owned));
    }
    let listed: BTreeSet<String> = CODES.iter().map(|(code, ..)| (*code).to_owned()).collect();
    // serde's word for this form.
    codes.remove("SCREAMING_SNAKE_CASE");
    assert_eq!(codes, listed);
}

/// The sources of a folder, without what only describes the API, and without tests.
fn sources(folder: &Path) -> Vec<String> {
    let (mut sources, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if ["openapi", "shapes", "tests"].iter().any(|it| path.ends_with(it)) => {}
                true => folders.push(path),
                false if path.ends_with("tests.rs") => {}
                false => sources.push(without_tests(&path)),
            }
        }
    }
    sources
}

fn without_tests(file: &Path) -> String {
    let source = fs::read_to_string(file).expect("a source");
    source.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}
