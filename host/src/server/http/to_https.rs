//! Sends browsers that come without TLS on to the port with TLS.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::header::{HOST, LOCATION};
use http::{HeaderMap, StatusCode, Uri};

const HTTPS_PORT: u16 = 443;

#[derive(Debug, Clone)]
struct Target {
    names: Arc<[String]>,
    port: u16,
}

/// All paths, to the name that was asked for where the certificate has it, else to the first one.
pub(super) fn router(names: Vec<String>, port: u16) -> Router {
    let target = Target { names: names.into(), port };
    Router::new().route("/", any(send_on)).route("/{*path}", any(send_on)).with_state(target)
}

async fn send_on(State(target): State<Target>, uri: Uri, headers: HeaderMap) -> Response {
    let host = headers.get(HOST).and_then(|it| it.to_str().ok()).unwrap_or_default();
    match target.of(host, &uri) {
        // The method stays: a form that is posted here is posted there.
        Some(location) => (StatusCode::PERMANENT_REDIRECT, [(LOCATION, location)]).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Target {
    fn of(&self, host: &str, uri: &Uri) -> Option<String> {
        let host = host.split(':').next().unwrap_or_default();
        let asked = self.names.iter().find(|it| it.eq_ignore_ascii_case(host));
        let name = asked.or_else(|| self.names.first())?;
        let port = match self.port {
            HTTPS_PORT => String::new(),
            port => format!(":{port}"),
        };
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        Some(format!("https://{name}{port}{path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_sent_on_to_a_name_of_the_certificate_and_no_other() {
        let names: Vec<String> =
            ["mail.example.net", "app.example.net"].map(str::to_owned).to_vec();
        let target = |port| Target { names: names.clone().into(), port };
        let uri: Uri = "/app?page=2".parse().expect("a path");
        let to = |host: &str, port| target(port).of(host, &uri).expect("a name");
        assert_eq!(to("app.example.net", 443), "https://app.example.net/app?page=2");
        assert_eq!(to("APP.example.net:80", 8443), "https://app.example.net:8443/app?page=2");
        assert_eq!(to("evil.example", 443), "https://mail.example.net/app?page=2");
        assert_eq!(to("", 443), "https://mail.example.net/app?page=2");
        assert_eq!(Target { names: Vec::new().into(), port: 443 }.of("a", &uri), None);
    }
}
