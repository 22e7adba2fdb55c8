//! `GET /docs`: the document of the API as a page for people. Made once from `/openapi.json`; it loads nothing from
//! elsewhere, and the filter of its list is all that needs a script.

mod example;
mod fields;
pub mod words;

use std::sync::LazyLock;

use askama::Template;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::openapi;
use super::precompressed::Precompressed;
use fields::{Field, Schemas, members};
use words::Span;

#[derive(Debug, Template)]
#[template(path = "docs.html")]
struct Page {
    about_keys: Vec<Span>,
    groups: Vec<Group>,
    /// The members of every refusal.
    problem: Vec<Field>,
}

/// The operations of one tag.
#[derive(Debug)]
struct Group {
    tag: String,
    operations: Vec<Operation>,
}

#[derive(Debug)]
struct Operation {
    id: String,
    method: String,
    path: String,
    summary: Vec<Span>,
    about: Vec<Span>,
    parameters: Vec<Field>,
    body: Option<Body>,
    answers: Vec<Answer>,
    refusals: Vec<Refusal>,
    curl: String,
}

#[derive(Debug)]
struct Body {
    kind: String,
    about: Vec<Span>,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Answer {
    status: String,
    about: Vec<Span>,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Refusal {
    status: String,
    about: Vec<Span>,
}

/// Made once, with the policy that names what stands in it by its hash.
static PAGE: LazyLock<(Precompressed, HeaderValue)> = LazyLock::new(|| {
    let page = Page::of(&openapi::json());
    let html = page.render().expect("the page writes into memory");
    let policy = policy(&html);
    let policy = HeaderValue::from_str(&policy).expect("a policy is visible ASCII");
    (Precompressed::new("text/html; charset=utf-8", html), policy)
});

/// Serves the page.
pub async fn page(headers: HeaderMap) -> Response {
    let (page, policy) = &*PAGE;
    let mut response = page.answer(&headers);
    let answered = response.headers_mut();
    answered.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
    answered.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Nothing is loaded, and only the page's own style and script apply.
fn policy(html: &str) -> String {
    let hash = |tag: &str| {
        let inside = html.split_once(&format!("<{tag}>")).map_or("", |(_, rest)| rest);
        let inside = inside.split_once(&format!("</{tag}>")).map_or("", |(inside, _)| inside);
        STANDARD.encode(Sha256::digest(inside))
    };
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hash("style"),
        hash("script"),
    )
}

impl Page {
    fn of(document: &Value) -> Self {
        let schemas = Schemas(&document["components"]["schemas"]);
        let mut groups: Vec<Group> = Vec::new();
        for (path, methods) in members(&document["paths"]) {
            for (method, operation) in members(methods) {
                let tag = operation["tags"][0].as_str().unwrap_or("health");
                let one = Operation::of(method, path, operation, schemas);
                match groups.iter_mut().find(|group| group.tag == tag) {
                    Some(group) => group.operations.push(one),
                    None => groups.push(Group { tag: tag.to_owned(), operations: vec![one] }),
                }
            }
        }
        // Sending comes first, what watches the server last.
        groups.sort_by_key(|group| (group.tag != "messages", group.tag == "health"));
        let about = document["components"]["securitySchemes"]["apiKey"]["description"].as_str();
        Self {
            about_keys: words::spans(about.unwrap_or_default()),
            groups,
            problem: schemas.fields(&document["components"]["schemas"]["Problem"]),
        }
    }
}

impl Operation {
    fn of(method: &str, path: &str, operation: &Value, schemas: Schemas<'_>) -> Self {
        let text = |name: &str| operation[name].as_str().unwrap_or_default();
        let (mut answers, mut refusals) = (Vec::new(), Vec::new());
        for (status, response) in members(&operation["responses"]) {
            let about = words::spans(response["description"].as_str().unwrap_or_default());
            let status = status.clone();
            if status.starts_with('2') {
                let content = &response["content"]["application/json"]["schema"];
                answers.push(Answer { status, about, fields: schemas.fields(content) });
            } else {
                refusals.push(Refusal { status, about });
            }
        }
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let body = members(&operation["requestBody"]["content"]).next();
        let about =
            text("description").strip_prefix(text("summary")).unwrap_or(text("description"));
        let id = match text("operationId") {
            "" => format!("{method}{}", path.replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
            id => id.to_owned(),
        };
        Self {
            id,
            curl: example::curl(method, path, operation, schemas),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: words::spans(text("summary").trim_end_matches('.')),
            about: words::spans(about.trim()),
            parameters: parameters.map(|it| schemas.parameter(it)).collect(),
            body: body.map(|(kind, content)| Body {
                kind: kind.clone(),
                about: words::spans(schemas.about(&content["schema"])),
                fields: schemas.fields(&content["schema"]),
            }),
            answers,
            refusals,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn html() -> String {
        String::from_utf8(PAGE.0.plain().to_vec()).expect("UTF-8")
    }

    #[test]
    fn the_page_has_every_operation_with_a_curl_and_all_of_its_statuses() {
        let document = openapi::json();
        let page = Page::of(&document);
        let operations: Vec<&Operation> =
            page.groups.iter().flat_map(|it| &it.operations).collect();
        let mut count = 0;
        for (path, methods) in members(&document["paths"]) {
            for (method, operation) in members(methods) {
                count += 1;
                let is_it =
                    |it: &&&Operation| it.path == *path && it.method == method.to_uppercase();
                let one = operations.iter().find(is_it).expect("it is on the page");
                assert_eq!(
                    one.answers.len() + one.refusals.len(),
                    operation["responses"].as_object().map_or(0, Map::len),
                    "{method} {path}"
                );
                assert!(one.curl.starts_with("curl -sS"), "{}", one.curl);
                let has_body = !operation["requestBody"].is_null();
                assert_eq!(one.body.is_some(), has_body, "{method} {path}");
                assert_eq!(one.curl.contains("content-type"), has_body, "{}", one.curl);
            }
        }
        assert_eq!(operations.len(), count);
        let mut ids: Vec<&str> = operations.iter().map(|it| it.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "every operation has an anchor of its own");
    }

    #[test]
    fn the_page_loads_nothing_and_allows_its_own_style_and_script_only() {
        let html = html();
        for outside in
            ["<img", "<iframe", "<script ", "src=\"", "url(", "@import", "onclick", " style=\""]
        {
            assert!(!html.contains(outside), "{outside}");
        }
        assert_eq!((html.matches("<style>").count(), html.matches("<script>").count()), (1, 1));
        let policy = PAGE.1.to_str().expect("ASCII");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        let empty = STANDARD.encode(Sha256::digest(""));
        assert!(!policy.contains(&empty), "{policy}");
    }

    #[test]
    fn a_body_shows_its_fields_with_type_and_what_they_are_for() {
        let page = Page::of(&openapi::json());
        let mut operations = page.groups.iter().flat_map(|it| &it.operations);
        let send = operations.find(|it| it.path == "/messages/send").expect("sending");
        let body = send.body.as_ref().expect("a body");
        let to = body.fields.iter().find(|it| it.name == "to").expect("a field");
        assert!(to.is_required && to.kind == "string" && !to.about.is_empty(), "{to:?}");
        assert!(send.curl.contains("\"template\": \"verification-code\""), "{}", send.curl);
        assert!(send.refusals.iter().any(|it| it.status == "402"));
    }
}
