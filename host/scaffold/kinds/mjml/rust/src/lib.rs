//! A small dialect of MJML: sections, columns and texts, with the language of the document in the settings.
//!
//! Liquid in the source is kept: the server renders it when a message is sent.

use schemars::JsonSchema;
use serde::Deserialize;
use waxwing_plugin::mjml_compiler::{Compiled, Document, MjmlCompiler};
use waxwing_plugin::{CallContext, Diagnostic, Plugin, SelfTestResult, fault, self_check};

/// The elements, each with what stands for its begin and its end.
const ELEMENTS: [(&str, &str, &str); 4] = [
    ("mj-body", "<body>", "</body>"),
    (
        "mj-section",
        "<table role=\"presentation\" width=\"100%\"><tr>",
        "</tr></table>",
    ),
    ("mj-column", "<td>", "</td>"),
    ("mj-text", "<p>", "</p>"),
];

/// The settings. The server validates them with the schema of this type before `configure`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// The language of the document, for screen readers.
    #[schemars(regex(pattern = "^[A-Za-z-]{2,35}$"))]
    language: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            language: "en".to_owned(),
        }
    }
}

pub struct Compiler {
    language: String,
}

impl Plugin for Compiler {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self {
            language: settings.language,
        })
    }

    /// Checks that run before this version compiles anything; every one must pass.
    fn self_test(&self, _: &CallContext) -> Vec<SelfTestResult> {
        let source = "<mjml><mj-body>{{ name }}</mj-body></mjml>";
        let passed = match self.html(source) {
            Ok(html) if html.contains("<body>{{ name }}</body>") => Ok(()),
            other => Err(format!("{other:?}")),
        };
        vec![self_check("compiles, and keeps Liquid", passed)]
    }
}

impl MjmlCompiler for Compiler {
    /// HTML, or every fault with its line and column.
    fn compile(&self, _: &CallContext, it: &Document) -> Result<Compiled, Vec<Diagnostic>> {
        Ok(Compiled {
            html: self.html(&it.source)?,
            preheader: None,
            warnings: Vec::new(),
        })
    }
}

impl Compiler {
    fn html(&self, source: &str) -> Result<String, Vec<Diagnostic>> {
        let (mut html, mut faults) = (String::new(), Vec::new());
        let mut rest = source;
        while let Some(at) = rest.find("<mj").into_iter().chain(rest.find("</mj")).min() {
            html.push_str(&rest[..at]);
            let tag = &rest[at..];
            let length = tag.find('>').map_or(tag.len(), |it| it + 1);
            match self.element(&tag[..length]) {
                Some(text) => html.push_str(&text),
                None => faults.push(unknown(source, source.len() - tag.len(), &tag[..length])),
            }
            rest = &tag[length..];
        }
        html.push_str(rest);
        if faults.is_empty() {
            Ok(html)
        } else {
            Err(faults)
        }
    }

    fn element(&self, tag: &str) -> Option<String> {
        match tag {
            "<mjml>" => Some(format!("<!doctype html><html lang=\"{}\">", self.language)),
            "</mjml>" => Some("</html>".to_owned()),
            _ => ELEMENTS.iter().find_map(|(name, begin, end)| {
                if tag == format!("<{name}>") {
                    return Some((*begin).to_owned());
                }
                (tag == format!("</{name}>")).then(|| (*end).to_owned())
            }),
        }
    }
}

/// Line and column are those of the author's source.
fn unknown(source: &str, at: usize, tag: &str) -> Diagnostic {
    let before = &source[..at];
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    Diagnostic {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
        part: Some("mjml".to_owned()),
        ..fault(
            "unknown_element",
            format!(
                "`{tag}` is not known; known are mjml, mj-body, mj-section, mj-column and mj-text, without attributes"
            ),
        )
    }
}

waxwing_plugin::export_mjml_compiler!(Compiler);

#[cfg(test)]
mod tests;
