//! The name by which a template is sent.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Lower case letters, digits and single hyphens between them; 1 to 64 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

/// A text that is not a slug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a slug is 1 to 64 lower case letters, digits and single hyphens, as in password-reset")]
pub struct InvalidSlug;

impl Slug {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Slug {
    type Err = InvalidSlug;

    fn from_str(text: &str) -> Result<Self, InvalidSlug> {
        let word = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if text.len() <= 64 && text.split('-').all(word) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSlug)
        }
    }
}

impl TryFrom<String> for Slug {
    type Error = InvalidSlug;

    fn try_from(text: String) -> Result<Self, InvalidSlug> {
        text.parse()
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> String {
        slug.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_plain_words() {
        assert!("password-reset-2".parse::<Slug>().is_ok());
        for text in ["", "-a", "a--b", "A", "a_b", "a b", "é"] {
            assert_eq!(text.parse::<Slug>(), Err(InvalidSlug), "{text}");
        }
    }
}
