//! What an author writes: the parts of a template, its texts in other locales, and the declarations of its variables.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::locale::LocaleTag;
use super::slug::Slug;
use super::variable::VariableType;
use crate::message::address::EmailAddress;

/// A template, layout or partial as its author writes it. A layout or a partial is its `html`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = TemplateDraft)]
pub struct TemplateSource {
    /// What a person calls it.
    pub name: String,
    /// When to send it.
    pub description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// The line that mail clients show beside the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preheader: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// MJML in place of `html`: compiled to HTML when it is published. Of a partial it is what `mj-include` puts into
    /// the MJML of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mjml: Option<String>,
    /// The text part; derived from the HTML part where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The name of the layout that surrounds the HTML part.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub layout: Option<Slug>,
    /// The sender where the request names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "email")]
    pub sender: Option<EmailAddress>,
    /// The plan that it needs, e.g. `pro`, or `paid` for any paid one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_plan: Option<String>,
    /// Whether a send is refused that would leave a variable blank.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Words to find it by; the plan policy sees them.
    pub tags: Vec<String>,
    /// What its author says of its variables; where there is one, all that it reads are declared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<DeclaredVariable>,
    /// Data that it renders well with, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, Object>)]
    pub examples: BTreeMap<String, Map<String, Value>>,
    /// The locale of the parts above; English by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub locale: Option<LocaleTag>,
    /// Texts of that locale, by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub messages: BTreeMap<String, Message>,
    /// The parts that differ in other locales.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, LocaleSource>)]
    pub locales: BTreeMap<LocaleTag, LocaleSource>,
}

/// What an author says of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeclaredVariable {
    /// As in `user.name` or `items[].price`.
    pub path: String,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub value_type: Option<VariableType>,
    /// `date`, `url`, `email`, `money` or `currency`. One of another word is of an earlier server, and demands
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What one locale says otherwise. A part that it leaves out is that of the language, or of the template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LocaleSource {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preheader: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// MJML in place of `html`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mjml: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub messages: BTreeMap<String, Message>,
}

/// A text that templates call by its key, or its forms by plural category: `{"one": …, "other": …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = TemplateMessage)]
pub enum Message {
    Text(String),
    Plural(BTreeMap<String, String>),
}

/// The plural categories of Unicode CLDR.
pub const PLURAL_CATEGORIES: [&str; 6] = ["zero", "one", "two", "few", "many", "other"];

/// The locale of a template that a send gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenLocale<'a> {
    pub tag: &'a LocaleTag,
    /// 0 for the template's own, else its place among the other locales, from 1.
    pub number: u16,
}

impl<'a> ChosenLocale<'a> {
    /// Whose dates and numbers are shown: those of the region that was asked for, where the texts are of its language.
    #[must_use]
    pub fn region(&self, asked: Option<&'a LocaleTag>) -> &'a LocaleTag {
        asked.filter(|it| it.language() == self.tag.language()).unwrap_or(self.tag)
    }
}

/// The four parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourcePart {
    Subject,
    Preheader,
    Html,
    Text,
}

/// What the HTML part is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup<'a> {
    Html(&'a str),
    Mjml(&'a str),
}

static ENGLISH: std::sync::LazyLock<LocaleTag> = std::sync::LazyLock::new(LocaleTag::default);

impl TemplateSource {
    /// The locale of its own parts.
    #[must_use]
    pub fn default_locale(&self) -> &LocaleTag {
        self.locale.as_ref().unwrap_or(&ENGLISH)
    }

    /// The locale for a send: the tag that it names, else its language, else the template's own.
    #[must_use]
    pub fn choose_locale(&self, wanted: Option<&LocaleTag>) -> ChosenLocale<'_> {
        let own = ChosenLocale { tag: self.default_locale(), number: 0 };
        let Some(wanted) = wanted.filter(|wanted| *wanted != own.tag) else { return own };
        self.other_locale(|tag| tag == wanted)
            .or_else(|| self.other_locale(|tag| tag.as_str() == wanted.language()))
            .unwrap_or(own)
    }

    /// Its own locale, then the others in their order.
    pub fn all_locales(&self) -> impl Iterator<Item = ChosenLocale<'_>> {
        let own = ChosenLocale { tag: self.default_locale(), number: 0 };
        let others = (1..).zip(self.locales.keys());
        std::iter::once(own).chain(others.map(|(number, tag)| ChosenLocale { tag, number }))
    }

    fn other_locale(&self, is_it: impl Fn(&LocaleTag) -> bool) -> Option<ChosenLocale<'_>> {
        let mut others = (1..).zip(self.locales.keys());
        others.find(|(_, tag)| is_it(tag)).map(|(number, tag)| ChosenLocale { tag, number })
    }

    /// A part as a locale has it: its own, else its language's, else the template's.
    #[must_use]
    pub fn part(&self, part: SourcePart, locale: &LocaleTag) -> Option<&String> {
        let of_locale = |it: &LocaleSource| match part {
            SourcePart::Subject => it.subject.is_some(),
            SourcePart::Preheader => it.preheader.is_some(),
            SourcePart::Html => it.html.is_some(),
            SourcePart::Text => it.text.is_some(),
        };
        let said = self.said_in(locale).find(|it| of_locale(it));
        match (part, said) {
            (SourcePart::Subject, Some(it)) => it.subject.as_ref(),
            (SourcePart::Preheader, Some(it)) => it.preheader.as_ref(),
            (SourcePart::Html, Some(it)) => it.html.as_ref(),
            (SourcePart::Text, Some(it)) => it.text.as_ref(),
            (SourcePart::Subject, None) => Some(&self.subject),
            (SourcePart::Preheader, None) => self.preheader.as_ref(),
            (SourcePart::Html, None) => self.html.as_ref(),
            (SourcePart::Text, None) => self.text.as_ref(),
        }
    }

    /// What the HTML part of a locale is made of: the first of its own `mjml` or `html`, its language's, and the
    /// template's.
    #[must_use]
    pub fn markup(&self, locale: &LocaleTag) -> Option<Markup<'_>> {
        let said = self.said_in(locale).map(|it| (&it.mjml, &it.html));
        said.chain([(&self.mjml, &self.html)]).find_map(|(mjml, html)| {
            let html = html.as_deref().map(Markup::Html);
            mjml.as_deref().map(Markup::Mjml).or(html)
        })
    }

    /// Whether any locale has MJML.
    #[must_use]
    pub fn has_mjml(&self) -> bool {
        self.mjml.is_some() || self.locales.values().any(|it| it.mjml.is_some())
    }

    /// Adds the messages of a locale to those that are there, key by key; what is there stays.
    pub fn add_messages<'a>(
        &'a self,
        locale: &LocaleTag,
        messages: &mut BTreeMap<&'a str, &'a Message>,
    ) {
        let said = self.said_in(locale).map(|it| &it.messages);
        for (key, message) in said.chain([&self.messages]).flatten() {
            messages.entry(key).or_insert(message);
        }
    }

    /// The example that it is tried with: the one called `default`, else the first.
    #[must_use]
    pub fn example(&self) -> Option<&Map<String, Value>> {
        self.examples.get("default").or_else(|| self.examples.values().next())
    }

    /// What a locale says itself, then what its language says.
    fn said_in(&self, locale: &LocaleTag) -> impl Iterator<Item = &LocaleSource> {
        let language = self
            .locales
            .iter()
            .find(|(tag, _)| *tag != locale && tag.as_str() == locale.language());
        self.locales.get(locale).into_iter().chain(language.map(|(_, it)| it))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source() -> TemplateSource {
        serde_json::from_value(json!({
            "subject": "Hello", "text": "Hi", "messages": {"bye": "Bye", "thanks": "Thanks"},
            "locales": {
                "de": {"subject": "Hallo", "text": "Servus", "messages": {"bye": "Tschüss"}},
                "de-AT": {"text": "Griaß di"},
                "fr": {"subject": "Bonjour"},
            },
        }))
        .expect("a source")
    }

    fn tag(text: &str) -> LocaleTag {
        text.parse().expect("a tag")
    }

    #[test]
    fn a_send_gets_its_locale_else_its_language_else_the_templates_own() {
        let source = source();
        for (wanted, chosen) in [
            (Some("de-AT"), "de-AT"),
            (Some("de-CH"), "de"),
            (Some("de"), "de"),
            (Some("fr-CA"), "fr"),
            (Some("it"), "en"),
            (Some("en-GB"), "en"),
            (None, "en"),
        ] {
            let wanted = wanted.map(tag);
            assert_eq!(source.choose_locale(wanted.as_ref()).tag.as_str(), chosen, "{wanted:?}");
        }
        let numbers: Vec<u16> = source.all_locales().map(|it| it.number).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
    }

    #[test]
    fn a_locale_falls_back_part_by_part_and_message_by_message() {
        let source = source();
        let part = |part, locale| source.part(part, &tag(locale)).map(String::as_str);
        assert_eq!(part(SourcePart::Subject, "de-AT"), Some("Hallo"));
        assert_eq!(part(SourcePart::Text, "de-AT"), Some("Griaß di"));
        assert_eq!(part(SourcePart::Text, "fr"), Some("Hi"));
        assert_eq!(part(SourcePart::Html, "fr"), None);
        let mut messages = BTreeMap::new();
        source.add_messages(&tag("de-AT"), &mut messages);
        assert_eq!(json!(messages), json!({"bye": "Tschüss", "thanks": "Thanks"}));
    }

    #[test]
    fn the_example_called_default_stands_first() {
        let mut source = TemplateSource::default();
        assert_eq!(source.example(), None);
        for name in ["b", "a", "default"] {
            let data = json!({"name": name});
            source.examples.insert(name.to_owned(), data.as_object().expect("an object").clone());
        }
        assert_eq!(source.example().expect("there")["name"], "default");
        source.examples.remove("default");
        assert_eq!(source.example().expect("there")["name"], "a");
    }
}
