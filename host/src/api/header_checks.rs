//! Refuses requests with an ambiguous Host header or an encoded body, before anything else reads them.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::uri::Authority;
use http::{HeaderValue, StatusCode, Version, header};

use super::body;
use super::problem::{Code, Problem};

/// Lets requests through whose head is unambiguous and whose body can be read. Two front ends that take
/// different ones of two `Host` lines would send one request to two places (RFC 9112, section 3.2).
pub async fn well_formed(request: Request, next: Next) -> Response {
    let problem = if !has_one_host(&request) {
        let message = "send one Host header: a host, optionally a port";
        Problem::new(Code::BadRequest, message)
    } else if is_encoded(&request) {
        let message = "a body is taken as it is; send it without Content-Encoding";
        Problem::new(Code::UnsupportedMediaType, message)
    } else {
        return next.run(request).await;
    };
    body::drain(request.into_body()).await;
    let mut response = problem.into_response();
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        // What would be taken (RFC 9110, section 12.5.3).
        let identity = HeaderValue::from_static("identity");
        response.headers_mut().insert(header::ACCEPT_ENCODING, identity);
    }
    response
}

fn has_one_host(request: &Request) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => {
            host.is_empty()
                || Authority::try_from(host.as_bytes()).is_ok_and(|it| !it.as_str().contains('@'))
        }
        (None, _) => request.version() < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    }
}

fn is_encoded(request: &Request) -> bool {
    let mut encodings = request.headers().get_all(header::CONTENT_ENCODING).iter();
    encodings.any(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity"))
}
