//! Every operation of `/openapi.json` that takes a key, as a request that somebody could make.

use std::fmt;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Answer, HalfSent, Server};

use super::text;
use crate::fixture::message;

/// A partial that is there.
const PARTIAL: &str = "farewell";

/// A zip file with nothing in it.
const EMPTY_ZIP: [u8; 22] = *b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// An operation, with a path that leads to things that are there.
#[derive(Debug, Clone)]
pub struct Operation {
    pub method: Method,
    /// As the document writes it, with `?owner=server` or `?account=…` where the operation has that form too.
    pub known_as: String,
    path: String,
    body: Option<Value>,
}

/// What operations are about.
#[derive(Debug, Clone)]
pub struct Things {
    pub message: String,
    pub webhook: String,
    pub domain: String,
    /// A key that nobody calls with, and the account of both.
    pub key: String,
    pub account: String,
    /// A member of the account.
    pub user: String,
}

impl Things {
    /// A message, a webhook, a domain and a member of a key's account.
    pub async fn of(server: &Server, key: &str) -> Self {
        let account_key = key;
        let message = server.send(key, &message("ada@example.com")).await.message_id();
        let webhook = json!({"url": "https://hooks.example/waxwing"});
        let webhook = server.post("/v1/webhooks", key, &webhook, &[]).await;
        assert_eq!(webhook.status, 201, "{}", webhook.body);
        let domain = "sandbox.test".to_owned();
        let spare = server.post("/v1/keys", key, &json!({"name": "Spare"}), &[]).await;
        assert_eq!(spare.status, 201, "{}", spare.body);
        let (key, account) = (text(&spare.body["id"]), text(&spare.body["accountId"]));
        let partial = json!({"slug": PARTIAL, "draft": {"html": "<p>Bye</p>"}});
        let publish = format!("/v1/partials/{PARTIAL}/publish");
        for (path, body) in [("/v1/partials", partial), (&publish, json!({}))] {
            let answer = server.post(path, account_key, &body, &[]).await;
            assert!(answer.status < 300, "{}", answer.body);
        }
        let member = ["--email", "member@example.com", "--account", &account, "--role", "member"];
        let user = text(&server.cli(&[&["user", "add"][..], &member].concat())["id"]);
        Self { message, webhook: text(&webhook.body["id"]), domain, key, account, user }
    }
}

impl Operation {
    /// All that the document lists, each with a body that it would take.
    pub async fn all(server: &Server, things: &Things) -> Vec<Self> {
        let document = server.openapi().await.expect("the document is there");
        let mut operations = Vec::new();
        for (known_as, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                let takes_a_key = operation["security"].as_array().is_some_and(|it| !it.is_empty());
                let is_open = ["/healthz", "/readyz", "/metrics", "/openapi.json"];
                assert_eq!(takes_a_key, !is_open.contains(&known_as.as_str()), "{known_as}");
                if !takes_a_key {
                    continue;
                }
                let method = method.to_uppercase().parse().expect("a method");
                let one = Self::new(method, known_as, things);
                let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
                let has = |name: &str| {
                    parameters.iter().any(|it| it["name"] == name && it["in"] == "query")
                };
                if has("owner") {
                    operations.push(one.with_query("owner=server"));
                }
                if has("account") {
                    operations.push(one.with_query(&format!("account={}", things.account)));
                }
                operations.push(one);
            }
        }
        assert!(operations.len() > 40, "the document has all of them: {}", operations.len());
        operations
    }

    fn new(method: Method, known_as: &str, things: &Things) -> Self {
        let slug = match known_as.split('/').nth(2) {
            Some("layouts") => "base",
            Some("partials") => PARTIAL,
            _ => "verification-code",
        };
        let path = known_as
            .replace("{id}", &things.message)
            .replace("{webhook}", &things.webhook)
            .replace("{domain}", &things.domain)
            .replace("{key}", &things.key)
            .replace("{account}", &things.account)
            .replace("{user}", &things.user)
            .replace("{delivery}", "evt_01ARZ3NDEKTSV4RRFFQ69G5FAV")
            .replace("{address}", "gone@example.com")
            .replace("{slug}", slug)
            .replace("{revision}", "1")
            .replace("{slot}", "liquid-renderer");
        assert!(!path.contains('{'), "{known_as}: say here what its names stand for");
        let path = match known_as {
            "/v1/queue/why" => format!("{path}?message={}", things.message),
            _ if path.ends_with("/shadow") => path + "?calls=1",
            _ => path,
        };
        let address = json!({"address": "gone@example.com"});
        let body = match (method.as_str(), known_as) {
            ("POST", "/messages/send") => Some(message("ada@example.com")),
            ("POST", "/messages/send/batch") => Some(json!([message("ada@example.com")])),
            (
                "PATCH",
                "/v1/brand" | "/v1/account" | "/v1/accounts/{account}" | "/v1/keys/{key}",
            )
            | ("POST", "/v1/users/{user}/reset")
            | ("PUT", "/v1/plugins/{slot}/settings") => Some(json!({})),
            ("POST", "/v1/keys") => Some(json!({"name": "Made"})),
            ("POST", "/v1/accounts") => Some(json!({"name": "Opened"})),
            ("POST", "/v1/team") => Some(json!({"email": "invited@example.com", "role": "member"})),
            ("POST", "/v1/users") => {
                let email = "invited@example.com";
                Some(json!({"email": email, "account": things.account, "role": "member"}))
            }
            ("PUT", "/v1/maintenance") => Some(json!({"readOnly": false})),
            ("PATCH", "/v1/team/{user}") | ("PUT", "/v1/users/{user}/roles/{account}") => {
                Some(json!({"role": "member"}))
            }
            ("POST", "/v1/credits/grants") => {
                Some(json!({"accountId": things.account, "amount": 1}))
            }
            ("POST", "/v1/templates") => {
                Some(json!({"slug": "made", "draft": {"subject": "s", "text": "t"}}))
            }
            ("POST", "/v1/layouts" | "/v1/partials") => {
                Some(json!({"slug": "made", "draft": {"html": "x"}}))
            }
            ("PATCH", path) if path.ends_with("/{slug}") => Some(json!({})),
            ("PUT", "/v1/templates/{slug}/draft") => Some(json!({"subject": "s", "text": "t"})),
            ("PUT", path) if path.ends_with("/draft") => Some(json!({"html": "x"})),
            ("POST", path) if path.ends_with("/{slug}/rollback") => Some(json!({"revision": 1})),
            ("POST", path) if path.ends_with("/{slug}/duplicate") => Some(json!({"slug": "copy"})),
            ("POST", path) if path.ends_with("/{slug}/test") => {
                Some(json!({"to": ["ada@example.com"]}))
            }
            ("POST", path) if path.contains("/{slug}/") => Some(json!({})),
            ("POST", "/v1/domains") => Some(json!({"name": "new.example", "sandbox": true})),
            ("POST", "/v1/suppressions" | "/v1/test-recipients") => Some(address),
            ("POST", "/v1/suppressions/restore") => Some(json!({"undo": "nothing"})),
            ("POST", "/v1/suppressions/batch") => Some(json!({"data": [address]})),
            ("POST", "/v1/webhooks") => Some(json!({"url": "https://hooks.example/new"})),
            ("PATCH", "/v1/webhooks/{webhook}") => Some(json!({"description": "changed"})),
            ("POST", "/v1/webhooks/{webhook}/replay") => {
                Some(json!({"since": "2026-01-01T00:00:00Z"}))
            }
            _ => None,
        };
        Self { method, known_as: known_as.to_owned(), path, body }
    }

    /// The form of the operation that has that query, too.
    pub fn with_query(&self, query: &str) -> Self {
        let with = |path: &str| {
            let sign = if path.contains('?') { '&' } else { '?' };
            format!("{path}{sign}{query}")
        };
        Self { known_as: with(&self.known_as), path: with(&self.path), ..self.clone() }
    }

    /// Whether it is the server's operator who asks, and not the holder of an account.
    pub fn is_for_the_server(&self) -> bool {
        let path = self.known_as.as_str();
        let roots = [
            "/v1/plugins",
            "/v1/decisions",
            "/v1/metrics",
            "/v1/queue",
            "/v1/nodes",
            "/v1/settings",
            "/v1/health",
            "/v1/maintenance",
            "/v1/accounts",
            "/v1/credits/grants",
            "/v1/users",
            "/v1/audit",
        ];
        roots.iter().any(|root| path.starts_with(root)) || path.contains('?')
    }

    /// Whether it is about templates, layouts or partials.
    pub fn is_of_templates(&self) -> bool {
        let roots = ["/v1/templates", "/v1/layouts", "/v1/partials", "/v1/template-archive"];
        roots.iter().any(|root| self.known_as.starts_with(root))
    }

    /// Whether it shows what an author's draft would do, and changes nothing.
    pub fn tries(&self) -> bool {
        ["/preview", "/validate", "/test"].iter().any(|end| self.known_as.ends_with(end))
    }

    /// Makes the request with a key.
    pub async fn with(&self, server: &Server, key: &str) -> Answer {
        let request = server.request(self.method.clone(), &self.path).header("x-api-key", key);
        server
            .answer(match self.content() {
                Some((kind, body)) => request.header("content-type", kind).body(body),
                None => request,
            })
            .await
    }

    /// Makes the request but for its body; none where the operation reads no body.
    pub async fn begin_with(&self, server: &Server, key: &str) -> Option<HalfSent> {
        let (kind, body) = self.content()?;
        let headers = [("x-api-key", key), ("content-type", kind)];
        server.begin(&format!("{} {}", self.method, self.path), &headers, &body).await
    }

    /// The body with its media type.
    fn content(&self) -> Option<(&'static str, Vec<u8>)> {
        match &self.body {
            Some(body) => Some(("application/json", body.to_string().into_bytes())),
            None if self.takes_a_component() => {
                Some(("application/wasm", b"no component".to_vec()))
            }
            None if self.takes_a_zip() => Some(("application/zip", EMPTY_ZIP.to_vec())),
            None => None,
        }
    }

    fn takes_a_zip(&self) -> bool {
        self.method == Method::POST && self.known_as.starts_with("/v1/template-archive")
    }

    fn takes_a_component(&self) -> bool {
        let path = self.known_as.as_str();
        path.ends_with("/component") || path.ends_with("/impact")
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.known_as)
    }
}
