//! Forms as browsers send them, bounded in size and time.

use std::time::Duration;

use axum::body::Body;
use bytes::BytesMut;
use http_body_util::BodyExt;

use super::response::Failure;
use crate::api::body;

/// No form of a page is larger, but for those with the source of a template.
const MAX_FORM_BYTES: usize = 64 << 10;
const FORM_TIME: Duration = Duration::from_secs(10);

/// The fields of a form, in their order.
#[derive(Debug, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form; of one that is too large also the rest, so that the browser sees why it is refused.
    pub async fn read(mut body: Body) -> Result<Self, Failure> {
        match tokio::time::timeout(FORM_TIME, up_to_the_bound(&mut body)).await {
            Ok(Ok(Some(bytes))) => Ok(Self::parse(&bytes)),
            Ok(Ok(None)) => {
                body::drain(body).await;
                let message = format!(
                    "What was typed into this form is larger than {} KiB, the most that the server takes here. Nothing was \
                     changed. Go back, and send less of it at one time.",
                    MAX_FORM_BYTES >> 10
                );
                Err(Failure::TooLarge(message))
            }
            Ok(Err(_)) => Err(Failure::Invalid("The form broke off before its end.".to_owned())),
            Err(_) => Err(Failure::Invalid("The form did not arrive in time.".to_owned())),
        }
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

    /// All fields, in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Takes a field out; none where it was not sent.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(it, _)| it == name)?;
        Some(self.0.remove(at).1)
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

/// The bytes of a form; none where there are more than a form may have.
async fn up_to_the_bound(body: &mut Body) -> Result<Option<BytesMut>, axum::Error> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if bytes.len() + data.len() > MAX_FORM_BYTES {
            return Ok(None);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Some(bytes))
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

    #[tokio::test]
    async fn a_form_of_the_bound_is_read_and_a_larger_one_is_named() {
        let form = |length: usize| Body::from(format!("a={}", "x".repeat(length - 2)));
        let read = Form::read(form(MAX_FORM_BYTES)).await.expect("read");
        assert_eq!(read.get("a").len(), MAX_FORM_BYTES - 2);
        let Err(Failure::TooLarge(message)) = Form::read(form(MAX_FORM_BYTES + 1)).await else {
            unreachable!("it is too large");
        };
        assert!(message.contains("64 KiB"), "{message}");
    }

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
