//! `[telemetry]`: where traces go.

use serde::{Deserialize, Serialize};

use super::violations::Violations;

/// `[telemetry]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// A collector that takes traces by OTLP over HTTP, as in `http://127.0.0.1:4318`; `/v1/traces` is added where the
    /// address has no path. Only in a binary that was built with the feature `otlp`.
    pub otlp_endpoint: Option<String>,
}

impl Telemetry {
    /// The address to which traces are posted.
    #[must_use]
    pub fn traces_url(&self) -> Option<String> {
        let mut url = url::Url::parse(self.otlp_endpoint.as_ref()?).ok()?;
        if url.path() == "/" {
            url.set_path("/v1/traces");
        }
        Some(url.into())
    }

    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        let is_address = |text: &String| {
            let parsed = url::Url::parse(text).ok();
            parsed.is_some_and(|it| matches!(it.scheme(), "https" | "http") && it.has_host())
        };
        violations.must(
            self.otlp_endpoint.as_ref().is_none_or(is_address),
            "telemetry.otlp_endpoint: an address of http or https, as in http://127.0.0.1:4318",
        );
        violations.must(
            self.otlp_endpoint.is_none() || cfg!(feature = "otlp"),
            "telemetry.otlp_endpoint: needs a binary that was built with `cargo build --features otlp`",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_posted_to_the_path_of_the_protocol_unless_another_is_given() {
        let url = |text: &str| Telemetry { otlp_endpoint: Some(text.to_owned()) }.traces_url();
        let usual = Some("http://127.0.0.1:4318/v1/traces".to_owned());
        assert_eq!(url("http://127.0.0.1:4318"), usual);
        assert_eq!(url("http://127.0.0.1:4318/"), usual);
        let other = "https://collector.example/otlp/v1/traces";
        assert_eq!(url(other).as_deref(), Some(other));
        assert_eq!(Telemetry::default().traces_url(), None);
    }
}
