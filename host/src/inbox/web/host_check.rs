//! Lets in only requests that name this machine, against DNS rebinding: a web site whose name
//! resolves to 127.0.0.1 still sends its own name as the host.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::response::ResponseFormat;

/// Refuses every host but `localhost`, `*.localhost` and loopback addresses.
pub async fn only_this_machine(request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|value| value.to_str().ok());
    if host.is_some_and(names_this_machine) {
        return next.run(request).await;
    }
    ResponseFormat::wanted(request.headers())
        .forbidden("the inbox answers only to localhost and loopback addresses")
        .into_response()
}

fn names_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    if authority.as_str().contains('@') {
        return false;
    }
    let name = authority.host().to_ascii_lowercase();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.9.9.9", "[::1]:80", "a.localhost"]
        {
            assert!(names_this_machine(host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "localhost.example.com",
            "notlocalhost",
            "127.0.0.1.example.com",
            "10.0.0.1",
            "0.0.0.0",
            "[2001:db8::1]",
            "localhost@example.com",
            "a b",
        ] {
            assert!(!names_this_machine(host), "{host}");
        }
    }
}
