//! `[people]`: by which name people reach the dashboard, and with what the server sends them e-mails.

use serde::{Deserialize, Serialize};

use super::delivery::Secret;
use super::violations::Violations;

/// `[people]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct People {
    /// Where people reach the dashboard, as in `https://mail.example.com`: links in e-mails begin with it.
    pub url: Option<String>,
    /// The API key with which the server sends invitations, password resets and alerts, with the scope `send`, best as
    /// `WAXWING_PEOPLE__MAIL_KEY`. Its account needs a sender, and only operators may be in it: whoever reads its
    /// messages reads the links. Without a key the pages show an invitation's link, to be handed over.
    #[serde(skip_serializing)]
    pub mail_key: Option<Secret>,
}

impl People {
    /// `url` without a slash at its end, as links begin.
    #[must_use]
    pub fn base(&self) -> Option<String> {
        self.url.as_ref().map(|it| it.trim_end_matches('/').to_owned())
    }

    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        let is_base = |url: &String| {
            let parsed = url::Url::parse(url).ok();
            parsed.is_some_and(|it| {
                matches!(it.scheme(), "https" | "http")
                    && it.has_host()
                    && it.path() == "/"
                    && it.query().is_none()
                    && it.fragment().is_none()
            })
        };
        violations.must(
            self.url.as_ref().is_none_or(is_base),
            "people.url: scheme and host alone, as in https://mail.example.com",
        );
        violations.must(
            self.mail_key.is_none() || self.url.is_some(),
            "people.mail_key: needs people.url, with which the links in the e-mails begin",
        );
    }
}
