//! Refuses query parameters that an operation does not know, for all operations of `/v1` at one place. One that was ignored
//! would mislead: `?account=…` at an operation that takes no account would be answered with that of the key.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{Method, Uri};

use super::problem::Problem;
use super::{body, openapi, query};
use crate::journey::accept::refusal::{Fault, Refusal};

/// Parameters that name the owner of a thing. The extractors of the account and of the author read these and no others; an
/// operation with further parameters reads all of its parameters as a [`query::Query`], which names every fault at once.
const WHOSE: [&str; 2] = ["account", "owner"];
/// Operations of templates take `owner` as those of layouts and partials do, although the owner of a template is always an
/// account, and the document does not list the parameter.
const TEMPLATES: &str = "/v1/template";

/// The names of the query parameters that the document of the API lists for an operation, by method and path.
static PARAMETERS: LazyLock<HashMap<(String, String), Vec<String>>> = LazyLock::new(parameters);

/// Passes a request on if its operation knows each query parameter, or checks the parameters by itself.
pub async fn refuse_unknown(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    match check(request.method(), path, request.uri()) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            body::drain(request.into_body()).await;
            problem.into_response()
        }
    }
}

fn check(method: &Method, path: &str, uri: &Uri) -> Result<(), Problem> {
    if uri.query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let method = if *method == Method::HEAD { Method::GET.as_str() } else { method.as_str() };
    let operation = (method.to_ascii_lowercase(), path.to_owned());
    let Some(known) = PARAMETERS.get(&operation) else { return Ok(()) };
    if known.iter().any(|it| !WHOSE.contains(&it.as_str())) {
        return Ok(());
    }
    let is_known =
        |name: &String| known.contains(name) || (name == "owner" && path.starts_with(TEMPLATES));
    let mut unknown: BTreeSet<String> =
        query::pairs(uri)?.into_iter().map(|(name, _)| name).collect();
    unknown.retain(|name| !is_known(name));
    if unknown.is_empty() {
        return Ok(());
    }
    let there_are = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let message = format!("is no parameter here; there are {there_are}");
    let faults = unknown.iter().map(|name| Fault::new(name, "unknown", &*message));
    Err(Refusal::bad_request(faults.collect()).into())
}

fn parameters() -> HashMap<(String, String), Vec<String>> {
    let document = openapi::json();
    let mut found = HashMap::new();
    for (method, path, operation) in openapi::operations(&document) {
        let all = operation["parameters"].as_array().into_iter().flatten();
        let of_query = all.filter(|it| it["in"] == "query");
        let names = of_query.filter_map(|it| it["name"].as_str().map(str::to_owned));
        found.insert((method.to_owned(), path.to_owned()), names.collect());
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(method: &Method, path: &str, query: &str) -> Option<Value> {
        let uri: Uri = format!("{path}?{query}").parse().expect("an address");
        check(method, path, &uri).err().map(|it| json!(it.body())["errors"].clone())
    }

    #[test]
    fn a_parameter_that_an_operation_would_ignore_is_refused() {
        let refused_at = |method: &Method, path: &str, query: &str| {
            let errors = refused(method, path, query).unwrap_or_default();
            let errors = errors.as_array().cloned().unwrap_or_default();
            let names = errors.iter().filter_map(|it| it["field"].as_str().map(str::to_owned));
            names.collect::<Vec<_>>()
        };
        let account = "account=acc_01ARZ3NDEKTSV4RRFFQ69G5FAV";
        for (method, path) in [
            (Method::GET, "/v1/account"),
            (Method::HEAD, "/v1/account"),
            (Method::POST, "/v1/suppressions"),
            (Method::POST, "/v1/credits/grants"),
            (Method::GET, "/v1/templates/{slug}"),
        ] {
            assert_eq!(refused_at(&method, path, account), ["account"], "{method} {path}");
        }
        for path in ["/v1/brand", "/v1/team"] {
            assert!(refused_at(&Method::GET, path, account).is_empty(), "{path}");
        }
        assert_eq!(refused_at(&Method::POST, "/v1/keys", "account=x&colour=red"), ["colour"]);
        for path in ["/v1/templates/{slug}", "/v1/layouts/{slug}", "/v1/webhooks"] {
            assert!(refused_at(&Method::GET, path, "owner=account").is_empty(), "{path}");
        }
        assert!(refused_at(&Method::GET, "/nowhere", "x=1").is_empty());
        assert!(refused_at(&Method::GET, "/v1/account", "").is_empty());
    }
}
