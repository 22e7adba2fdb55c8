//! The style sheet and the scripts: each under a name with its digest, so that a browser keeps it for good.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::api::precompressed::Precompressed;

const STYLE: &str = include_str!("../../../templates/dashboard/app/app.css");
const LIVE: &str = include_str!("../../../templates/dashboard/app/live.js");
const PAGE: &str = include_str!("../../../templates/dashboard/app/page.js");
/// Built by `templates/dashboard/vendor/editor/build.mjs`.
const EDITOR: &str = include_str!("../../../templates/dashboard/vendor/editor/editor.min.js");
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const FOR_GOOD: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

static ASSETS: LazyLock<[Asset; 4]> = LazyLock::new(|| {
    [
        Asset::new("app", "css", "text/css; charset=utf-8", STYLE),
        Asset::new("live", "js", JAVASCRIPT, LIVE),
        Asset::new("page", "js", JAVASCRIPT, PAGE),
        Asset::new("editor", "js", JAVASCRIPT, EDITOR),
    ]
});

#[derive(Debug)]
struct Asset {
    name: String,
    text: Precompressed,
}

impl Asset {
    fn new(name: &str, ending: &str, kind: &'static str, text: &str) -> Self {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(text).get(..9).unwrap_or_default());
        let text = Precompressed::new(kind, text.to_owned());
        Self { name: format!("{name}-{digest}.{ending}"), text }
    }

    fn path(&self) -> String {
        format!("/assets/{}", self.name)
    }
}

/// Where the style sheet is.
pub fn style() -> String {
    let [style, ..] = &*ASSETS;
    style.path()
}

/// Where the script of pages that change by themselves is.
pub fn live() -> String {
    let [_, live, ..] = &*ASSETS;
    live.path()
}

/// Where the script of every page is.
pub fn page() -> String {
    let [_, _, page, _] = &*ASSETS;
    page.path()
}

/// Where the script of the editor is.
pub fn editor() -> String {
    let [.., editor] = &*ASSETS;
    editor.path()
}

pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/assets/{name}", get(asset))
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|it| it.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut response = asset.text.answer(&headers);
    response.headers_mut().insert(header::CACHE_CONTROL, FOR_GOOD);
    response
}
