//! What a template reads of its data.

use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::message::address::EmailAddress;

/// A variable that a template reads, e.g. `user.name` or `items[].price`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TemplateVariable)]
pub struct Variable {
    /// Where it stands in `data`.
    pub path: String,
    /// Whether a send without it is refused.
    pub required: bool,
    /// The values that a send may give, if the author has declared them.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub value_type: Option<VariableType>,
    /// Further constraints of a text or a number, if the author has declared them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<VariableFormat>,
    /// Whether its author alone names it: it is an object around what is read, or inside a value that is read as it
    /// is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declared_only: bool,
}

/// What a variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(ToSchema)]
pub enum VariableType {
    /// Text.
    String,
    /// A number, not in quotation marks.
    Number,
    /// `true` or `false`.
    Boolean,
    Array,
    /// Members with names.
    Object,
}

impl VariableType {
    pub const ALL: [Self; 5] =
        [Self::String, Self::Number, Self::Boolean, Self::Array, Self::Object];

    /// The word in `template.toml` and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The type of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

/// What a text or a number must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VariableFormat {
    /// A date, or a date with a time and an offset, of RFC 3339: what the filters `date`, `time` and `datetime` take.
    Date,
    /// An absolute URL of http or https.
    Url,
    /// An e-mail address without a name.
    Email,
    /// A whole number of minor units, e.g. cents: what the filter `money` takes.
    Money,
    /// The code of a currency, three capital letters (ISO 4217): what `money` and `currency` take beside the amount.
    Currency,
}

impl VariableFormat {
    pub const ALL: [Self; 5] = [Self::Date, Self::Url, Self::Email, Self::Money, Self::Currency];

    /// The word in `template.toml` and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Url => "url",
            Self::Email => "email",
            Self::Money => "money",
            Self::Currency => "currency",
        }
    }

    /// The format of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// The type that values of it have.
    #[must_use]
    pub fn value_type(self) -> VariableType {
        match self {
            Self::Date | Self::Url | Self::Email | Self::Currency => VariableType::String,
            Self::Money => VariableType::Number,
        }
    }

    /// What is wanted, for whoever has given something else.
    #[must_use]
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Date => "a date of RFC 3339, as 2026-12-24 or 2026-12-24T18:00:00Z",
            Self::Url => "an absolute URL of http or https, as https://example.com/orders/7",
            Self::Email => "an e-mail address without a name, as ada@example.com",
            Self::Money => "a whole number of minor units, e.g. cents, as 1299",
            Self::Currency => "the code of a currency, three capital letters, as EUR",
        }
    }

    /// Whether a text is of this format.
    #[must_use]
    pub fn holds_text(self, text: &str) -> bool {
        match self {
            Self::Date => is_date(text),
            Self::Url => is_url(text),
            Self::Email => text.parse::<EmailAddress>().is_ok(),
            Self::Money => false,
            Self::Currency => text.len() == 3 && text.bytes().all(|it| it.is_ascii_uppercase()),
        }
    }
}

/// RFC 3339 section 5.6: `full-date` or `date-time`.
fn is_date(text: &str) -> bool {
    match text.as_bytes().get("2026-12-24".len()) {
        None => Timestamp::parse_rfc3339(&format!("{text}T00:00:00Z")).is_some(),
        Some(b'T' | b't') => Timestamp::parse_rfc3339(text).is_some(),
        Some(_) => false,
    }
}

/// The parser of browsers takes blanks away and fills in what is not there; what it is given must be whole.
fn is_url(text: &str) -> bool {
    let host = text
        .split_once("://")
        .filter(|(scheme, _)| ["http", "https"].iter().any(|it| scheme.eq_ignore_ascii_case(it)));
    let has_host = host.is_some_and(|(_, rest)| !rest.starts_with(['/', '?', '#']));
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '\\';
    has_host && text.chars().all(is_plain) && Url::parse(text).is_ok_and(|it| it.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_of_a_format_or_not() {
        let cases: [(VariableFormat, &[&str], &[&str]); 5] = [
            (
                VariableFormat::Date,
                &[
                    "2026-12-24",
                    "2024-02-29",
                    "2026-12-24T18:00:00Z",
                    "2026-12-24T18:00:00.25+02:00",
                ],
                &[
                    "",
                    "2026-02-29",
                    "24.12.2026",
                    "2026-12-24T18:00",
                    "2026-12-24 18:00:00Z",
                    "tomorrow",
                    "20261224",
                    "2026-12-4",
                ],
            ),
            (
                VariableFormat::Url,
                &[
                    "https://example.com",
                    "HTTP://example.com:8080/a?b=c#d",
                    "https://exämple.com/ü",
                ],
                &[
                    "",
                    "example.com",
                    "//example.com",
                    "mailto:a@example.com",
                    "javascript:alert(1)",
                    "https:example.com",
                    "https:///path",
                    "https://exa mple.com",
                    "https://a.com/\nb",
                    "http://",
                    "https:\\\\example.com",
                ],
            ),
            (
                VariableFormat::Email,
                &["ada@example.com", "grüße@exämple.com"],
                &["", "ada", "Ada <ada@example.com>", "ada@example.com\r\nBcc: eve@example.com"],
            ),
            (VariableFormat::Money, &[], &["1299", "12.99"]),
            (VariableFormat::Currency, &["EUR"], &["", "eur", "EURO", "€", "E R"]),
        ];
        for (format, good, bad) in cases {
            for text in good {
                assert!(format.holds_text(text), "{} {text:?}", format.as_str());
            }
            for text in bad {
                assert!(!format.holds_text(text), "{} {text:?}", format.as_str());
            }
        }
    }
}
