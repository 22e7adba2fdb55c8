//! The API's own document, against which every answer is held.

use reqwest::Method;
use serde_json::Value;

use crate::server::Server;

impl Server {
    /// `/openapi.json`, read once a start.
    pub async fn openapi(&self) -> Result<&Value, reqwest::Error> {
        let read = || async {
            let url = format!("{}/openapi.json", self.url());
            self.http.get(url).send().await?.json().await
        };
        self.document.get_or_try_init(read).await
    }
}

/// Asserts that the document knows the status, if it knows the path and its method.
///
/// # Panics
/// It knows the path, but not that it answers so.
#[track_caller]
pub fn assert_documented(document: &Value, method: &Method, path: &str, status: u16) {
    let Some(path) = documented(document, path) else { return };
    let operation = &document["paths"][path][method.as_str().to_ascii_lowercase()];
    if let Some(responses) = operation["responses"].as_object() {
        let known = responses.contains_key(&status.to_string());
        assert!(known, "/openapi.json does not document {status} of {method} {path}");
    }
}

/// How the document calls a path: one without a place for a name comes first.
fn documented<'a>(document: &'a Value, path: &str) -> Option<&'a str> {
    let is_it = |known: &str| {
        let (mut known, mut asked) = (known.split('/'), path.split('/'));
        loop {
            match (known.next(), asked.next()) {
                (None, None) => return true,
                (Some(known), Some(asked)) if known == asked || known.starts_with('{') => {}
                (Some(_) | None, Some(_) | None) => return false,
            }
        }
    };
    let paths = document["paths"].as_object()?.keys();
    let mut fitting: Vec<&str> = paths.map(String::as_str).filter(|it| is_it(it)).collect();
    fitting.sort_by_key(|it| it.matches('{').count());
    fitting.first().copied()
}
