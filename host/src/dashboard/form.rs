//! Forms as browsers send them, bounded in size and time.

use std::time::Duration;

use axum::body::Body;
use http_body_util::{BodyExt, Limited};

use super::response::Failure;

/// No form of a page is larger, but for those with the source of a template.
const MAX_FORM_BYTES: usize = 64 << 10;
const FORM_TIME: Duration = Duration::from_secs(10);

/// The fields of a form, in their order.
#[derive(Debug, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    pub async fn read(body: Body) -> Result<Self, Failure> {
        let read = Limited::new(body, MAX_FORM_BYTES).collect();
        let too_large = || Failure::Invalid("A form has at most 64 KiB.".to_owned());
        let bytes = match tokio::time::timeout(FORM_TIME, read).await {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(_)) => return Err(too_large()),
            Err(_) => return Err(Failure::Invalid("The form did not arrive in time.".to_owned())),
        };
        Ok(Self::parse(&bytes))
    }

    pub fn of_query(query: Option<&str>) -> Self {
        Self::parse(query.unwrap_or_default().as_bytes())
    }

    pub fn parse(bytes: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// A field; empty where it was not sent.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(it, _)| it == name).map_or("", |(_, value)| value.as_str())
    }

    /// Whether a field was sent, and be it empty.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(it, _)| it == name)
    }

    /// A field that may be sent several times.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// A path of the dashboard to go to; no other site.
    pub fn path(&self, name: &str) -> String {
        let path = self.get(name);
        let is_below = |root: &str| {
            path.strip_prefix(root).is_some_and(|it| it.is_empty() || it.starts_with(['/', '?']))
        };
        let is_own = is_below("/app") || is_below("/ops");
        let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        if is_own && is_plain { path.to_owned() } else { "/app".to_owned() }
    }
}

/// A query string of these pairs, without those that are empty.
pub fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.into_iter().filter(|(_, value)| !value.is_empty()));
    query.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_to_another_site() {
        for (next, path) in [
            ("/app/keys", "/app/keys"),
            ("/app/messages%3Fq%3Dx", "/app/messages?q=x"),
            ("//evil.example", "/app"),
            ("https://evil.example/app/", "/app"),
            ("/app/%5C%5Cevil", "/app"),
            ("/application", "/app"),
            ("/ops/plugins", "/ops/plugins"),
            ("/opsimath", "/app"),
            ("", "/app"),
        ] {
            let form = Form::of_query(Some(&format!("next={next}")));
            assert_eq!(form.path("next"), path, "{next}");
        }
    }
}
