//! What is wrong with a document that mrml would take, or would not explain.

use htmlparser::{ElementEnd, Error as E, StrSpan, Token, Tokenizer};
use waxwing_plugin::{Diagnostic, Severity};

use crate::assembly::Assembly;
use crate::elements::{self, Content, Element};
use crate::liquid::TokenKind;

/// Elements inside of elements: mrml goes down by recursion, and a guest's stack is small.
const MAX_DEPTH: usize = 100;
/// Faults that are listed.
const MAX_FAULTS: usize = 50;
const MEASURE_CURE: &str = "write a number, or two elements between `{% if %}` and `{% else %}`";

/// What the check has found.
#[derive(Debug, Default)]
pub struct Findings {
    pub faults: Vec<Diagnostic>,
    pub warnings: Vec<Diagnostic>,
    /// Source of the text of `mj-preview`.
    pub preview: Option<String>,
    /// Words of defaults (`mj-attributes`) that print: no element need have them.
    pub optional: Vec<usize>,
}

/// Reads the whole document once.
pub fn check(assembly: &Assembly<'_>) -> Findings {
    let mut check = Check {
        assembly,
        open: Vec::new(),
        attributes: Vec::new(),
        body: false,
        found: Findings::default(),
    };
    check.run();
    check.found
}

struct Check<'a> {
    assembly: &'a Assembly<'a>,
    open: Vec<Open<'a>>,
    /// Names of the attributes of the element that is being read.
    attributes: Vec<&'a str>,
    body: bool,
    found: Findings,
}

/// An element that has not ended yet.
struct Open<'a> {
    name: &'a str,
    at: usize,
    /// None for HTML, and for defaults.
    element: Option<&'static Element>,
}

impl<'a> Check<'a> {
    fn run(&mut self) {
        let mut tokenizer = Tokenizer::from(self.assembly.text.as_str());
        // Comments of Outlook are elements for mrml: what one opens, one has to close.
        loop {
            if self.found.faults.len() >= MAX_FAULTS {
                return;
            }
            match tokenizer.next() {
                None => break,
                Some(Err(error)) => return self.not_xml(error),
                Some(Ok(token)) => {
                    if !self.token(&token) {
                        return;
                    }
                }
            }
        }
        if let Some(open) = self.open.last() {
            let message = format!("`<{}>` has no end: write its `</{}>`", open.name, open.name);
            self.fault(open.at, "unclosed_element", message);
        } else if !self.body && self.found.faults.is_empty() {
            let message = "there is no `<mj-body>`; a document is \
                           `<mjml><mj-body>…</mj-body></mjml>`";
            self.fault(0, "no_body", message);
        }
    }

    /// Whether the rest can be read.
    fn token(&mut self, token: &Token<'a>) -> bool {
        match token {
            Token::ElementStart { prefix, local, span } => self.start(*prefix, *local, *span),
            Token::Attribute { prefix, local, value, span } => {
                self.attribute((*prefix, *local), *value, *span);
                true
            }
            Token::ElementEnd { end, span } => match end {
                ElementEnd::Open => {
                    let is_void = self
                        .open
                        .last()
                        .is_some_and(|it| it.element.is_none() && elements::is_void(it.name));
                    if is_void {
                        self.open.pop();
                    }
                    true
                }
                ElementEnd::Empty => self.open.pop().is_some(),
                ElementEnd::Close(prefix, local) => self.end(*prefix, *local, *span),
            },
            Token::Text { text } | Token::Cdata { text, .. } => {
                self.text(*text);
                true
            }
            Token::Declaration { .. }
            | Token::ProcessingInstruction { .. }
            | Token::ConditionalCommentStart { .. }
            | Token::ConditionalCommentEnd { .. }
            | Token::Comment { .. }
            | Token::DtdStart { .. }
            | Token::EmptyDtd { .. }
            | Token::EntityDeclaration { .. }
            | Token::DtdEnd { .. } => true,
        }
    }

    fn start(&mut self, prefix: StrSpan<'a>, local: StrSpan<'a>, span: StrSpan<'a>) -> bool {
        let (name, at) = (self.qualified(prefix, local), span.start());
        self.attributes.clear();
        if self.open.len() == MAX_DEPTH {
            let message = format!("elements are over {MAX_DEPTH} deep here; nest them less");
            self.fault(at, "too_deep", message);
            return false;
        }
        if self.has_words(name) {
            let message = "Liquid makes no name of an element; write the elements out, between \
                           `{% if %}` and `{% else %}`";
            self.fault(at, "liquid_in_name", message);
            return false;
        }
        let is_default = self.open.last().is_some_and(|it| it.name == "mj-attributes");
        let element = elements::find(name);
        if is_default {
            if element.is_none() && name != "mj-all" && name != "mj-class" {
                self.unknown_element(name, at);
            }
        } else {
            self.place(name, at, element);
        }
        self.body |= name == "mj-body";
        self.open.push(Open { name, at, element: element.filter(|_| !is_default) });
        true
    }

    /// Whether the element may stand where it is.
    fn place(&mut self, name: &'a str, at: usize, element: Option<&'static Element>) {
        let is_mjml = name == "mjml" || name.starts_with("mj-");
        if is_mjml && element.is_none() {
            return self.unknown_element(name, at);
        }
        let Some(parent) = self.open.last() else {
            if name != "mjml" {
                let message = format!("a document begins with `<mjml>`, and this is `<{name}>`");
                self.fault(at, "no_root", message);
            }
            return;
        };
        let Some(holder) = parent.element else {
            if is_mjml {
                let message = format!(
                    "`<{name}>` stands in HTML, where it is no element; end `<{}>` before it",
                    parent.name
                );
                self.fault(at, "misplaced_element", message);
            }
            return;
        };
        if holder.content.may_hold(name) || (holder.content == Content::Html && !is_mjml) {
            return;
        }
        if holder.content == Content::Html && name == "mj-raw" {
            let message = "`<mj-raw>` is not needed in HTML; write what it holds in its place";
            return self.fault(at, "misplaced_element", message);
        }
        let cure = match elements::parents(name).as_slice() {
            _ if !is_mjml => "put HTML into `<mj-raw>` or `<mj-text>`".to_owned(),
            [] => "take it out".to_owned(),
            parents => format!("put it into `<{}>`", parents.join(">`, `<")),
        };
        let message = format!("`<{name}>` does not belong in `<{}>`; {cure}", parent.name);
        self.fault(at, "misplaced_element", message);
    }

    fn unknown_element(&mut self, name: &str, at: usize) {
        let hint = elements::nearest_element(name).map_or_else(
            || "it would be dropped".to_owned(),
            |nearest| format!("did you mean `<{nearest}>`?"),
        );
        self.fault(at, "unknown_element", format!("there is no element `<{name}>`; {hint}"));
    }

    fn attribute(
        &mut self,
        (prefix, local): (StrSpan<'a>, StrSpan<'a>),
        value: Option<StrSpan<'a>>,
        span: StrSpan<'a>,
    ) {
        let (name, at) = (self.qualified(prefix, local), span.start());
        if self.has_words(name) {
            let message = "Liquid stands between attributes, where one of them could get lost; \
                           write it into a value: `class=\"{% if a %}b{% endif %}\"`";
            return self.fault(at, "liquid_in_name", message);
        }
        if self.attributes.contains(&name) {
            let message = format!("the attribute `{name}` is there twice; leave one");
            self.fault(at, "duplicate_attribute", message);
        }
        self.attributes.push(name);
        let value_at = value.map_or(at, |it| it.start());
        let value = value.map_or("", |it| it.as_str());
        if value.contains('"') {
            let message = format!("write `&quot;` for the quotation mark in the value of `{name}`");
            self.fault(value_at, "quote_in_value", message);
        }
        self.known(name, at);
        if self.is_mjml() {
            self.measure(name, value, value_at);
        }
        let is_inline_style = name == "inline" && value == "inline";
        if is_inline_style && self.open.last().is_some_and(|it| it.name == "mj-style") {
            let message = "the rules stay in `<style>` and are not written into the elements; for \
                           what must hold without `<style>` use attributes of the elements";
            self.warn(at, "style_not_inlined", message);
        }
        if self.open.iter().any(|it| it.name == "mj-attributes") {
            let words = self.assembly.words_in(value).map(|(index, _)| index);
            let prints = |index: &usize| self.assembly.words[*index].kind == TokenKind::Output;
            self.found.optional.extend(words.filter(prints));
        }
    }

    /// Whether the innermost element is one of MJML, or its defaults.
    fn is_mjml(&self) -> bool {
        self.open.last().is_some_and(|it| it.element.is_some() || it.name.starts_with("mj-"))
    }

    fn known(&mut self, name: &str, at: usize) {
        let Some(open) = self.open.last() else { return };
        let Some(element) = elements::find(open.name) else {
            let is_shared = ["mj-all", "mj-class"].contains(&open.name);
            if is_shared && name != "name" && !elements::is_any_attribute(name) {
                let message = format!("no element has an attribute `{name}`; it has no effect");
                self.warn(at, "unknown_attribute", message);
            }
            return;
        };
        if element.has(name) {
            return;
        }
        let hint = element.nearest_attribute(name).map_or_else(
            || "it has no effect".to_owned(),
            |nearest| format!("did you mean `{nearest}`?"),
        );
        let message = format!("`<{}>` has no attribute `{name}`; {hint}", open.name);
        self.warn(at, "unknown_attribute", message);
    }

    fn measure(&mut self, name: &str, value: &str, at: usize) {
        let is_wrong = if elements::is_border(name) {
            value.split_whitespace().next().is_some_and(|width| self.has_words(width))
        } else {
            elements::is_measure(name) && self.has_words(value)
        };
        if is_wrong {
            let message = format!(
                "`{name}` is computed with when the template is published, before Liquid runs; \
                 {MEASURE_CURE}"
            );
            self.fault(at, "liquid_in_dimension", message);
        }
    }

    fn end(&mut self, prefix: StrSpan<'a>, local: StrSpan<'a>, span: StrSpan<'a>) -> bool {
        let name = self.qualified(prefix, local);
        match self.open.pop() {
            Some(open) if open.name == name => true,
            Some(open) => {
                let line = self.assembly.fault(open.at, "", "").line;
                let message = format!(
                    "`</{name}>` comes before the end of `<{}>` of line {line}; write `</{}>` \
                     first",
                    open.name, open.name
                );
                self.fault(span.start(), "unclosed_element", message);
                false
            }
            None => {
                let message = format!("`</{name}>` ends nothing; take it out");
                self.fault(span.start(), "unclosed_element", message);
                false
            }
        }
    }

    fn text(&mut self, text: StrSpan<'a>) {
        let (said, at) = (text.as_str(), text.start());
        let Some(open) = self.open.last() else { return };
        let holder = open.name;
        if holder == "mj-preview" {
            let (preview, _) = self.assembly.unmasked(said);
            self.found.preview = Some(preview);
        }
        let content = match open.element {
            Some(element) => element.content,
            None if open.name == "mj-attributes" => Content::Defaults,
            None => return,
        };
        let at = at + (said.len() - said.trim_start().len());
        match content {
            Content::Html | Content::Text => {}
            Content::ElementsAndLiquid(_) => self.between_elements(said, at, holder),
            Content::Elements(_) | Content::Nothing | Content::Defaults => {
                if self.has_words(said) {
                    let message = format!(
                        "Liquid between the elements of `<{holder}>` would get lost; write it \
                         around the whole `<{holder}>`, or into an element"
                    );
                    self.fault(at, "liquid_between_elements", message);
                } else if !said.trim().is_empty() {
                    self.stray_text(at, holder);
                }
            }
        }
    }

    /// Text where only elements and Liquid stand.
    fn between_elements(&mut self, said: &str, at: usize, holder: &str) {
        let mut rest = said.to_owned();
        let mut repeats = false;
        let mut chooses = false;
        for (index, word) in self.assembly.words_in(said) {
            rest = rest.replacen(word, "", 1);
            let kind = self.assembly.words[index].kind;
            repeats |= kind == TokenKind::Loop;
            chooses |= kind == TokenKind::Choice;
        }
        if !rest.trim().is_empty() {
            return self.stray_text(at, holder);
        }
        let holds_columns = holder == "mj-section" || holder == "mj-group";
        if holds_columns && repeats {
            let message = format!(
                "the widths of columns are computed when the template is published, for those \
                 that are written in `<{holder}>`; write the loop around the `<mj-section>`, or \
                 into an `<mj-column>`"
            );
            self.warn(at, "looped_column", message);
        } else if holds_columns && chooses {
            let message = format!(
                "the widths of columns are computed when the template is published, as if all of \
                 `<{holder}>` were shown; choose between two sections instead"
            );
            self.warn(at, "conditional_column", message);
        }
    }

    fn stray_text(&mut self, at: usize, holder: &str) {
        let message = format!("text in `<{holder}>` is not shown; put it into `<mj-text>`");
        self.fault(at, "stray_text", message);
    }

    fn not_xml(&mut self, error: htmlparser::Error) {
        let text = self.assembly.text.as_str();
        let pos = error.pos();
        let line = (pos.row as usize).saturating_sub(1);
        let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let column = (pos.col as usize).saturating_sub(1);
        let rest = text.get(before..).unwrap_or_default();
        let inside = rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at);
        let message = match error {
            _ if self.open.is_empty() => {
                "only elements stand before `<mjml>` and behind `</mjml>`; write this into `<mj-body>`"
            }
            E::InvalidComment(..) => {
                "this comment is not XML: it needs `-->` at its end, and no `--` inside"
            }
            E::InvalidAttribute(..) => "this attribute is not XML: write `name=\"value\"`",
            E::InvalidEntity(..)
            | E::InvalidCharData(..)
            | E::InvalidElement(..)
            | E::UnknownToken(_) => {
                "this is not XML: write `&lt;` for a `<` that begins no element"
            }
            E::InvalidDeclaration(..)
            | E::InvalidConditionalComment(..)
            | E::InvalidPI(..)
            | E::InvalidDoctype(..)
            | E::InvalidCdata(..) => "this is not XML: look for an end that is missing",
        };
        self.fault(before + inside, "not_xml", message);
    }

    fn qualified(&self, prefix: StrSpan<'a>, local: StrSpan<'a>) -> &'a str {
        let start = if prefix.is_empty() { local.start() } else { prefix.start() };
        self.assembly.text.get(start..local.end()).unwrap_or_default()
    }

    fn has_words(&self, text: &str) -> bool {
        self.assembly.words_in(text).next().is_some()
    }

    fn fault(&mut self, at: usize, code: &str, message: impl Into<String>) {
        self.found.faults.push(self.assembly.fault(at, code, message));
    }

    fn warn(&mut self, at: usize, code: &str, message: impl Into<String>) {
        let fault = self.assembly.fault(at, code, message);
        if self.found.warnings.len() < MAX_FAULTS {
            self.found.warnings.push(Diagnostic { severity: Severity::Warning, ..fault });
        }
    }
}
