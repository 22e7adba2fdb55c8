//! What the dashboard's pages show and do, by operations of the API: the dashboard can do nothing that the API cannot.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use super::{json, sources, without_tests};

/// The operations of the API that stand for a page or a form of the dashboard, or why there are none.
#[derive(Debug, Clone, Copy)]
enum Covered {
    /// By these operations.
    By(&'static [&'static str]),
    /// It only asks, before a form whose request does it.
    Asks,
    /// Not at all, for that reason.
    Not(&'static str),
}

use Covered::{Asks, By, Not};

const INTRODUCTION: &str = "
## Pages of the dashboard

The dashboard shows and does nothing that a program cannot: each page stands here with the operations for the same. A page
without one is about the person at the browser, and says how.

| page | operations |
|---|---|
";

const LOG_IN: &str = "somebody logs in; a program has its key";
const OWN: &str =
    "the password, the second factor and the sessions of the person, for that person alone";
const OWN_ACCOUNTS: &str = "the accounts of the person, who alone answers an invitation, or leaves; others are removed by \
                            `DELETE /v1/team/{user}`";
const OWN_LINK: &str = "whoever has the link chooses a password";
const BROWSER: &str = "what this browser shows";

/// Each request that the dashboard's router takes.
const REQUESTS: [(&str, Covered); 133] = [
    ("GET /", Not(LOG_IN)),
    ("GET /login", Not(LOG_IN)),
    ("POST /login", Not(LOG_IN)),
    ("POST /login/code", Not(LOG_IN)),
    ("GET /login/{link}", Not(LOG_IN)),
    ("POST /login/{link}", Not(LOG_IN)),
    ("POST /logout", Not(LOG_IN)),
    ("GET /setup/{link}", Not("the first operator sets the server up, before there is a key")),
    ("POST /setup/{link}", Not("the first operator sets the server up, before there is a key")),
    ("GET /invite/{link}", Not(OWN_LINK)),
    ("POST /invite/{link}", Not(OWN_LINK)),
    ("GET /reset/{link}", Not(OWN_LINK)),
    ("POST /reset/{link}", Not(OWN_LINK)),
    ("GET /test-recipients/{link}", Not("the holder of an address agrees, and nobody else")),
    ("POST /test-recipients/{link}", Not("the holder of an address agrees, and nobody else")),
    ("GET /forgotten", Asks),
    ("POST /forgotten", By(&["POST /v1/users/{user}/reset"])),
    ("POST /theme", Not(BROWSER)),
    (
        "GET /app",
        By(&[
            "GET /v1/account",
            "GET /v1/traffic",
            "GET /v1/messages",
            "GET /v1/keys",
            "GET /v1/domains",
            "GET /v1/plans",
        ]),
    ),
    ("POST /app/account", Not(BROWSER)),
    ("GET /app/messages", By(&["GET /v1/messages"])),
    (
        "GET /app/messages/{id}",
        By(&[
            "GET /v1/messages/{id}",
            "GET /v1/messages/{id}/why",
            "GET /v1/messages/{id}/deliveries",
        ]),
    ),
    ("GET /app/messages/{id}/html", By(&["GET /v1/messages/{id}/raw"])),
    ("GET /app/messages/{id}/raw", By(&["GET /v1/messages/{id}/raw"])),
    ("POST /app/messages/{id}/cancel", By(&["POST /v1/messages/{id}/cancel"])),
    ("POST /app/messages/{id}/retry", By(&["POST /v1/messages/{id}/retry"])),
    ("POST /app/messages/{id}/resend", By(&["POST /v1/messages/{id}/resend"])),
    ("GET /app/messages.csv", By(&["GET /v1/messages"])),
    ("GET /app/refusals", By(&["GET /v1/refusals"])),
    ("GET /app/keys", By(&["GET /v1/keys"])),
    ("POST /app/keys", By(&["POST /v1/keys"])),
    ("GET /app/keys/new", Asks),
    ("GET /app/keys/{id}/deactivate", Asks),
    ("POST /app/keys/{id}/deactivate", By(&["POST /v1/keys/{key}/deactivate"])),
    ("GET /app/templates", By(&["GET /v1/templates"])),
    ("POST /app/templates", By(&["POST /v1/templates"])),
    ("GET /app/new-template", Asks),
    ("GET /app/test-recipients", By(&["GET /v1/test-recipients"])),
    ("POST /app/test-recipients", By(&["POST /v1/test-recipients"])),
    ("POST /app/test-recipients/remove", By(&["DELETE /v1/test-recipients/{address}"])),
    (
        "GET /app/templates/{slug}",
        By(&["GET /v1/templates/{slug}", "GET /v1/templates/{slug}/schema"]),
    ),
    ("POST /app/templates/{slug}/draft", By(&["PUT /v1/templates/{slug}/draft"])),
    ("POST /app/templates/{slug}/check", By(&["POST /v1/templates/{slug}/validate"])),
    ("GET /app/templates/{slug}/preview", By(&["POST /v1/templates/{slug}/preview"])),
    ("POST /app/templates/{slug}/preview", By(&["POST /v1/templates/{slug}/preview"])),
    ("POST /app/templates/{slug}/test", By(&["POST /v1/templates/{slug}/test"])),
    ("POST /app/templates/{slug}/publish", By(&["POST /v1/templates/{slug}/publish"])),
    ("POST /app/templates/{slug}/archive", By(&["POST /v1/templates/{slug}/archive"])),
    ("POST /app/templates/{slug}/duplicate", By(&["POST /v1/templates/{slug}/duplicate"])),
    ("GET /app/templates/{slug}/delete", Asks),
    ("POST /app/templates/{slug}/delete", By(&["DELETE /v1/templates/{slug}"])),
    ("GET /app/templates/{slug}/versions", By(&["GET /v1/templates/{slug}/versions"])),
    ("GET /app/templates/{slug}/diff", By(&["GET /v1/templates/{slug}/diff"])),
    ("POST /app/templates/{slug}/rollback", By(&["POST /v1/templates/{slug}/rollback"])),
    ("GET /app/profile", Not(OWN)),
    ("POST /app/profile/password", Not(OWN)),
    ("POST /app/profile/sessions/{id}/end", Not(OWN)),
    ("GET /app/profile/factor", Not(OWN)),
    ("POST /app/profile/factor", Not(OWN)),
    ("POST /app/profile/factor/remove", Not(OWN)),
    ("GET /app/accounts", Not(OWN_ACCOUNTS)),
    ("POST /app/accounts/{id}/accept", Not(OWN_ACCOUNTS)),
    ("POST /app/accounts/{id}/decline", Not(OWN_ACCOUNTS)),
    ("GET /app/accounts/{id}/leave", Asks),
    ("POST /app/accounts/{id}/leave", Not(OWN_ACCOUNTS)),
    ("GET /app/team", By(&["GET /v1/team"])),
    ("POST /app/team", By(&["POST /v1/team"])),
    ("POST /app/team/{id}/role", By(&["PATCH /v1/team/{user}"])),
    ("POST /app/team/{id}/again", By(&["POST /v1/team/{user}/invite"])),
    ("GET /app/team/{id}/remove", Asks),
    ("POST /app/team/{id}/remove", By(&["DELETE /v1/team/{user}"])),
    ("GET /app/audit", By(&["GET /v1/audit"])),
    ("GET /app/domains", By(&["GET /v1/domains", "GET /v1/account"])),
    ("POST /app/domains", By(&["POST /v1/domains"])),
    ("POST /app/domains/sender", By(&["PATCH /v1/account"])),
    ("GET /app/domains/{id}", By(&["GET /v1/domains/{domain}"])),
    ("POST /app/domains/{id}/check", By(&["POST /v1/domains/{domain}/check"])),
    ("POST /app/domains/{id}/rotate", By(&["POST /v1/domains/{domain}/rotate"])),
    ("GET /app/domains/{id}/remove", Asks),
    ("POST /app/domains/{id}/remove", By(&["DELETE /v1/domains/{domain}"])),
    ("GET /app/webhooks", By(&["GET /v1/webhooks"])),
    ("POST /app/webhooks", By(&["POST /v1/webhooks"])),
    ("GET /app/webhooks/new", Asks),
    (
        "GET /app/webhooks/{id}",
        By(&["GET /v1/webhooks/{webhook}", "GET /v1/webhooks/{webhook}/deliveries"]),
    ),
    ("POST /app/webhooks/{id}", By(&["PATCH /v1/webhooks/{webhook}"])),
    ("POST /app/webhooks/{id}/state", By(&["PATCH /v1/webhooks/{webhook}"])),
    ("POST /app/webhooks/{id}/rotate", By(&["POST /v1/webhooks/{webhook}/rotate"])),
    ("POST /app/webhooks/{id}/test", By(&["POST /v1/webhooks/{webhook}/test"])),
    ("POST /app/webhooks/{id}/replay", By(&["POST /v1/webhooks/{webhook}/replay"])),
    (
        "POST /app/webhooks/{id}/deliveries/{event}/replay",
        By(&["POST /v1/webhooks/{webhook}/deliveries/{delivery}/replay"]),
    ),
    ("GET /app/webhooks/{id}/remove", Asks),
    ("POST /app/webhooks/{id}/remove", By(&["DELETE /v1/webhooks/{webhook}"])),
    ("GET /app/credits", By(&["GET /v1/credits", "GET /v1/credits/ledger", "GET /v1/plans"])),
    ("POST /app/credits", By(&["PATCH /v1/account"])),
    ("GET /app/suppressions", By(&["GET /v1/suppressions"])),
    ("POST /app/suppressions", By(&["POST /v1/suppressions"])),
    ("POST /app/suppressions/remove", By(&["DELETE /v1/suppressions/{address}"])),
    ("POST /app/suppressions/undo", By(&["POST /v1/suppressions/restore"])),
    ("GET /app/brand", By(&["GET /v1/brand"])),
    ("POST /app/brand", By(&["PATCH /v1/brand"])),
    ("GET /app/inbox", By(&["GET /v1/messages", "GET /v1/messages/{id}/attempts"])),
    ("POST /app/acting/end", Not(BROWSER)),
    ("GET /app/verify", Not(OWN)),
    ("POST /app/verify", Not(OWN)),
    (
        "GET /ops",
        By(&[
            "GET /v1/health",
            "GET /readyz",
            "GET /metrics",
            "GET /v1/nodes",
            "GET /v1/plugins",
            "GET /v1/settings",
        ]),
    ),
    ("POST /ops/check", By(&["POST /v1/health/check"])),
    ("GET /ops/accounts", By(&["GET /v1/accounts"])),
    ("POST /ops/accounts", By(&["POST /v1/accounts"])),
    ("GET /ops/accounts/new", Asks),
    (
        "GET /ops/accounts/{id}",
        By(&["GET /v1/accounts/{account}", "GET /v1/team", "GET /v1/credits/ledger"]),
    ),
    ("POST /ops/accounts/{id}/grant", By(&["POST /v1/credits/grants"])),
    ("POST /ops/accounts/{id}/plan", By(&["PATCH /v1/accounts/{account}"])),
    ("GET /ops/accounts/{id}/suspend", Asks),
    ("POST /ops/accounts/{id}/suspend", By(&["PATCH /v1/accounts/{account}"])),
    ("POST /ops/accounts/{id}/resume", By(&["PATCH /v1/accounts/{account}"])),
    ("GET /ops/accounts/{id}/delete", Asks),
    ("POST /ops/accounts/{id}/delete", By(&["DELETE /v1/accounts/{account}"])),
    // With a key that an operator makes in an account, a program acts as the account.
    ("POST /ops/accounts/{id}/act", By(&["POST /v1/keys"])),
    ("GET /ops/audit", By(&["GET /v1/audit"])),
    ("GET /ops/plans", By(&["GET /v1/plans", "GET /v1/plugins"])),
    ("GET /ops/queue", By(&["GET /v1/queue", "GET /metrics"])),
    ("GET /ops/queue/{destination}", By(&["GET /v1/queue/why"])),
    ("POST /ops/queue/{destination}/try", By(&["POST /v1/queue/{domain}/retry"])),
    ("GET /ops/plugins", By(&["GET /v1/plugins"])),
    ("GET /ops/plugins/{slot}", By(&["GET /v1/plugins/{slot}", "GET /v1/plugins/{slot}/logs"])),
    ("GET /ops/plugins/{slot}/settings", By(&["GET /v1/plugins/{slot}/settings"])),
    ("POST /ops/plugins/{slot}/settings", By(&["PUT /v1/plugins/{slot}/settings"])),
    ("POST /ops/plugins/{slot}/shadow", By(&["POST /v1/plugins/{slot}/shadow"])),
    ("GET /ops/plugins/{slot}/{order}", Asks),
    (
        "POST /ops/plugins/{slot}/{order}",
        By(&[
            "POST /v1/plugins/{slot}/activate",
            "POST /v1/plugins/{slot}/rollback",
            "POST /v1/plugins/{slot}/disable",
        ]),
    ),
    ("GET /ops/decisions", By(&["GET /v1/decisions"])),
    ("GET /ops/decisions/{id}", By(&["GET /v1/decisions/{id}", "GET /v1/decisions/{id}/calls"])),
    ("POST /ops/decisions/{id}/replay", By(&["POST /v1/decisions/{id}/replay"])),
];

#[test]
fn every_page_of_the_dashboard_stands_beside_its_operations() {
    let routed = requests();
    assert!(routed.len() > 100, "the routes are found: {routed:?}");
    let listed = REQUESTS.iter().map(|(request, _)| (*request).to_owned());
    let listed: BTreeSet<String> = listed.collect();
    let missing: Vec<_> = routed.difference(&listed).collect();
    assert!(missing.is_empty(), "say by which operations a program does the same: {missing:?}");
    let gone: Vec<_> = listed.difference(&routed).collect();
    assert!(gone.is_empty(), "the dashboard takes no such requests: {gone:?}");
}

#[test]
fn every_operation_beside_a_page_is_in_the_document() {
    let document = json();
    let mut known = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let methods = methods.as_object().expect("methods").keys();
        known.extend(methods.map(|method| format!("{} {path}", method.to_uppercase())));
    }
    for (request, covered) in REQUESTS {
        if let By(operations) = covered {
            let unknown: Vec<_> = operations.iter().filter(|it| !known.contains(**it)).collect();
            assert!(!operations.is_empty() && unknown.is_empty(), "{request}: {unknown:?}");
        }
    }
}

/// The chapter of `host/API.md`: a row for each page, with what stands below it.
pub fn chapter() -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (request, covered) in REQUESTS {
        let said: Vec<String> = match covered {
            By(operations) => operations.iter().map(|it| format!("`{it}`")).collect(),
            Asks => continue,
            Not(reason) => vec![reason.to_owned()],
        };
        let page = page(request);
        let known = rows.iter().position(|(other, _)| *other == page);
        let at = known.unwrap_or(rows.len());
        if known.is_none() {
            rows.push((page, Vec::new()));
        }
        for one in said {
            if !rows[at].1.contains(&one) {
                rows[at].1.push(one);
            }
        }
    }
    let mut text = INTRODUCTION.to_owned();
    for (page, said) in rows {
        writeln!(text, "| `{page}` | {} |", said.join(", ")).expect("a String takes all");
    }
    text
}

/// The first two parts of the path of a request.
fn page(request: &str) -> String {
    let (_, path) = request.split_once(' ').expect("a method and a path");
    let parts: Vec<&str> = path.split('/').skip(1).take(2).collect();
    let parts = parts.into_iter().filter(|it| !it.starts_with('{'));
    format!("/{}", parts.collect::<Vec<_>>().join("/"))
}

/// All that the routers of the dashboard take, but for its files and what is answered with a refusal.
fn requests() -> BTreeSet<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut routers = sources(&source.join("dashboard"));
    routers.push(without_tests(&source.join("dashboard.rs")));
    let mut found = BTreeSet::new();
    for router in routers {
        for route in router.split(".route(").skip(1) {
            let mut texts = route.split('"');
            let path = texts.nth(1).unwrap_or_default();
            let is_page = path == "/" || !path.ends_with('/');
            if !is_page || path.contains("{*") || path.starts_with("/assets/") {
                continue;
            }
            // Handlers stand up to the next route, or the end of the router.
            let handlers = texts.next().unwrap_or_default();
            for (call, method) in [("get(", "GET"), ("post(", "POST")] {
                if handlers.contains(call) {
                    found.insert(format!("{method} {path}"));
                }
            }
        }
    }
    found
}
