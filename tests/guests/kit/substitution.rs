//! The smallest template language: `{{ path.to.value }}`, and nothing else.

use serde_json::Value;
use waxwing_plugin::renderer::{Body, Output, Part, Source, Template, Variable};
use waxwing_plugin::{Diagnostic, Failure, fault};

/// A template as it came.
pub struct Mail {
    /// Its texts.
    pub sources: Vec<Source>,
    layout: Option<String>,
}

/// A text, or the name of a variable.
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

impl Mail {
    /// Keeps the template's texts.
    pub fn new(template: Template) -> Self {
        Self { sources: template.sources, layout: template.layout }
    }

    /// Each variable once, in order of first use.
    pub fn variables(&self) -> Vec<Variable> {
        let mut paths: Vec<&str> = Vec::new();
        let texts = self.sources.iter().map(|it| it.text.as_str());
        for piece in texts.flat_map(pieces) {
            if let Piece::Variable(path) = piece
                && !paths.contains(&path)
            {
                paths.push(path);
            }
        }
        paths.iter().map(|it| Variable { path: (*it).to_owned(), required: true }).collect()
    }

    /// Every part, with the mark before its text.
    pub fn render(&self, mark: &str, data: &str) -> Result<Output, Failure> {
        let data: Value = serde_json::from_str(data)
            .map_err(|error| Failure::InvalidInput(vec![fault("data", error.to_string())]))?;
        let missing: Vec<Diagnostic> = self
            .variables()
            .iter()
            .filter(|it| look_up(&data, &it.path).is_none())
            .map(|it| fault("missing_variable", format!("`{}` is missing", it.path)))
            .collect();
        if !missing.is_empty() {
            return Err(Failure::InvalidInput(missing));
        }
        let mut bodies: Vec<Body> = self
            .sources
            .iter()
            .map(|it| {
                let html = it.part == Part::Html;
                let mut text = filled(&it.text, html, |path| look_up(&data, path));
                if let (true, Some(layout)) = (html, &self.layout) {
                    text = filled(layout, false, |path| {
                        (path == "content").then(|| text.clone()).or_else(|| look_up(&data, path))
                    });
                }
                Body { part: it.part, text: format!("{mark} {text}") }
            })
            .collect();
        let html = bodies.iter().find(|it| it.part == Part::Html);
        if let (Some(html), false) = (html, bodies.iter().any(|it| it.part == Part::Text)) {
            bodies.push(Body { part: Part::Text, text: without_tags(&html.text) });
        }
        Ok(Output { bodies, missing: Vec::new() })
    }

    /// The length of the texts.
    pub fn weight(&self) -> u32 {
        let bytes: usize = self.sources.iter().map(|it| it.text.len()).sum();
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((path, behind)) = after.split_once("}}") else { break };
        pieces.push(Piece::Text(before));
        pieces.push(Piece::Variable(path.trim()));
        rest = behind;
    }
    pieces.push(Piece::Text(rest));
    pieces
}

fn filled(text: &str, html: bool, value: impl Fn(&str) -> Option<String>) -> String {
    let one = |piece: Piece<'_>| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Variable(path) if html => escaped(&value(path).unwrap_or_default()),
        Piece::Variable(path) => value(path).unwrap_or_default(),
    };
    pieces(text).into_iter().map(one).collect()
}

fn look_up(data: &Value, path: &str) -> Option<String> {
    match path.split('.').try_fold(data, |it, key| it.get(key))? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Some(other.to_string())
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn without_tags(html: &str) -> String {
    let mut inside = false;
    let mut text = html.to_owned();
    text.retain(|character| {
        let tag = inside || character == '<';
        inside = tag && character != '>';
        !tag
    });
    text
}
