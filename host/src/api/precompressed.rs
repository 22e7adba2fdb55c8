//! A text that never changes while the server runs, compressed once for the clients that take it.

use std::io::Write;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, header};

#[derive(Debug)]
pub struct Precompressed {
    kind: &'static str,
    plain: Bytes,
    gzip: Bytes,
}

impl Precompressed {
    /// A text of that content type.
    pub fn new(kind: &'static str, text: String) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
        let gzip = Bytes::from(written.expect("memory takes what is written"));
        Self { kind, plain: Bytes::from(text), gzip }
    }

    pub fn plain(&self) -> &[u8] {
        &self.plain
    }

    /// The answer to a request with these headers.
    pub fn answer(&self, asked: &HeaderMap) -> Response {
        let (body, coding) = if takes_gzip(asked) {
            (self.gzip.clone(), Some((header::CONTENT_ENCODING, "gzip")))
        } else {
            (self.plain.clone(), None)
        };
        let fixed = [(header::CONTENT_TYPE, self.kind), (header::VARY, "accept-encoding")];
        let headers = fixed.into_iter().chain(coding);
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
        (headers.collect::<HeaderMap>(), body).into_response()
    }
}

/// Whether `gzip` is in the list, and not with a weight of 0.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    lists.flat_map(|it| it.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().trim_start_matches("q=").parse::<f32>();
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_ok_and(|it| it > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_gzip_that_takes_it() {
        let takes = |list: &'static str| {
            let list = HeaderValue::from_static(list);
            takes_gzip(&[(header::ACCEPT_ENCODING, list)].into_iter().collect())
        };
        assert!(takes("gzip") && takes("br, GZIP;q=0.5") && takes("deflate,gzip"));
        assert!(!takes("gzip;q=0") && !takes("identity") && !takes("") && !takes("x-gzip"));
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
