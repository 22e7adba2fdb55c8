//! What is wrong with a template, or could be: for its author, with the place and, where one is likely, the remedy.

use serde::Serialize;
use utoipa::ToSchema;

use crate::journey::accept::refusal::cut;
use crate::plugin::Diagnostic;
use crate::plugin::Severity as PluginSeverity;

/// One thing that an author should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TemplateFinding)]
pub struct Finding {
    pub severity: Severity,
    /// For programs, as in `unknown_filter`.
    pub code: String,
    /// For people, and complete without the other members.
    pub message: String,
    /// `subject`, `preheader`, `html`, `mjml`, `text`, `layout`, `partial:footer`, `variables`, `examples.default`,
    /// `locales`, `sender` or `requiredPlan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The locale whose text it stands in; none for the template's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// From 1; 0 where it is not known.
    pub line: u32,
    /// From 1, in characters; 0 where it is not known.
    pub column: u32,
    /// The source around line and column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// The variable that it is about, as in `user.name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub suggestion: Option<Suggestion>,
    #[serde(skip)]
    #[schema(ignore)]
    pub origin: Origin,
}

/// What was probably meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Suggestion {
    /// The message ends with it.
    InMessage(String),
    /// The message does not have it.
    Apart(String),
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    Author,
    /// The text that is derived from the HTML part, where the author has given none.
    DerivedText,
}

/// How a renderer begins the label of a unit that is derived from the rest of the label.
const DERIVED: &str = "derived:";

impl Suggestion {
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::InMessage(it) | Self::Apart(it) => it,
        }
    }
}

/// Whether a finding stands against publishing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = TemplateFindingSeverity)]
pub enum Severity {
    /// It cannot be published like this.
    Error,
    /// It can.
    Warning,
}

impl Finding {
    pub fn error(part: &str, code: &str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code: code.to_owned(),
            message: cut(message.into()),
            part: Some(part.to_owned()),
            locale: None,
            line: 0,
            column: 0,
            snippet: None,
            path: None,
            suggestion: None,
            origin: Origin::Author,
        }
    }

    pub fn warning(part: &str, code: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(part, code, message) }
    }

    /// What the renderer says of a source.
    pub fn of_source(it: Diagnostic) -> Self {
        let Diagnostic { severity, code, message, line, column, snippet, path, part } = it;
        // The world of renderers has no member for it: they say so at the end of their message.
        let meant = message.rsplit_once("did you mean `").and_then(|(_, it)| it.split('`').next());
        Self {
            severity: match severity {
                PluginSeverity::Error => Severity::Error,
                PluginSeverity::Warning | PluginSeverity::Info => Severity::Warning,
            },
            suggestion: meant.map(|it| Suggestion::InMessage(cut(it.to_owned()))),
            origin: match &part {
                Some(label) if label.starts_with(DERIVED) => Origin::DerivedText,
                Some(_) | None => Origin::Author,
            },
            code,
            message: cut(message),
            part,
            locale: None,
            line,
            column,
            snippet: snippet.map(cut),
            path: path.map(cut),
        }
    }

    /// The same about a variable.
    #[must_use]
    pub fn about(mut self, path: &str) -> Self {
        self.path = Some(cut(path.to_owned()));
        self
    }

    #[must_use]
    pub fn suggesting(mut self, suggestion: Option<&str>) -> Self {
        self.suggestion = suggestion.map(|it| Suggestion::Apart(cut(it.to_owned())));
        self
    }

    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether both are about the same place, whatever the locale.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        (&self.code, &self.part, self.line, self.column, &self.message)
            == (&other.code, &other.part, other.line, other.column, &other.message)
    }

    /// On one line: `html, line 3, column 9: there is no filter `upcas`; did you mean `upcase`?`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut place = self.part.clone().unwrap_or_else(|| "template".to_owned());
        if let Some(locale) = &self.locale {
            place = format!("{place} ({locale})");
        }
        let before = if self.line > 0 { ", " } else { ": " };
        format!("{place}{before}{}", self.within_part())
    }

    /// The same without the part: `line 3, column 9: there is no filter `upcas`; did you mean `upcase`?`.
    #[must_use]
    pub fn within_part(&self) -> String {
        let meant = match &self.suggestion {
            Some(Suggestion::Apart(it)) => format!("; did you mean `{it}`?"),
            Some(Suggestion::InMessage(_)) | None => String::new(),
        };
        if self.line > 0 {
            format!("line {}, column {}: {}{meant}", self.line, self.column, self.message)
        } else {
            format!("{}{meant}", self.message)
        }
    }
}
