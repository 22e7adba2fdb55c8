//! The answers to a CA for orders under way, and what it is answered over HTTP (RFC 8555 section 8.3).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use rustls::sign::CertifiedKey;

const PATH: &str = "/.well-known/acme-challenge/{token}";

/// The answers to challenges.
#[derive(Debug, Clone, Default)]
pub struct Challenges(Arc<Mutex<Answers>>);

#[derive(Debug, Default)]
struct Answers {
    /// Tokens, each with its key authorization.
    authorizations: BTreeMap<String, String>,
    /// Names, each with the certificate that proves it.
    certificates: BTreeMap<String, Arc<CertifiedKey>>,
}

impl Challenges {
    pub fn put(&self, token: &str, authorization: &str) {
        self.answers().authorizations.insert(token.to_owned(), authorization.to_owned());
    }

    pub fn put_certificate(&self, name: &str, certificate: CertifiedKey) {
        self.answers().certificates.insert(name.to_owned(), Arc::new(certificate));
    }

    #[must_use]
    pub fn certificate(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        self.answers().certificates.get(name).cloned()
    }

    #[must_use]
    pub fn authorization(&self, token: &str) -> Option<String> {
        self.answers().authorizations.get(token).cloned()
    }

    /// The order is over.
    pub fn clear(&self) {
        *self.answers() = Answers::default();
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The route that the CA asks.
pub fn router(challenges: Challenges) -> Router {
    Router::new().route(PATH, get(answer)).with_state(challenges)
}

async fn answer(State(challenges): State<Challenges>, Path(token): Path<String>) -> Response {
    match challenges.authorization(&token) {
        Some(authorization) => {
            ([(CONTENT_TYPE, "application/octet-stream")], authorization).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
