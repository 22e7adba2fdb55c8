//! What the CA is answered over HTTP (RFC 8555 section 8.3): for the tokens of orders under way, and for nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;

const PATH: &str = "/.well-known/acme-challenge/{token}";

/// Tokens, each with its key authorization.
#[derive(Debug, Clone, Default)]
pub struct Challenges(Arc<Mutex<BTreeMap<String, String>>>);

impl Challenges {
    pub fn put(&self, token: &str, authorization: &str) {
        self.all().insert(token.to_owned(), authorization.to_owned());
    }

    /// The order is over.
    pub fn clear(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The route that the CA asks.
pub fn router(challenges: Challenges) -> Router {
    Router::new().route(PATH, get(answer)).with_state(challenges)
}

async fn answer(State(challenges): State<Challenges>, Path(token): Path<String>) -> Response {
    let authorization = challenges.all().get(&token).cloned();
    match authorization {
        Some(authorization) => {
            ([(CONTENT_TYPE, "application/octet-stream")], authorization).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
