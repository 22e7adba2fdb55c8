//! MJML in place of HTML: compiled by the plugin, with partials for its includes, and what is found in the HTML told of
//! the MJML that it comes from.

use std::ops::Range;

use super::bounds::{MAX_COMPILED_BYTES, MAX_FINDINGS};
use super::check::{Checkable, Checker, Tenant, too_much_work};
use super::error::AuthoringError;
use super::finding::Finding;
use super::liquid::{self, line_and_column, snippet};
use crate::plugin::mjml::Document;
use crate::plugin::{Diagnostic, Kind, Pair};
use crate::template::compiled::{Compiled, CompiledHtml, Compiler, CompilerWarning};
use crate::template::locale::LocaleTag;
use crate::template::slug::Slug;
use crate::template::source::{Markup, SourcePart, TemplateSource};
use crate::template::version::{Block, Blocks};

const PART: &str = "mjml";

impl Checker<'_> {
    /// The HTML of every locale that has MJML; none where there is no MJML, or it has faults.
    pub async fn compile_mjml(
        &self,
        tenant: &Tenant,
        it: Checkable<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<Option<Compiled>, AuthoringError> {
        let Checkable { slug, source, blocks } = it;
        if !source.has_mjml() {
            return Ok(None);
        }
        if source.layout.is_some() {
            let message = "a template in MJML is a whole document, and no layout can surround it; leave `layout` out, \
                           and include what templates share with `<mj-include path=\"…\" />`";
            findings.push(Finding::error("layout", "layout_of_mjml", message));
            return Ok(None);
        }
        let scope = tenant.scope();
        let serving = self.table.serving(Kind::Mjml, &scope);
        let mut compiled = Compiled {
            compiler: Compiler {
                name: serving.identity().name.clone(),
                version: serving.identity().version.clone(),
                digest: serving.identity().digest.clone(),
            },
            locales: std::collections::BTreeMap::new(),
            warnings: Vec::new(),
        };
        let (mut is_whole, mut bytes) = (true, 0);
        for (locale, document) in documents(source, blocks) {
            let tag = (locale != source.default_locale()).then(|| locale.to_string());
            let context = self.plugins.context(format!("mjml {slug}"));
            let answer = Box::pin(self.table.compile_mjml(&scope, &context, &document)).await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(failure) => {
                    let finding = too_much_work(failure)?;
                    findings.push(Finding { part: Some(PART.to_owned()), locale: tag, ..finding });
                    return Ok(None);
                }
            };
            match answer {
                Ok(it) => {
                    bytes += it.html.len();
                    let said = it.warnings.into_iter().take(MAX_FINDINGS);
                    for warning in said.map(|it| finding(it, tag.clone())) {
                        if findings.iter().any(|it| it.is_same_place(&warning)) {
                            continue;
                        }
                        compiled.warnings.push(stored(&warning));
                        findings.push(warning);
                    }
                    let html = CompiledHtml { html: it.html, preheader: it.preheader };
                    compiled.locales.insert(locale.clone(), html);
                }
                Err(faults) => {
                    is_whole = false;
                    for fault in faults.into_iter().map(|it| finding(it, tag.clone())) {
                        if findings.len() < MAX_FINDINGS
                            && !findings.iter().any(|it| it.is_same_place(&fault))
                        {
                            findings.push(fault);
                        }
                    }
                }
            }
            if bytes > MAX_COMPILED_BYTES {
                let message = format!(
                    "the MJML of all locales is over {MAX_COMPILED_BYTES} bytes of HTML; make it shorter, or put the \
                     texts of locales into `messages`"
                );
                findings.push(Finding::error(PART, "too_large", message));
                return Ok(None);
            }
        }
        Ok(is_whole.then_some(compiled))
    }
}

/// The MJML of each locale with what it may include, but of those that have the HTML of another.
#[must_use]
pub fn documents<'a>(
    source: &'a TemplateSource,
    blocks: &Blocks,
) -> Vec<(&'a LocaleTag, Document)> {
    let mut documents: Vec<(&LocaleTag, Document)> = Vec::new();
    for locale in source.all_locales() {
        let Some(Markup::Mjml(text)) = source.markup(locale.tag) else { continue };
        let document = document(text, blocks, locale.tag);
        let has_html_of = |(tag, it): &(&LocaleTag, Document)| {
            falls_back(locale.tag, tag, source) && is_same(it, &document)
        };
        if locale.number == 0 || !documents.iter().any(has_html_of) {
            documents.push((locale.tag, document));
        }
    }
    documents
}

/// Whether the HTML of a locale is that of `other` where it has none of its own.
fn falls_back(locale: &LocaleTag, other: &LocaleTag, source: &TemplateSource) -> bool {
    let has_language =
        source.locales.keys().any(|it| it != locale && it.as_str() == locale.language());
    if has_language {
        other.as_str() == locale.language()
    } else {
        other == source.default_locale()
    }
}

fn is_same(one: &Document, other: &Document) -> bool {
    let includes = |it: &Document| -> Vec<(String, String)> {
        it.includes.iter().map(|it| (it.key.clone(), it.value.clone())).collect()
    };
    one.source == other.source && includes(one) == includes(other)
}

/// MJML with the partials that it may include, in the texts of a locale.
fn document(text: &str, blocks: &Blocks, locale: &LocaleTag) -> Document {
    let include = |it: &Block| {
        let (Markup::Html(value) | Markup::Mjml(value)) = it.source.markup(locale)?;
        Some(Pair { key: it.name.to_string(), value: value.to_owned() })
    };
    Document {
        source: text.to_owned(),
        includes: blocks.partials.iter().filter_map(include).collect(),
    }
}

/// What the compiler says; an include is a partial here.
fn finding(it: Diagnostic, locale: Option<String>) -> Finding {
    let mut finding = Finding::of_source(it);
    let part = finding.part.take().unwrap_or_else(|| PART.to_owned());
    finding.part = Some(match part.strip_prefix("include:") {
        Some(name) => format!("partial:{name}"),
        None => part,
    });
    finding.locale = locale;
    finding
}

fn stored(it: &Finding) -> CompilerWarning {
    CompilerWarning {
        code: it.code.clone(),
        message: it.message.clone(),
        part: it.part.clone().unwrap_or_else(|| PART.to_owned()),
        locale: it.locale.clone(),
        line: it.line,
        column: it.column,
    }
}

/// What the compiler warned of when a version was published.
pub fn warnings(compiled: &Compiled) -> Vec<Finding> {
    let finding = |it: &CompilerWarning| Finding {
        locale: it.locale.clone(),
        line: it.line,
        column: it.column,
        ..Finding::warning(&it.part, &it.code, it.message.clone())
    };
    compiled.warnings.iter().map(finding).collect()
}

/// The least document that includes a partial, at a place where its first element may stand.
pub fn around(slug: &Slug, partial: &TemplateSource) -> String {
    let text =
        partial.mjml.as_ref().or_else(|| partial.locales.values().find_map(|it| it.mjml.as_ref()));
    let text = text.map(String::as_str).unwrap_or_default();
    let first = text.split("<mj-").nth(1).unwrap_or_default();
    let first =
        first.split(|it: char| !it.is_ascii_alphabetic() && it != '-').next().unwrap_or_default();
    let include = format!("<mj-include path=\"{slug}\" />");
    let (head, body) = match first {
        "attributes" | "breakpoint" | "font" | "preview" | "style" | "title" => {
            (include.as_str(), String::new())
        }
        "section" | "wrapper" | "hero" => ("", include.clone()),
        "column" | "group" => ("", format!("<mj-section>{include}</mj-section>")),
        _ => ("", format!("<mj-section><mj-column>{include}</mj-column></mj-section>")),
    };
    format!("<mjml><mj-head>{head}</mj-head><mj-body>{body}</mj-body></mjml>")
}

/// Puts what was found in the HTML of MJML to the MJML that it comes from.
pub fn relocate(
    findings: &mut [Finding],
    (source, blocks): (&TemplateSource, &Blocks),
    compiled: Option<&Compiled>,
) {
    let Some(compiled) = compiled else { return };
    let rendered = compiled.put_into(source);
    for finding in findings.iter_mut().filter(|it| it.part.as_deref() == Some("html")) {
        let own = source.default_locale();
        let locale = finding.locale.as_ref().and_then(|it| it.parse::<LocaleTag>().ok());
        let locale = locale.as_ref().unwrap_or(own);
        let (Some(Markup::Mjml(text)), Some(html)) =
            (source.markup(locale), rendered.part(SourcePart::Html, locale))
        else {
            continue;
        };
        let includes = blocks.partials.iter().filter_map(|it| match it.source.markup(locale)? {
            Markup::Html(text) | Markup::Mjml(text) => Some((format!("partial:{}", it.name), text)),
        });
        let sources: Vec<(String, &str)> =
            std::iter::once((PART.to_owned(), text)).chain(includes).collect();
        relocate_one(finding, html, &sources);
    }
}

/// The same of a layout, whose faults are told of the part `layout`.
pub fn relocate_layout(
    findings: &mut [Finding],
    source: &TemplateSource,
    compiled: Option<&Compiled>,
) {
    let Some(compiled) = compiled else { return };
    let rendered = compiled.put_into(source);
    let locale = source.default_locale();
    let (Some(Markup::Mjml(text)), Some(html)) =
        (source.markup(locale), rendered.part(SourcePart::Html, locale))
    else {
        return;
    };
    for finding in findings.iter_mut().filter(|it| it.part.as_deref() == Some("layout")) {
        relocate_one(finding, html, &[(PART.to_owned(), text)]);
    }
}

fn relocate_one(finding: &mut Finding, html: &str, sources: &[(String, &str)]) {
    let found = offset(html, finding.line, finding.column).and_then(|at| origin(html, at, sources));
    let Some((part, text, at)) = found else {
        finding.part = Some(PART.to_owned());
        (finding.line, finding.column) = (0, 0);
        finding.message = format!("in the HTML that the MJML is compiled to: {}", finding.message);
        return;
    };
    finding.part = Some(part.to_owned());
    (finding.line, finding.column) = line_and_column(text, at);
    finding.snippet = Some(snippet(text, at));
}

/// Where the Liquid at a place of the HTML was written: part, text, and offset.
fn origin<'a>(
    html: &str,
    at: usize,
    sources: &'a [(String, &'a str)],
) -> Option<(&'a str, &'a str, usize)> {
    let in_html = liquid::tokens(html);
    let token = in_html.iter().find(|it| it.range.contains(&at))?;
    let text = html.get(token.range.clone())?;
    let same = |range: &Range<usize>, of: &str| of.get(range.clone()) == Some(text);
    let all: Vec<usize> =
        in_html.iter().map(|it| &it.range).filter(|it| same(it, html)).map(|it| it.start).collect();
    let nth = all.iter().position(|it| *it == token.range.start)?;
    let mut written = Vec::new();
    for (part, of) in sources {
        let tokens = liquid::tokens(of);
        let found = tokens.into_iter().map(|it| it.range).filter(|it| same(it, of));
        written.extend(found.map(|it| (part.as_str(), *of, it.start)));
    }
    // The compiler may write one several times: then any place is as good as the first.
    let chosen = if written.len() == all.len() { written.get(nth) } else { written.first() };
    chosen.map(|(part, of, start)| (*part, *of, start + at - token.range.start))
}

fn offset(text: &str, line: u32, column: u32) -> Option<usize> {
    let skipped = usize::try_from(line.checked_sub(1)?).ok()?;
    let start = match skipped {
        0 => 0,
        nth => text.match_indices('\n').nth(nth - 1)?.0 + 1,
    };
    let before = usize::try_from(column.checked_sub(1)?).ok()?;
    let rest = text.get(start..)?;
    Some(start + rest.char_indices().nth(before).map_or(rest.len(), |(at, _)| at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_in_the_html_is_told_of_the_mjml() {
        let mjml = "<mjml>\n <mj-text>{{ a }}</mj-text>\n <mj-text>{{ a }} {{ b | upcas }}</mj-text>\n</mjml>";
        let html =
            "<html><td>\n\n{{ a }}</td><td>{{ a }} {{ b | upcas }}{{ c }}</td>{% render 'x' %}";
        let sources =
            [("mjml".to_owned(), mjml), ("partial:foot".to_owned(), "\n<p>{% render 'x' %}</p>")];
        let told = |line, column| {
            let mut finding = Finding { line, column, ..Finding::error("html", "c", "m") };
            relocate_one(&mut finding, html, &sources);
            (finding.part.unwrap_or_default(), finding.line, finding.column, finding.snippet)
        };
        let snippet = |it: &str| Some(it.to_owned());
        assert_eq!(told(3, 4), ("mjml".to_owned(), 2, 14, snippet("a }}</mj-text>")));
        assert_eq!(told(3, 17).1, 3, "the second one is the second one");
        let (part, line, column, text) = told(3, 32);
        assert_eq!((part.as_str(), line, column), ("mjml", 3, 26));
        assert_eq!(text, snippet("upcas }}</mj-text>"));
        assert_eq!(told(3, 60).0, "partial:foot");
        assert_eq!(told(3, 42), ("mjml".to_owned(), 0, 0, None), "nobody has written {{ c }}");
        assert_eq!(told(99, 1).1, 0);
    }

    #[test]
    fn a_partial_is_tried_where_its_first_element_may_stand() {
        let slug: Slug = "foot".parse().expect("a slug");
        let tried = |mjml: &str| {
            let source =
                TemplateSource { mjml: Some(mjml.to_owned()), ..TemplateSource::default() };
            around(&slug, &source)
        };
        let include = "<mj-include path=\"foot\" />";
        assert!(tried("<mj-text>x</mj-text>").contains(&format!("<mj-column>{include}")));
        assert!(tried(" <mj-column>").contains(&format!("<mj-section>{include}")));
        assert!(tried("<mj-section>").contains(&format!("<mj-body>{include}")));
        assert!(tried("<mj-attributes>").contains(&format!("<mj-head>{include}")));
    }
}
