//! Lint of a template's HTML or MJML: data in unsafe places (errors), and what mail clients do not show as meant
//! (warnings), each with the remedy.
//!
//! Looked for in the source that the author writes, HTML or MJML, so that places are the author's. The time is bounded
//! by the length of the source, and of one kind a few are told, with the number of the others.

mod around;
mod clients;
pub mod color;
mod css;
mod injection;
mod page;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::finding::{Finding, Severity};
use super::liquid::{Token, TokenKind, line_and_column, snippet};
use crate::journey::render::visible;
use crate::template::kind::TemplateKind;
use crate::template::locale::LocaleTag;
use crate::template::source::{ChosenLocale, DeclaredVariable, Markup, SourcePart, TemplateSource};
use crate::template::version::Blocks;
use around::{Around, Background, colors, has_dark_styles, is_style, is_void, root};
use color::Color;
use injection::{Printed, is_data_url, is_script};
use page::{Attribute, Page, Piece, Tag, declarations};

/// Findings of one code that are told; the rest is counted.
const MAX_OF_CODE: usize = 5;
/// Elements in elements, and choices in choices, that are followed.
const MAX_DEPTH: usize = 200;
const MAX_CHOICES: usize = 50;
/// The background of clients in the dark, where a mail sets none.
const DARK: Color = Color(0x1e, 0x1e, 0x1e);
const LINKS: [&str; 5] = ["href", "src", "background", "background-url", "action"];

/// Looks through the HTML or MJML of some locales of a template.
pub fn lint<'a>(
    (source, blocks): (&'a TemplateSource, &Blocks),
    locales: impl IntoIterator<Item = ChosenLocale<'a>>,
    findings: &mut Vec<Finding>,
) {
    // Locales without markup of their own share the template's: each text is looked through once.
    let mut layouts: Vec<(Option<&str>, Around)> = Vec::new();
    let mut seen: Vec<(Option<Markup<'_>>, Around)> = Vec::new();
    for locale in locales {
        let layout = Around::layout(source, blocks, locale.tag);
        let known = layouts.iter().find(|(it, _)| *it == layout).map(|(_, around)| *around);
        let around = known.unwrap_or_else(|| Around::of(layout));
        if known.is_none() {
            layouts.push((layout, around));
        }
        let markup = source.markup(locale.tag);
        let is_new = !seen.contains(&(markup, around));
        let mut lint = Lint::new(markup, &source.variables);
        lint.preheader(source, &around, locale.tag);
        if is_new {
            lint.run(&around);
            seen.push((markup, around));
        }
        lint.tell((locale.number > 0).then_some(locale.tag), findings);
    }
}

/// Looks through the HTML or MJML of a layout or partial.
pub fn lint_block((kind, source): (TemplateKind, &TemplateSource), findings: &mut Vec<Finding>) {
    for locale in source.all_locales() {
        let mut lint = Lint::new(source.markup(locale.tag), &source.variables);
        // What a partial opens, another one may close.
        lint.is_whole = kind == TemplateKind::Layout;
        lint.run(&Around::default());
        lint.tell((locale.number > 0).then_some(locale.tag), findings);
    }
}

/// An element that has not ended.
#[derive(Debug, Clone, Copy)]
struct Open<'p> {
    name: &'p str,
    at: usize,
    background: Background,
    color: Option<Color>,
}

/// A link, and whether anything of it can be read.
#[derive(Debug)]
struct Link {
    name: String,
    at: usize,
    has_text: bool,
}

struct Lint<'a> {
    page: Page<'a>,
    is_mjml: bool,
    is_whole: bool,
    printed: Printed<'a>,
    found: Vec<Finding>,
    /// How many of each code there are.
    counts: HashMap<String, usize>,
    /// The pages of caniemail.com that findings name.
    features: HashSet<&'static str>,
}

impl<'a> Lint<'a> {
    fn new(markup: Option<Markup<'a>>, variables: &'a [DeclaredVariable]) -> Self {
        let (text, is_mjml) = match markup {
            Some(Markup::Html(text)) => (text, false),
            Some(Markup::Mjml(text)) => (text, true),
            None => ("", false),
        };
        let page = Page::new(text);
        let printed = Printed::new(&page, variables);
        let (found, counts, features) = (Vec::new(), HashMap::new(), HashSet::new());
        Self { page, is_mjml, is_whole: true, printed, found, counts, features }
    }

    fn part(&self) -> &'static str {
        if self.is_mjml { "mjml" } else { "html" }
    }

    fn warn(&mut self, code: &str, at: usize, message: impl Into<String>) {
        self.add(Finding::warning(self.part(), code, message), at);
    }

    fn fault(&mut self, code: &str, at: usize, message: impl Into<String>) {
        self.add(Finding::error(self.part(), code, message), at);
    }

    /// Beyond [`MAX_OF_CODE`] findings of a code are only counted.
    fn add(&mut self, finding: Finding, at: usize) {
        let count = self.counts.entry(finding.code.clone()).or_default();
        *count += 1;
        if *count > MAX_OF_CODE {
            return;
        }
        let (line, column) = line_and_column(self.page.text, at);
        let snippet = Some(snippet(self.page.text, at));
        self.found.push(Finding { line, column, snippet, ..finding });
    }

    fn tell(self, locale: Option<&LocaleTag>, findings: &mut Vec<Finding>) {
        let part = self.part();
        let mut counts: Vec<(String, usize)> = self.counts.into_iter().collect();
        counts.sort_unstable();
        let more =
            counts.into_iter().filter(|(_, count)| *count > MAX_OF_CODE).map(|(code, count)| {
                let told = self.found.iter().find(|it| it.code == code);
                let severity = told.map_or(Severity::Warning, |it| it.severity);
                let message = format!("there are {} more like it", count - MAX_OF_CODE);
                Finding { severity, ..Finding::warning(part, &code, message) }
            });
        for mut finding in self.found.iter().cloned().chain(more) {
            if findings.iter().any(|it| it.is_same_place(&finding)) {
                continue;
            }
            finding.locale = locale.map(ToString::to_string);
            findings.push(finding);
        }
    }

    fn preheader(&mut self, source: &TemplateSource, around: &Around, locale: &LocaleTag) {
        let text = &self.page.text;
        if text.is_empty() {
            return;
        }
        let in_markup =
            if self.is_mjml { text.contains("<mj-preview") } else { text.contains("preheader") };
        let has_part =
            source.part(SourcePart::Preheader, locale).is_some_and(|it| !it.trim().is_empty());
        let is_shown = around.shows_preheader || in_markup;
        let cure = match (self.is_mjml, around.is_layout) {
            (true, _) => "write `<mj-preview>` into `<mj-head>`",
            (false, true) => {
                "write `{{ preheader }}` into a hidden `<div>` at the beginning of the layout"
            }
            (false, false) => {
                "write it into a hidden `<div class=\"preheader\">` at the beginning of `html`, or take a layout that shows it"
            }
        };
        let finding = |code, message| Finding::warning("preheader", code, message);
        if has_part && !is_shown {
            let message = format!("the preheader is not in the message: {cure}");
            self.found.push(finding("preheader_not_shown", message));
        } else if !has_part && !in_markup {
            let cure = if around.shows_preheader { "write the part `preheader`" } else { cure };
            let message = format!(
                "there is no preheader, so mail clients show the first words of the text beside the subject; {cure}"
            );
            self.found.push(finding("missing_preheader", message));
        }
    }

    fn run(&mut self, around: &Around) {
        let pieces = self.page.pieces();
        if !self.is_mjml {
            let mjml = pieces.iter().find_map(|it| match it {
                Piece::Start(tag) if tag.name == "mjml" || tag.name.starts_with("mj-") => {
                    Some(tag.at)
                }
                Piece::Start(_) | Piece::End { .. } | Piece::Text(_) => None,
            });
            if let Some(at) = mjml {
                let message = "this is MJML, which no mail client shows; write it as `mjml` in place of `html`";
                self.fault("raw_mjml", at, message);
                return;
            }
        }
        let has_dark_styles = around.has_dark_styles || has_dark_styles(&self.page, &pieces);
        let liquid = self.page.liquid.clone();
        self.unescaped(&liquid);
        let calls = liquid.iter().any(|it| it.kind == TokenKind::Call);
        let mut open: Vec<Open<'_>> = Vec::new();
        let mut choices = Choices::default();
        let mut tags = liquid.iter().filter(|it| it.kind != TokenKind::Output).peekable();
        let mut link: Option<Link> = None;
        for (number, piece) in pieces.iter().enumerate() {
            let at = match piece {
                Piece::Start(tag) => tag.at,
                Piece::End { at, .. } => *at,
                Piece::Text(range) => range.start,
            };
            while let Some(token) = tags.next_if(|it| it.range.start < at) {
                choose(token, &mut open, &mut choices);
            }
            match piece {
                Piece::Start(tag) => {
                    let last = open.last();
                    let outer = last
                        .map_or((around.background, around.color), |it| (it.background, it.color));
                    let rest = pieces.get(number + 1..).unwrap_or_default();
                    let colors = self.tag((tag, rest), outer, has_dark_styles);
                    if let Some(link) = &mut link {
                        link.has_text |= matches!(tag.name.as_str(), "img" | "mj-image")
                            && tag.value("alt").is_some_and(|it| !it.is_empty());
                    }
                    let is_link = (tag.name == "a"
                        || tag.name == "mj-button"
                        || tag.name == "mj-navbar-link")
                        && tag.get("href").is_some();
                    if is_link {
                        let has_text = tag.get("aria-label").is_some();
                        link = Some(Link { name: tag.name.clone(), at: tag.at, has_text });
                    }
                    if !is_void(tag) && open.len() < MAX_DEPTH {
                        let (background, color) = colors;
                        open.push(Open { name: &tag.name, at: tag.at, background, color });
                    } else if tag.is_closed {
                        self.end_link(&mut link, &tag.name);
                    }
                }
                Piece::End { name, .. } => {
                    self.tag_name(at);
                    self.end_link(&mut link, name);
                    // An end tag closes no table that is open within its element.
                    if let Some(place) = open.iter().rposition(|it| it.name == name)
                        && (name == "table"
                            || !open.iter().skip(place).any(|it| it.name == "table"))
                    {
                        open.truncate(place);
                    }
                }
                Piece::Text(range) => {
                    if let Some(link) = &mut link {
                        link.has_text |= !self.is_blank(range);
                    }
                    let holder = open.last().map_or("", |it| it.name);
                    self.text(holder, range);
                }
            }
        }
        for token in tags {
            choose(token, &mut open, &mut choices);
        }
        if self.is_whole && !self.is_mjml && !calls {
            for at in open.iter().filter(|it| it.name == "table").map(|it| it.at) {
                let message = "this table has no end: write its `</table>`, or clients put what follows into it";
                self.warn("unclosed_table", at, message);
            }
        }
    }

    /// Filters that print data as HTML.
    fn unescaped(&mut self, liquid: &[Token]) {
        for output in liquid.iter().filter(|it| it.kind == TokenKind::Output) {
            let mut filters = self.page.inside(output).split('|').skip(1).map(root);
            if let Some(filter) = filters.find(|it| matches!(*it, "raw" | "safe"))
                && let Some(path) = self.printed.data_of(&self.page, output)
            {
                let message = format!(
                    "`{path}` is printed as HTML by the filter `{filter}`, with every tag that a sender puts into it; \
                     leave the filter out unless each sender escapes it"
                );
                self.warn("unescaped_output", output.range.start, message);
            }
        }
    }

    fn end_link(&mut self, link: &mut Option<Link>, name: &str) {
        if link.as_ref().is_some_and(|it| it.name == name)
            && let Some(Link { at, has_text: false, .. }) = link.take()
        {
            let message =
                "this link has no text that can be read: write one, or an `alt` for its picture";
            self.warn("link_without_text", at, message);
        }
    }

    /// Whether the HTML in `range` shows nothing: blanks, invisible characters and tags alone.
    fn is_blank(&self, range: &Range<usize>) -> bool {
        !visible::in_html(self.page.masked.get(range.clone()).unwrap_or_default())
    }

    /// Whether an element ends before anything can be read, as in `<td>&nbsp;</td>`. `rest` is what follows its start.
    fn is_spacer(&self, tag: &Tag, rest: &[Piece]) -> bool {
        let end = rest.iter().find(|it| match it {
            Piece::Text(range) => !self.is_blank(range),
            Piece::Start(_) | Piece::End { .. } => true,
        });
        matches!(end, Some(Piece::End { name, .. }) if *name == tag.name)
    }

    /// The colours inside of the element.
    fn tag(
        &mut self,
        (tag, rest): (&Tag, &[Piece]),
        outer: (Background, Option<Color>),
        has_dark_styles: bool,
    ) -> (Background, Option<Color>) {
        self.tag_name(tag.at);
        for attribute in &tag.attributes {
            self.attribute(tag, attribute);
        }
        let is_image = matches!(tag.name.as_str(), "img" | "mj-image" | "mj-carousel-image");
        if is_image && tag.get("alt").is_none() {
            let message = "this picture has no `alt`, which is shown while pictures are blocked and read aloud; \
                           write one, or `alt=\"\"` where it only adorns";
            self.warn("image_without_alt", tag.at, message);
        }
        let sized =
            |it: &str| tag.get(it).is_some() || tag.style(it).is_some_and(|value| value != "auto");
        if tag.name == "img" && !sized("width") && !sized("height") {
            let message = "this picture has no size, so Outlook shows it as large as it is, and the text jumps when it \
                           loads; write `width` and `height`";
            self.warn("image_without_size", tag.at, message);
        }
        self.unsupported(&format!("<{}>", tag.name), tag.at);
        self.colors((tag, rest), outer, has_dark_styles)
    }

    fn colors(
        &mut self,
        (tag, rest): (&Tag, &[Piece]),
        outer: (Background, Option<Color>),
        has_dark_styles: bool,
    ) -> (Background, Option<Color>) {
        let (own, color) = colors(tag, &self.page, outer.0);
        let background = if own == Background::None { outer.0 } else { own };
        let inside = (background, color.or(outer.1));
        let is_hidden = tag.style("display").is_some_and(|it| it.eq_ignore_ascii_case("none"));
        let is_text = color.is_some() && tag.name != "hr" && !tag.name.starts_with("mj-social");
        if is_hidden || !is_text || self.is_spacer(tag, rest) {
            return inside;
        }
        let Some(color) = color else { return inside };
        let size = tag.style("font-size").or(tag.value("font-size"));
        let size = size.and_then(|it| it.strip_suffix("px")?.trim().parse::<u32>().ok());
        // What WCAG asks of large texts, and of others.
        let wanted = if size.is_some_and(|it| it >= 24) { 30 } else { 45 };
        match background {
            Background::Is(background) => {
                let contrast = color.contrast(background);
                if contrast < wanted {
                    let message = format!(
                        "this text has a contrast of {}.{}:1 on its background, and WCAG asks for {}.{}:1; make one of \
                         them darker or lighter",
                        contrast / 10,
                        contrast % 10,
                        wanted / 10,
                        wanted % 10
                    );
                    self.warn("low_contrast", tag.at, message);
                }
            }
            Background::None
                // What is around a partial is not known.
                if !has_dark_styles && self.is_whole && color.contrast(DARK) < 30 =>
            {
                let message = "this text is dark and nothing sets its background, which clients in the dark show dark; \
                               set `background-color` too, or a colour in `@media (prefers-color-scheme: dark)`";
                self.warn("unreadable_in_the_dark", tag.at, message);
            }
            Background::None | Background::Unknown => {}
        }
        inside
    }

    fn tag_name(&mut self, at: usize) {
        if let Some(message) = self.printed.in_tag_name(&self.page, at) {
            self.fault("output_in_tag", at, message);
        }
    }

    fn attribute(&mut self, tag: &Tag, it: &Attribute) {
        let name = it.name.as_str();
        let at = it.at;
        let first = self.page.outputs(&it.range).next().cloned();
        if let Some(output) = &first {
            if !it.is_quoted && !self.is_mjml {
                let message = format!(
                    "data stands in `{name}` without quotes, where a blank in it begins another attribute; write \
                     `{name}=\"…\"`"
                );
                self.fault("unquoted_attribute", at, message);
            }
            if name.starts_with("on") {
                let message = format!(
                    "data stands in the script of `{name}`, where escaping does not protect; take the attribute out, \
                     mail clients run none"
                );
                self.fault("output_in_script", at, message);
            } else if name == "srcdoc" {
                let message = "data stands in `srcdoc`, where its escaping is undone before it is read as HTML; take \
                               the attribute out, mail clients show none";
                self.fault("output_in_srcdoc", at, message);
            } else if LINKS.contains(&name)
                && !is_script(&it.value)
                && let Some(message) = self.printed.begins_link(&self.page, it, output)
            {
                self.warn("link_of_data", at, message);
            }
        } else if self.page.outputs(&(at..at + name.len())).next().is_some() {
            let message = "data stands between attributes, where it can be any of them; write it into a value, in quotes";
            self.fault("unquoted_attribute", at, message);
        }
        if LINKS.contains(&name) && is_script(&it.value) {
            let message = format!(
                "`{name}` is a script, which no mail client runs; write https:// and what does it there"
            );
            if first.is_some() {
                self.fault("output_in_script", at, message);
            } else {
                self.warn("script_link", at, message);
            }
        }
        if matches!(name, "href" | "action") && is_data_url(&it.value) {
            let message = format!(
                "`{name}` is a `data:` link, which mail clients and browsers do not open; put what it holds on a server, \
                 and write https:// and where it is"
            );
            self.warn("data_link", at, message);
        }
        let value = it.value.trim();
        if LINKS.contains(&name) && value.starts_with("http://") {
            let message =
                format!("`{name}` goes over http, which clients warn of or block; write https://");
            self.warn("http_link", at, message);
        }
        if name == "style"
            && let Some(message) = self.printed.in_style(&self.page, it)
        {
            self.warn("output_in_style", at, message);
        }
        if name == "style" && !tag.name.starts_with("mj-") {
            let css = self.page.masked.get(it.range.clone()).unwrap_or_default().to_owned();
            self.css(&css, it.range.start);
        }
    }

    fn text(&mut self, holder: &str, range: &Range<usize>) {
        let output = self.page.outputs(range).next().map(|it| it.range.start);
        match (holder, output) {
            ("script", Some(at)) => {
                let message = "data stands in a script, where escaping does not protect; take the script out, mail \
                               clients run none";
                self.fault("output_in_script", at, message);
            }
            (holder, Some(at)) if is_style(holder) => {
                let message = "data stands in a style sheet, where escaping does not protect: it can end a rule and \
                               begin another; choose between classes with `{% if %}`";
                self.warn("output_in_style", at, message);
            }
            _ => {}
        }
        if is_style(holder) {
            let css = self.page.masked.get(range.clone()).unwrap_or_default();
            let css = css::without_comments(css);
            for (at, piece) in css::pieces(&css) {
                let at = range.start + at;
                match piece {
                    css::Piece::Rule(rule) => self.css(rule, at),
                    css::Piece::DarkRule(rule) => self.dark_rule(rule, at),
                    css::Piece::Import => self.unsupported("@import", at),
                }
            }
        }
    }

    /// The colours of a rule for clients in the dark.
    fn dark_rule(&mut self, rule: &str, at: usize) {
        let of = |names: &[&str]| {
            let found = declarations(rule)
                .filter(|(name, _)| names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted)));
            found.last().map(|(_, value)| value)
        };
        let background = of(&["background-color", "background"]).and_then(Color::of);
        let color = of(&["color"]).and_then(|it| Color::over(it, background));
        if let (Some(color), Some(background)) = (color, background) {
            let contrast = color.contrast(background);
            if contrast < 45 {
                let message = format!(
                    "in the dark this rule has a contrast of {}.{}:1, and WCAG asks for 4.5:1; make the text lighter or \
                     its background darker",
                    contrast / 10,
                    contrast % 10
                );
                self.warn("low_contrast", at, message);
            }
        }
    }

    /// Declarations that begin at a place of the source.
    fn css(&mut self, style: &str, at: usize) {
        let mut at = at;
        for declaration in style.split(';') {
            let place = at + declaration.len() - declaration.trim_start().len();
            at += declaration.len() + 1;
            let Some((property, value)) = declarations(declaration).next() else { continue };
            let property = property.to_ascii_lowercase();
            if property.starts_with("mso-") || property.starts_with('-') {
                continue;
            }
            self.unsupported(&property, place);
            if matches!(property.as_str(), "display" | "flex-direction" | "flex-wrap") {
                self.unsupported(&format!("{property}:{}", value.to_ascii_lowercase()), place);
            }
        }
    }

    /// Each property and element is told once.
    fn unsupported(&mut self, name: &str, at: usize) {
        let Some(it) = clients::unsupported(name) else { return };
        if !self.features.insert(it.page) {
            return;
        }
        let message = format!(
            "`{name}` is not shown by {} (caniemail.com/features/{}, {}); make sure that the mail reads well without it",
            it.clients,
            it.page,
            clients::date()
        );
        self.warn("not_in_all_clients", at, message);
    }
}

/// Choices that have not ended.
#[derive(Default)]
struct Choices<'p> {
    followed: Vec<(Vec<Open<'p>>, Option<Vec<Open<'p>>>)>,
    /// Those within the last one that are beyond [`MAX_CHOICES`].
    skipped: usize,
}

/// What a branch opens or closes, the others do too: each begins where the choice began, and the first one counts.
fn choose<'p>(token: &Token, open: &mut Vec<Open<'p>>, choices: &mut Choices<'p>) {
    let Choices { followed, skipped } = choices;
    match token.kind {
        TokenKind::Choice if followed.len() < MAX_CHOICES => followed.push((open.clone(), None)),
        TokenKind::Choice => *skipped += 1,
        TokenKind::EndChoice if *skipped > 0 => *skipped -= 1,
        TokenKind::Branch if *skipped > 0 => {}
        TokenKind::Branch => {
            if let Some((before, first)) = followed.last_mut() {
                let now = std::mem::replace(open, before.clone());
                first.get_or_insert(now);
            }
        }
        TokenKind::EndChoice => {
            if let Some((_, Some(first))) = followed.pop() {
                *open = first;
            }
        }
        TokenKind::Output | TokenKind::Call | TokenKind::Other => {}
    }
}

#[cfg(test)]
mod tests;
