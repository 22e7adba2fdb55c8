//! A preview as a page: nothing in it runs, and nothing in it reaches anything but pictures of https.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};

use crate::authoring::preview::Preview;

const POLICY: &str = "sandbox; default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; font-src https:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// Whether a page is wanted rather than JSON.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accept.is_some_and(|it| it.split(',').any(|one| one.trim().starts_with("text/html")))
}

pub fn page(preview: &Preview) -> Response {
    let html = match (&preview.parts.html, &preview.parts.text) {
        (Some(html), _) => html.clone(),
        (None, Some(text)) => format!("<!doctype html><pre>{}</pre>", escaped(text)),
        (None, None) => String::new(),
    };
    let mut response = Html(html).into_response();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
