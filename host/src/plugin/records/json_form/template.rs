//! A template, by its parts instead of as a list of sources.

use serde::{Deserialize, Serialize};

use super::conversion::JsonForm;
use super::only_from_objects;
use super::pairs::Pairs;
use crate::plugin::kinds::renderer::{Part, Source, Template as Wit};

/// A template by its parts, as its author wrote them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, remote = "Self")]
pub struct Template {
    slug: String,
    revision: u64,
    subject: Option<String>,
    preheader: Option<String>,
    html: Option<String>,
    text: Option<String>,
    layout: Option<String>,
    partials: Pairs,
}

only_from_objects!(Template);

/// Every template has a subject: one that is left out is empty, and only `null` is none.
impl Default for Template {
    fn default() -> Self {
        Self {
            slug: String::new(),
            revision: 0,
            subject: Some(String::new()),
            preheader: None,
            html: None,
            text: None,
            layout: None,
            partials: Pairs::default(),
        }
    }
}

impl JsonForm for Template {
    type Of = Wit;

    fn of(it: Wit) -> Self {
        let Wit { slug, revision, sources, partials, layout } = it;
        let mut template = Self {
            slug,
            revision,
            subject: None,
            layout,
            partials: JsonForm::of(partials),
            ..Self::default()
        };
        for Source { part, text } in sources {
            match part {
                Part::Subject => template.subject = Some(text),
                Part::Preheader => template.preheader = Some(text),
                Part::Html => template.html = Some(text),
                Part::Text => template.text = Some(text),
            }
        }
        template
    }

    fn back(self) -> Wit {
        let parts = [
            (Part::Subject, self.subject),
            (Part::Preheader, self.preheader),
            (Part::Html, self.html),
            (Part::Text, self.text),
        ];
        let source = |(part, text): (Part, Option<String>)| text.map(|text| Source { part, text });
        Wit {
            slug: self.slug,
            revision: self.revision,
            sources: parts.into_iter().filter_map(source).collect(),
            partials: self.partials.back(),
            layout: self.layout,
        }
    }
}
