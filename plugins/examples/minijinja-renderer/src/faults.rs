//! Errors of minijinja as diagnostics, with part, line and column.

use minijinja::{Error, ErrorKind};
use waxwing_plugin::{Diagnostic, Failure, fault, fault_in_source};

/// The sources of a template, by the names that diagnostics have for them.
#[derive(Debug, Default)]
pub struct Sources(Vec<(String, String)>);

impl Sources {
    pub fn add(&mut self, label: &str, text: &str) {
        self.0.push((label.to_owned(), text.to_owned()));
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(label, text)| (label.as_str(), text.as_str()))
    }

    pub fn text(&self, label: &str) -> Option<&str> {
        self.all().find(|(it, _)| *it == label).map(|(_, text)| text)
    }

    /// A fault at a byte of a source.
    pub fn at(&self, label: &str, at: usize, code: &str, message: String) -> Diagnostic {
        fault_in_source((label, self.text(label).unwrap_or_default()), at, code, message)
    }

    /// An error, at its place where it says one.
    pub fn fault(&self, error: &Error) -> Diagnostic {
        let message = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let label = error.name().map(|it| match it.strip_prefix('/') {
            Some(part) => part.to_owned(),
            None => format!("partial:{it}"),
        });
        let Some(label) = label.filter(|it| self.text(it).is_some()) else {
            return fault(code(error.kind()), message);
        };
        let text = self.text(&label).unwrap_or_default();
        let line_start = || {
            let before = error.line().unwrap_or(1).saturating_sub(1);
            text.split_inclusive('\n').take(before).map(str::len).sum()
        };
        let at = error.range().map_or_else(line_start, |it| it.start);
        self.at(&label, at, code(error.kind()), message)
    }

    /// An error of a render: wrong data are the sender's, the rest is the template's.
    pub fn failure(&self, error: &Error) -> Failure {
        let faults = vec![self.fault(error)];
        match code(error.kind()) {
            "wrong_type" => Failure::InvalidInput(faults),
            _ => Failure::Misconfigured(faults),
        }
    }
}

fn code(kind: ErrorKind) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum of the crate may grow")]
    match kind {
        ErrorKind::SyntaxError | ErrorKind::InvalidDelimiter => "syntax",
        ErrorKind::TemplateNotFound | ErrorKind::BadInclude => "unknown_partial",
        ErrorKind::UnknownFilter => "unknown_filter",
        ErrorKind::UnknownTest => "unknown_test",
        ErrorKind::UnknownFunction | ErrorKind::UnknownMethod => "unknown_function",
        ErrorKind::InvalidOperation
        | ErrorKind::UndefinedError
        | ErrorKind::NonPrimitive
        | ErrorKind::NonKey
        | ErrorKind::CannotUnpack => "wrong_type",
        _ => "template",
    }
}
