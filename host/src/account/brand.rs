//! The brand of an account: defaults of template variables for every template of the account.

use std::collections::BTreeMap;
use std::fmt;

use url::Url;

use crate::message::address::EmailAddress;
use crate::message::line::{ONE_LINE, is_one_line};

const MAX_NAME_CHARS: usize = 100;
const MAX_ADDRESS_CHARS: usize = 300;
const MAX_URL_CHARS: usize = 2_000;
/// No URL has these as they are (RFC 3986), and the parser lets some of them stand: in a template's attribute they
/// would end the value.
const UNSAFE_IN_URLS: [char; 9] = ['"', '<', '>', '\\', '^', '`', '{', '|', '}'];

/// One value of a brand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BrandField {
    /// What recipients call the product.
    ProductName,
    /// Where the product is found.
    ProductUrl,
    /// Where recipients write to with questions.
    SupportEmail,
    /// The postal address, on one line.
    CompanyAddress,
    /// The colour of marks and buttons, dark enough for white text.
    BrandColor,
    /// A picture of the mark.
    LogoUrl,
}

/// The values that an account has set; each is valid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brand(BTreeMap<BrandField, String>);

/// What changes in a brand; fields that are not named stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrandChanges(BTreeMap<BrandField, Option<String>>);

/// A text that is no value of a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be {}", field.wanted())]
pub struct InvalidBrandValue {
    field: BrandField,
}

/// What to do about the characters that no URL has as they are.
const ENCODED: &str = "blanks, quotation marks and brackets are percent-encoded, as in %20";

impl BrandField {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::ProductName,
        Self::ProductUrl,
        Self::SupportEmail,
        Self::CompanyAddress,
        Self::BrandColor,
        Self::LogoUrl,
    ];

    /// The variable that templates read.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Self::ProductName => "product_name",
            Self::ProductUrl => "product_url",
            Self::SupportEmail => "support_email",
            Self::CompanyAddress => "company_address",
            Self::BrandColor => "brand_color",
            Self::LogoUrl => "logo_url",
        }
    }

    /// The member of the API's JSON.
    #[must_use]
    pub fn member(self) -> &'static str {
        match self {
            Self::ProductName => "productName",
            Self::ProductUrl => "productUrl",
            Self::SupportEmail => "supportEmail",
            Self::CompanyAddress => "companyAddress",
            Self::BrandColor => "brandColor",
            Self::LogoUrl => "logoUrl",
        }
    }

    /// The option of the command line, without its dashes.
    #[must_use]
    pub fn option(self) -> String {
        self.variable().replace('_', "-")
    }

    /// The field that a template's variable of this name reads.
    #[must_use]
    pub fn of_variable(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.variable() == name)
    }

    /// The brand field that a JSON member of the API names, if there is one.
    #[must_use]
    pub fn of_member(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.member() == name)
    }

    /// The value as it is kept: colours in lower case, URLs and addresses as they are written.
    ///
    /// # Errors
    /// The text is no value of this field; the error says what is.
    fn parse(self, text: &str) -> Result<String, InvalidBrandValue> {
        let text = text.trim();
        let valid = match self {
            Self::ProductName => is_line(text, MAX_NAME_CHARS),
            Self::CompanyAddress => is_line(text, MAX_ADDRESS_CHARS),
            Self::ProductUrl => is_url(text, &["http", "https"]),
            // Webmail shows no picture that would be loaded in the clear.
            Self::LogoUrl => is_url(text, &["https"]),
            Self::SupportEmail => text.parse::<EmailAddress>().is_ok(),
            Self::BrandColor => is_colour(text),
        };
        if !valid {
            return Err(InvalidBrandValue { field: self });
        }
        match self {
            Self::BrandColor => Ok(text.to_ascii_lowercase()),
            Self::ProductName
            | Self::CompanyAddress
            | Self::ProductUrl
            | Self::LogoUrl
            | Self::SupportEmail => Ok(text.to_owned()),
        }
    }

    fn wanted(self) -> String {
        let line = |most: usize| format!("1 to {most} characters {ONE_LINE}");
        match self {
            Self::ProductName => line(MAX_NAME_CHARS),
            Self::CompanyAddress => line(MAX_ADDRESS_CHARS),
            Self::ProductUrl => {
                format!("a URL of http or https, as in https://example.com; {ENCODED}")
            }
            Self::LogoUrl => {
                format!("a URL of https, as in https://example.com/logo.png; {ENCODED}")
            }
            Self::SupportEmail => "an e-mail address, as in help@example.com".to_owned(),
            Self::BrandColor => "a colour in hexadecimal, as in #23695e".to_owned(),
        }
    }
}

impl Brand {
    /// A brand as it was kept.
    #[must_use]
    pub fn stored(values: BTreeMap<BrandField, String>) -> Self {
        Self(values)
    }

    /// The value of a field; none where it is not set.
    #[must_use]
    pub fn value(&self, field: BrandField) -> Option<&str> {
        self.0.get(&field).map(String::as_str)
    }

    /// What templates are offered: variables with their values.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(field, value)| (field.variable(), value.as_str()))
    }
}

impl BrandChanges {
    /// Sets a field, or without a text clears it.
    ///
    /// # Errors
    /// The text is no value of the field.
    pub fn set(&mut self, field: BrandField, text: Option<&str>) -> Result<(), InvalidBrandValue> {
        let value = text.map(|text| field.parse(text)).transpose()?;
        self.0.insert(field, value);
        Ok(())
    }

    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields to change, each with its new value; `None` clears the field.
    pub fn iter(&self) -> impl Iterator<Item = (BrandField, Option<&str>)> {
        self.0.iter().map(|(field, value)| (*field, value.as_deref()))
    }
}

impl fmt::Display for BrandField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.variable())
    }
}

fn is_line(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.chars().count()) && is_one_line(text)
}

fn is_url(text: &str, schemes: &[&str]) -> bool {
    let url = Url::parse(text).ok().filter(|_| is_line(text, MAX_URL_CHARS));
    url.is_some_and(|url| schemes.contains(&url.scheme()) && url.has_host())
        && !text.contains(char::is_whitespace)
        && !text.contains(UNSAFE_IN_URLS)
}

/// Only `#rgb` and `#rrggbb`: the value stands in style attributes, where a longer text could say more
/// than a colour.
fn is_colour(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or_default();
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_type() {
        let good = [
            (BrandField::ProductName, " Tern & Co ", "Tern & Co"),
            (BrandField::ProductUrl, "https://tern.example/a", "https://tern.example/a"),
            (BrandField::SupportEmail, "help@tern.example", "help@tern.example"),
            (BrandField::CompanyAddress, "12 Harbour Row, Bristol", "12 Harbour Row, Bristol"),
            (BrandField::BrandColor, "#23695E", "#23695e"),
            (BrandField::LogoUrl, "https://tern.example/l.png", "https://tern.example/l.png"),
        ];
        for (field, text, kept) in good {
            assert_eq!(field.parse(text).as_deref(), Ok(kept), "{field}");
        }
        let long = "n".repeat(MAX_NAME_CHARS + 1);
        let bad = [
            (BrandField::ProductName, " "),
            (BrandField::ProductName, long.as_str()),
            (BrandField::ProductName, "a\r\nBcc: eve@example.com"),
            (BrandField::ProductUrl, "tern.example"),
            (BrandField::ProductUrl, "javascript:alert(1)"),
            (BrandField::ProductUrl, "https://tern.example/a b"),
            (BrandField::ProductUrl, "https://"),
            (BrandField::ProductUrl, "https://a\"b"),
            (BrandField::ProductUrl, "https://tern.example/<a"),
            (BrandField::LogoUrl, "https://tern.example/l.png?a=\"onerror="),
            (BrandField::LogoUrl, "http://tern.example/l.png"),
            (BrandField::SupportEmail, "help"),
            (BrandField::CompanyAddress, ""),
            (BrandField::BrandColor, "23695e"),
            (BrandField::BrandColor, "#23695"),
            (BrandField::BrandColor, "red;background:url(https://eve.example)"),
        ];
        for (field, text) in bad {
            assert!(field.parse(text).is_err(), "{field}: {text}");
        }
    }

    #[test]
    fn every_name_leads_back_to_its_field() {
        for field in BrandField::ALL {
            assert_eq!(BrandField::of_variable(field.variable()), Some(field));
            assert_eq!(BrandField::of_member(field.member()), Some(field));
        }
    }
}
