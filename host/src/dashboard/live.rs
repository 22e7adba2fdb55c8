//! Parts of pages that change by themselves. The page's script (`live.js`) asks for the part again, at the same address
//! with what it shows in `live`; where nothing has changed the answer has no body.

use std::convert::Infallible;
use std::fmt::Display;

use askama::Template;
use axum::extract::FromRequestParts;
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use super::form::{self, Form};
use super::response::{Failure, page};

/// Seconds between two questions while something is under way, and else.
const SOON: u32 = 3;
const LATER: u32 = 60;
/// What the script sends.
const ASKED: HeaderName = HeaderName::from_static("x-live");

/// Whether a request asks for the part alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Page,
    Part,
}

/// How a part of a page asks for itself again.
#[derive(Debug)]
pub struct Live {
    /// Where, with what the page shows; empty where it never asks.
    pub url: String,
    pub every: u32,
    pub script: String,
    digest: String,
}

impl Live {
    /// Of a page at `path` with its other query parameters; `shown` is what of it may change. Without a path it never
    /// asks.
    pub fn new(
        path: Option<&str>,
        query: &[(&str, &str)],
        shown: impl IntoIterator<Item: Display>,
        is_under_way: bool,
    ) -> Self {
        let mut hash = Sha256::new();
        for it in shown {
            hash.update(it.to_string());
            hash.update([0]);
        }
        let digest = URL_SAFE_NO_PAD.encode(hash.finalize().get(..9).unwrap_or_default());
        let pairs = query.iter().copied().chain([("live", digest.as_str())]);
        Self {
            url: path.map_or_else(String::new, |path| format!("{path}?{}", form::query(pairs))),
            every: if is_under_way { SOON } else { LATER },
            script: super::assets::live(),
            digest,
        }
    }

    /// The page; the part of it; or that the part is what `sent` has.
    pub fn answer(
        &self,
        asked: Asked,
        sent: &Form,
        (whole, part): (&impl Template, &impl Template),
    ) -> Result<Response, Failure> {
        let mut response = match asked {
            Asked::Page => page(whole)?,
            Asked::Part if sent.get("live") == self.digest => {
                StatusCode::NO_CONTENT.into_response()
            }
            Asked::Part => Html(part.render().map_err(|_| Failure::Internal)?).into_response(),
        };
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("x-live"));
        Ok(response)
    }
}

impl Asked {
    pub fn of(parts: &Parts) -> Self {
        if parts.headers.contains_key(ASKED) { Self::Part } else { Self::Page }
    }
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}
