//! A language and region by its tag: its conventions, and the rule of its plural forms.
//!
//! A tag that is not known is no fault: the language stands for its region, and English for the language.

use std::borrow::Cow;

use super::conventions::{EN, LOCALES, REGIONS};
use super::decimal::Decimal;
use super::plural::{Operands, Plural};
use super::plural_rules;
use super::writing::Conventions;

/// The language and region that a message is written for.
#[derive(Debug, Clone)]
pub struct Locale {
    tag: Cow<'static, str>,
    pub(crate) conventions: &'static Conventions,
    rule: fn(&Operands) -> Plural,
}

/// For a render without a locale.
pub static ENGLISH: Locale =
    Locale { tag: Cow::Borrowed("en"), conventions: &EN, rule: |it| plural_rules::rule("en")(it) };

impl Locale {
    /// The locale of a BCP 47 tag as `de-AT`; `_` is taken for `-`, and what is no tag is `en`.
    #[must_use]
    pub fn new(tag: &str) -> Self {
        let Some(tag) = Tag::parse(tag) else { return ENGLISH.clone() };
        let language = tag.canonical_language();
        let region = tag.likely_region();
        let own = region.as_ref().and_then(|it| find(&format!("{language}-{it}")));
        let conventions = own.or_else(|| find(language)).unwrap_or(&EN);
        // European Portuguese has a rule of its own.
        let is_european = std::ptr::eq(conventions, find("pt-PT").unwrap_or(&EN));
        let rule = plural_rules::rule(if is_european { "pt-PT" } else { language });
        Self { tag: Cow::Owned(tag.text), conventions, rule }
    }

    /// The plural form of a number as [`super::number`] writes it, and of the absolute value.
    pub(crate) fn plural(&self, number: Decimal) -> Plural {
        (self.rule)(&Operands::of(number))
    }

    /// The tag in its usual spelling, as `de-AT`: for the attribute `lang`.
    #[must_use]
    pub fn lang(&self) -> &str {
        &self.tag
    }

    /// `rtl` where the language is written from right to left, else `ltr`: for the attribute `dir`.
    #[must_use]
    pub fn dir(&self) -> &'static str {
        Tag::parse(&self.tag).map_or("ltr", |it| if it.is_right_to_left() { "rtl" } else { "ltr" })
    }
}

impl Default for Locale {
    /// English.
    fn default() -> Self {
        ENGLISH.clone()
    }
}

fn find(tag: &str) -> Option<&'static Conventions> {
    let look = |table: &[(&str, &'static Conventions)]| {
        table.binary_search_by(|(it, _)| (*it).cmp(tag)).ok().map(|at| table[at].1)
    };
    look(&LOCALES).or_else(|| look(&REGIONS))
}

/// A tag longer than this is none: the standard has 35 characters in mind.
const MAX_TAG_BYTES: usize = 64;

/// A tag in its parts.
struct Tag {
    /// In its usual spelling: `zh-Hant-HK`.
    text: String,
    language: String,
    script: Option<String>,
    region: Option<String>,
}

impl Tag {
    fn parse(tag: &str) -> Option<Self> {
        let tag = tag.trim();
        if tag.len() > MAX_TAG_BYTES {
            return None;
        }
        let mut parts = tag.split(['-', '_']);
        let is_word = |it: &str, from: usize, to: usize| {
            (from..=to).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_alphanumeric())
        };
        let language = parts.next()?.to_ascii_lowercase();
        let letters = language.bytes().all(|it| it.is_ascii_lowercase());
        if !letters || !is_word(&language, 2, 3) {
            return None;
        }
        let mut it = Self { text: language.clone(), language, script: None, region: None };
        let mut is_extension = false;
        for part in parts {
            if !is_word(part, 1, 8) {
                return None;
            }
            is_extension |= part.len() == 1;
            let is_region = part.len() == 2 || part.bytes().all(|it| it.is_ascii_digit());
            let part = if is_extension {
                part.to_ascii_lowercase()
            } else if part.len() == 4 && it.region.is_none() && !is_region {
                let (first, rest) = part.split_at(1);
                let script = first.to_ascii_uppercase() + &rest.to_ascii_lowercase();
                it.script = Some(script.clone());
                script
            } else if is_region && it.region.is_none() {
                let region = part.to_ascii_uppercase();
                it.region = Some(region.clone());
                region
            } else {
                part.to_ascii_lowercase()
            };
            put!(it.text, "-{part}");
        }
        Some(it)
    }

    /// Languages that have two codes.
    fn canonical_language(&self) -> &str {
        match self.language.as_str() {
            "no" | "nn" => "nb",
            "iw" => "he",
            "in" => "id",
            "tl" => "fil",
            "mo" => "ro",
            "ji" => "yi",
            it => it,
        }
    }

    /// Chinese in traditional characters is that of Taiwan, where no region is named.
    fn likely_region(&self) -> Option<String> {
        let is_traditional = self.script.as_deref() == Some("Hant");
        let is_simplified = self.script.as_deref() == Some("Hans");
        match (self.language.as_str(), self.region.as_deref()) {
            ("zh", _) if is_simplified => None,
            ("zh", None | Some("CN" | "SG")) if is_traditional => Some("TW".to_owned()),
            (_, region) => region.map(str::to_owned),
        }
    }

    fn is_right_to_left(&self) -> bool {
        match self.script.as_deref() {
            Some(it) => matches!(
                it,
                "Arab" | "Hebr" | "Thaa" | "Syrc" | "Nkoo" | "Adlm" | "Rohg" | "Mand" | "Samr"
            ),
            None => match self.language.as_str() {
                "pa" => self.region.as_deref() == Some("PK"),
                "ku" | "az" => self.region.as_deref().is_some_and(|it| matches!(it, "IQ" | "IR")),
                "uz" => self.region.as_deref() == Some("AF"),
                it => matches!(
                    it,
                    "ar" | "arc"
                        | "ckb"
                        | "dv"
                        | "fa"
                        | "glk"
                        | "he"
                        | "iw"
                        | "ji"
                        | "ks"
                        | "lrc"
                        | "mzn"
                        | "nqo"
                        | "prs"
                        | "ps"
                        | "sd"
                        | "syr"
                        | "ug"
                        | "ur"
                        | "yi"
                ),
            },
        }
    }
}

/// The locales that have conventions of their own.
#[cfg(test)]
pub fn tags() -> impl Iterator<Item = &'static str> {
    LOCALES.iter().map(|(tag, _)| *tag)
}
