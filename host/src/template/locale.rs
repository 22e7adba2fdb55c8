//! A locale: a language tag in the form of RFC 5646, in canonical letter case.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const MAX_BYTES: usize = 35;

/// A language tag in its usual letter case: `en`, `de-AT`, `zh-Hant-TW`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LocaleTag(String);

/// A text that is no language tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a locale is a language tag (RFC 5646) of at most 35 characters, as in de or pt-BR")]
pub struct InvalidLocale;

impl LocaleTag {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The language alone: `de` of `de-AT`.
    #[must_use]
    pub fn language(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }
}

/// `en`.
impl Default for LocaleTag {
    fn default() -> Self {
        Self("en".to_owned())
    }
}

impl FromStr for LocaleTag {
    type Err = InvalidLocale;

    fn from_str(text: &str) -> Result<Self, InvalidLocale> {
        if text.len() > MAX_BYTES {
            return Err(InvalidLocale);
        }
        let mut tag = String::with_capacity(text.len());
        for (place, part) in text.split('-').enumerate() {
            let letters = part.bytes().all(|it| it.is_ascii_alphabetic());
            let is_part = matches!(part.len(), 1..=8)
                && part.bytes().all(|it| it.is_ascii_alphanumeric())
                && (place > 0 || (letters && part.len() >= 2));
            if !is_part {
                return Err(InvalidLocale);
            }
            let lower = part.to_ascii_lowercase();
            if place == 0 {
                tag.push_str(&lower);
                continue;
            }
            tag.push('-');
            match part.len() {
                2 if letters => tag.push_str(&part.to_ascii_uppercase()),
                4 if letters => {
                    let (first, rest) = lower.split_at(1);
                    tag.push_str(&first.to_ascii_uppercase());
                    tag.push_str(rest);
                }
                _ => tag.push_str(&lower),
            }
        }
        Ok(Self(tag))
    }
}

impl TryFrom<String> for LocaleTag {
    type Error = InvalidLocale;

    fn try_from(text: String) -> Result<Self, InvalidLocale> {
        text.parse()
    }
}

impl From<LocaleTag> for String {
    fn from(tag: LocaleTag) -> String {
        tag.0
    }
}

impl fmt::Display for LocaleTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_in_any_case_of_letters() {
        for (text, tag) in [("EN", "en"), ("de-at", "de-AT"), ("zh-HANT-tw", "zh-Hant-TW")] {
            assert_eq!(text.parse::<LocaleTag>().expect("a tag").as_str(), tag);
        }
        assert_eq!("es-419".parse::<LocaleTag>().expect("a tag").language(), "es");
        for text in ["", "d", "de_AT", "de-", "-de", "1a", "messages.json", "d e", "deutschland"] {
            assert_eq!(text.parse::<LocaleTag>(), Err(InvalidLocale), "{text}");
        }
        assert!("a".repeat(36).parse::<LocaleTag>().is_err());
    }
}
