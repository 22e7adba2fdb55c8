//! A template that is made of a layout or partial, to try one that no template is made of yet.

use std::collections::BTreeMap;

use super::mjml;
use crate::store::TemplateRow;
use crate::template::kind::TemplateKind;
use crate::template::source::{LocaleSource, TemplateSource};

/// The least template that has this layout around it, or calls this partial.
pub fn probe(row: &TemplateRow, source: &TemplateSource) -> TemplateSource {
    let locales: BTreeMap<_, _> =
        source.locales.keys().map(|it| (it.clone(), LocaleSource::default())).collect();
    match row.kind {
        TemplateKind::Layout => TemplateSource {
            subject: "x".to_owned(),
            html: Some("<p>x</p>".to_owned()),
            layout: Some(row.slug.clone()),
            locale: source.locale.clone(),
            locales,
            ..TemplateSource::default()
        },
        TemplateKind::Template | TemplateKind::Partial if source.has_mjml() => TemplateSource {
            subject: "x".to_owned(),
            mjml: Some(mjml::around(&row.slug, source)),
            locale: source.locale.clone(),
            locales,
            ..TemplateSource::default()
        },
        TemplateKind::Template | TemplateKind::Partial => TemplateSource {
            subject: "x".to_owned(),
            html: Some(format!("{{% include '{}' %}}", row.slug)),
            locale: source.locale.clone(),
            locales,
            ..TemplateSource::default()
        },
    }
}
