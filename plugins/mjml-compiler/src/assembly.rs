//! A document with its includes in one text, in which a word stands for each piece of Liquid.

use std::ops::Range;

use htmlparser::{ElementEnd, Token as Xml, Tokenizer};
use waxwing_plugin::mjml_compiler::Document;
use waxwing_plugin::{Diagnostic, fault_in_source};

use crate::elements;
use crate::liquid::{self, Token, TokenKind};

/// Bytes of a document with all that it includes: the parser's time and memory grow with them.
const MAX_BYTES: usize = 1 << 20;
/// Includes inside of includes.
const MAX_INCLUDE_DEPTH: usize = 10;
/// What a path may end in beside the name of the include.
const EXTENSIONS: [&str; 4] = [".mjml", ".html", ".css", ".liquid"];

/// The text that is compiled, and where each part of it comes from.
#[derive(Debug)]
pub struct Assembly<'d> {
    pub text: String,
    /// What the words stand for; a word is the prefix, its index and an `x`.
    pub words: Vec<Word<'d>>,
    prefix: String,
    sources: Vec<Source<'d>>,
    pieces: Vec<Piece>,
}

/// A piece of Liquid, for which a word stands.
#[derive(Debug)]
pub struct Word<'d> {
    pub liquid: &'d str,
    pub kind: TokenKind,
    /// Where the word is in the text.
    pub at: usize,
}

/// A text that somebody wrote, under the name that diagnostics have for it.
#[derive(Debug, Clone, Copy)]
struct Source<'d> {
    /// None for the document itself.
    include: Option<&'d str>,
    text: &'d str,
}

/// From `at` on the text comes from `source`.
#[derive(Debug)]
struct Piece {
    at: usize,
    source: usize,
    from: usize,
    /// Whether it is the source's own text, and not a word or what an include is wrapped in.
    is_copied: bool,
}

/// An `mj-include` of a source.
#[derive(Debug, Default)]
struct Include {
    range: Range<usize>,
    path: String,
    kind: String,
}

impl<'d> Assembly<'d> {
    /// Puts the document together.
    ///
    /// # Errors
    /// Liquid that does not end, and what is wrong with the includes.
    pub fn new(document: &'d Document) -> Result<Self, Vec<Diagnostic>> {
        let mut prefix = "liquid".to_owned();
        let includes = document.includes.iter().map(|it| &it.value);
        while includes.clone().chain([&document.source]).any(|it| it.contains(&prefix)) {
            prefix.push('q');
        }
        let mut assembly = Self {
            text: String::new(),
            words: Vec::new(),
            prefix,
            sources: Vec::new(),
            pieces: Vec::new(),
        };
        let mut faults = Vec::new();
        let source = Source { include: None, text: &document.source };
        assembly.add(source, document, &mut Vec::new(), &mut faults);
        if faults.is_empty() { Ok(assembly) } else { Err(faults) }
    }

    /// A fault at a place of the text, as one of the source that the place comes from.
    pub fn fault(&self, at: usize, code: &str, message: impl Into<String>) -> Diagnostic {
        let index = self.pieces.partition_point(|it| it.at <= at).saturating_sub(1);
        let piece = &self.pieces[index];
        let inside = if piece.is_copied { at - piece.at } else { 0 };
        self.sources[piece.source].fault(piece.from + inside, code, message)
    }

    /// The words of a part of the text, in order, each with its index.
    pub fn words_in<'t>(&self, text: &'t str) -> impl Iterator<Item = (usize, &'t str)> {
        let prefix = self.prefix.clone();
        text.match_indices(&self.prefix).map(|(at, _)| at).filter_map(move |at| {
            let rest = text.get(at + prefix.len()..)?;
            let end = rest.find('x')?;
            let index = rest.get(..end)?.parse().ok()?;
            Some((index, text.get(at..at + prefix.len() + end + 1)?))
        })
    }

    /// The text with Liquid in place of the words, and which of them it has.
    pub fn unmasked(&self, text: &str) -> (String, Vec<bool>) {
        let (mut out, mut is_there) = (String::with_capacity(text.len()), Vec::new());
        is_there.resize(self.words.len(), false);
        let mut rest = text;
        for (index, word) in self.words_in(text) {
            let (Some((before, after)), Some(it)) = (rest.split_once(word), self.words.get(index))
            else {
                continue;
            };
            out.push_str(before);
            out.push_str(it.liquid);
            is_there[index] = true;
            rest = after;
        }
        out.push_str(rest);
        (out, is_there)
    }

    fn add(
        &mut self,
        source: Source<'d>,
        document: &'d Document,
        open: &mut Vec<&'d str>,
        faults: &mut Vec<Diagnostic>,
    ) {
        let text = source.text;
        let number = self.sources.len();
        self.sources.push(source);
        if self.text.len() + text.len() > MAX_BYTES {
            let message = format!(
                "the MJML has over {MAX_BYTES} bytes with all that it includes; shorten it, or \
                 include less"
            );
            return faults.push(source.fault(0, "too_large", message));
        }
        let tokens = match liquid::tokens(text) {
            Ok(tokens) => tokens,
            Err(at) => {
                let message = "the Liquid that begins here does not end: its `}}`, `%}` or \
                               `{% end… %}` is missing";
                return faults.push(source.fault(at, "unclosed_tag", message));
            }
        };
        let includes = includes(text, &tokens);
        let mut tokens = tokens.into_iter().peekable();
        let mut at = 0;
        for include in includes {
            while let Some(token) = tokens.next_if(|it| it.range.start < include.range.start) {
                self.copy(number, at..token.range.start);
                at = token.range.end;
                self.word(number, &token);
            }
            self.copy(number, at..include.range.start);
            at = include.range.end;
            if tokens.next_if(|it| it.range.start < at).is_some() {
                let message = "an include is looked up when the template is published, so its path \
                               has no Liquid; choose with `{% if %}` between two includes";
                faults.push(source.fault(include.range.start, "liquid_in_include", message));
                while tokens.next_if(|it| it.range.start < at).is_some() {}
                continue;
            }
            match resolve(&include, document, open) {
                Err((code, message)) => {
                    faults.push(source.fault(include.range.start, code, message));
                }
                Ok((name, text, (before, after))) => {
                    self.wrap(number, include.range.start, before);
                    open.push(name);
                    self.add(Source { include: Some(name), text }, document, open, faults);
                    open.pop();
                    self.wrap(number, include.range.start, after);
                }
            }
        }
        for token in tokens {
            self.copy(number, at..token.range.start);
            at = token.range.end;
            self.word(number, &token);
        }
        self.copy(number, at..text.len());
    }

    fn copy(&mut self, source: usize, range: Range<usize>) {
        let copied = self.sources[source].text.get(range.clone()).unwrap_or_default();
        self.pieces.push(Piece { at: self.text.len(), source, from: range.start, is_copied: true });
        self.text.push_str(copied);
    }

    fn word(&mut self, source: usize, token: &Token) {
        let liquid = self.sources[source].text.get(token.range.clone()).unwrap_or_default();
        let word = format!("{}{}x", self.prefix, self.words.len());
        self.words.push(Word { liquid, kind: token.kind, at: self.text.len() });
        self.wrap(source, token.range.start, &word);
    }

    fn wrap(&mut self, source: usize, from: usize, text: &str) {
        self.pieces.push(Piece { at: self.text.len(), source, from, is_copied: false });
        self.text.push_str(text);
    }
}

impl Source<'_> {
    fn fault(&self, at: usize, code: &str, message: impl Into<String>) -> Diagnostic {
        let part = self.include.map_or_else(|| "mjml".to_owned(), |it| format!("include:{it}"));
        fault_in_source((&part, self.text), at, code, message)
    }
}

/// The includes of a source, in order. Behind a fault of XML none is found: the check names it.
fn includes(source: &str, tokens: &[Token]) -> Vec<Include> {
    if !source.contains("<mj-include") {
        return Vec::new();
    }
    // Of the same length, so that a place in one is a place in the other.
    let (mut xml, mut at) = (String::with_capacity(source.len()), 0);
    for token in tokens {
        xml.push_str(source.get(at..token.range.start).unwrap_or_default());
        xml.extend(std::iter::repeat_n('x', token.range.len()));
        at = token.range.end;
    }
    xml.push_str(source.get(at..).unwrap_or_default());
    let (mut found, mut open) = (Vec::new(), None::<Include>);
    for token in Tokenizer::from_fragment(&xml, 0..xml.len()) {
        let Ok(token) = token else { break };
        #[expect(clippy::wildcard_enum_match_arm, reason = "an include has no other tokens")]
        match token {
            Xml::ElementStart { local, span, .. } if local.as_str() == "mj-include" => {
                open = Some(Include { range: span.range(), ..Include::default() });
            }
            Xml::Attribute { local, value, .. } => {
                let value = value.map(|it| it.as_str().to_owned()).unwrap_or_default();
                match (&mut open, local.as_str()) {
                    (Some(it), "path") => it.path = value,
                    (Some(it), "type") => it.kind = value,
                    _ => {}
                }
            }
            Xml::ElementEnd { end, span } => {
                let ends = match end {
                    ElementEnd::Open => false,
                    ElementEnd::Empty => true,
                    ElementEnd::Close(_, local) => local.as_str() == "mj-include",
                };
                if ends && let Some(mut it) = open.take() {
                    it.range.end = span.end();
                    found.push(it);
                }
            }
            _ => {}
        }
    }
    found
}

type Resolved<'d> = (&'d str, &'d str, (&'static str, &'static str));

/// Name and text of what is included, and what that is wrapped in; or why there is none.
fn resolve<'d>(
    include: &Include,
    document: &'d Document,
    open: &[&str],
) -> Result<Resolved<'d>, (&'static str, String)> {
    let path = include.path.strip_prefix("./").unwrap_or(&include.path);
    let name = EXTENSIONS.iter().find_map(|it| path.strip_suffix(it)).unwrap_or(path);
    let names = || document.includes.iter().map(|it| it.key.as_str());
    let Some(it) = document.includes.iter().find(|it| it.key == path || it.key == name) else {
        let hint = elements::nearest(name, names()).map_or_else(
            || "publish it as a partial first".to_owned(),
            |it| format!("did you mean `{it}`?"),
        );
        return Err(("unknown_include", format!("there is no `{path}` to include; {hint}")));
    };
    let name = it.key.as_str();
    if open.contains(&name) {
        return Err((
            "include_cycle",
            format!("`{name}` includes itself; take one of the two out"),
        ));
    }
    if open.len() == MAX_INCLUDE_DEPTH {
        let message =
            format!("includes are over {MAX_INCLUDE_DEPTH} deep; put some of them together");
        return Err(("too_deep", message));
    }
    if it.value.trim_start().starts_with("<mjml") {
        let message = format!(
            "`{name}` is a whole document, and an include is what stands in its place: take \
             `<mjml>` and `<mj-body>` off it"
        );
        return Err(("include_is_document", message));
    }
    let wrapped = match include.kind.as_str() {
        "" | "mjml" => ("", ""),
        "html" => ("<mj-raw>", "</mj-raw>"),
        "css" => ("<mj-style>", "</mj-style>"),
        other => {
            return Err(("bad_include", format!("`type` is mjml, html or css, and not `{other}`")));
        }
    };
    Ok((name, &it.value, wrapped))
}
