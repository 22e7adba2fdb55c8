//! What a template reads, and what its author declares of it: one list of variables, and where the two do not say the
//! same.

use crate::authoring::finding::Finding;
use crate::authoring::suggest::nearest;
use crate::template::source::{DeclaredVariable, TemplateSource};
use crate::template::version::{Variable, VariableFormat};

/// The variables of a template.
#[derive(Debug)]
pub struct Agreed {
    /// What is read, with what is declared of it; then what is declared of objects around, and of members and items
    /// inside.
    pub variables: Vec<Variable>,
    pub findings: Vec<Finding>,
}

/// Puts what is declared beside what is read. Where nothing is declared nothing is wrong.
pub fn agreed(source: &TemplateSource, read: Vec<Variable>) -> Agreed {
    let declared = &source.variables;
    let findings = if declared.is_empty() { Vec::new() } else { disagreements(declared, &read) };
    let mut variables = read;
    for variable in &mut variables {
        let said = declared.iter().find(|it| it.path == variable.path);
        (variable.value_type, variable.format) =
            said.map(|it| (it.value_type, format(it))).unwrap_or_default();
    }
    let more: Vec<Variable> = declared
        .iter()
        .filter(|it| variables.iter().all(|read| read.path != it.path))
        .filter(|it| reach(&it.path, &variables) != Reach::Nothing)
        .map(|it| Variable {
            path: it.path.clone(),
            required: reach(&it.path, &variables) == Reach::Around { required: true },
            value_type: it.value_type,
            format: format(it),
            declared_only: true,
        })
        .collect();
    variables.extend(more);
    for variable in &mut variables {
        variable.value_type =
            variable.value_type.or(variable.format.map(VariableFormat::value_type));
    }
    Agreed { variables, findings }
}

fn format(it: &DeclaredVariable) -> Option<VariableFormat> {
    it.format.as_deref().and_then(VariableFormat::from_name)
}

/// How a path that is not read itself has to do with what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It is an object or a list around what is read.
    Around {
        required: bool,
    },
    /// It is inside a value that is read as it is.
    Inside,
    Nothing,
}

fn reach(path: &str, read: &[Variable]) -> Reach {
    let mut inside = read.iter().filter(|it| is_below(&it.path, path)).peekable();
    if inside.peek().is_some() {
        // What is required of each item is not required of the list.
        let is_member =
            |it: &Variable| it.path.get(path.len()..).is_some_and(|it| !it.contains('['));
        return Reach::Around { required: inside.any(|it| it.required && is_member(it)) };
    }
    let around = read.iter().filter(|it| is_below(path, &it.path));
    let Some(around) = around.max_by_key(|it| it.path.len()) else { return Reach::Nothing };
    // Where single members are read of it, another name is more likely a mistake.
    if read.iter().any(|it| is_below(&it.path, &around.path)) {
        Reach::Nothing
    } else {
        Reach::Inside
    }
}

/// Whether a path leads through another one.
#[must_use]
pub fn is_below(path: &str, around: &str) -> bool {
    path.strip_prefix(around).is_some_and(|rest| rest.starts_with(['.', '[']))
}

fn disagreements(declared: &[DeclaredVariable], read: &[Variable]) -> Vec<Finding> {
    let fault = |code: &str, path: &str, message: String| {
        Finding::error("variables", code, message).about(path)
    };
    let mut findings = Vec::new();
    for it in declared {
        let path = it.path.as_str();
        let found = read.iter().find(|variable| variable.path == path);
        let required = match (found, reach(path, read)) {
            (Some(variable), _) => variable.required,
            (None, Reach::Around { required }) => required,
            (None, Reach::Inside) => false,
            (None, Reach::Nothing) => {
                let unnamed = |one: &&Variable| declared.iter().all(|it| it.path != one.path);
                let names = read.iter().filter(unnamed).map(|it| it.path.as_str());
                let message = format!("`{path}` is declared, and nothing reads it");
                findings.push(fault("not_read", path, message).suggesting(nearest(path, names)));
                continue;
            }
        };
        match (required, it.required) {
            (true, Some(false)) => {
                let message = format!("`{path}` is required, and is declared to be optional");
                findings.push(fault("required", path, message));
            }
            (false, Some(true)) => {
                let message = format!("`{path}` is optional, and is declared to be required");
                findings.push(fault("optional", path, message));
            }
            (true, None | Some(true)) | (false, None | Some(false)) => {}
        }
        if let Some(word) = it.format.as_deref().filter(|_| format(it).is_none()) {
            let known = VariableFormat::ALL.map(VariableFormat::as_str).join(", ");
            let message = format!(
                "`{path}` has the format `{word}`, which is none of {known}: data is not held against it"
            );
            findings.push(Finding::warning("variables", "unknown_format", message).about(path));
        }
    }
    let names = || declared.iter().map(|it| it.path.as_str());
    for it in read.iter().filter(|it| names().all(|path| path != it.path)) {
        let message = format!("`{}` is read and not declared", it.path);
        let meant = nearest(&it.path, names());
        findings.push(fault("not_declared", &it.path, message).suggesting(meant));
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agreed_of(read: &[&str], declared: &serde_json::Value) -> (Vec<String>, Vec<String>) {
        let source = serde_json::from_value(json!({"variables": declared})).expect("a source");
        let variable = |it: &&str| Variable {
            path: it.trim_end_matches('?').to_owned(),
            required: !it.ends_with('?'),
            value_type: None,
            format: None,
            declared_only: false,
        };
        let Agreed { variables, findings } = agreed(&source, read.iter().map(variable).collect());
        let told = |it: &Variable| {
            let of = it.value_type.map_or("", crate::template::version::VariableType::as_str);
            let format = it.format.map_or("", VariableFormat::as_str);
            format!("{}{}:{of}/{format}", it.path, if it.required { "" } else { "?" })
        };
        (
            variables.iter().map(told).collect(),
            findings
                .iter()
                .map(|it| format!("{}:{}", it.code, it.path.as_deref().unwrap_or("")))
                .collect(),
        )
    }

    #[test]
    fn objects_around_and_values_inside_what_is_read_may_be_declared() {
        let read = ["user.name", "tags", "rows", "rows[].cells?", "place.town?"];
        let declared = json!([
            {"path": "user.name"}, {"path": "user", "type": "object", "required": true},
            {"path": "tags", "type": "array"}, {"path": "tags[]", "type": "string"},
            {"path": "rows"}, {"path": "rows[]", "type": "object"},
            {"path": "rows[].cells"}, {"path": "rows[].cells[].on", "format": "date"},
            {"path": "place", "type": "object", "required": false}, {"path": "place.town"},
        ]);
        let (variables, findings) = agreed_of(&read, &declared);
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(
            variables,
            [
                "user.name:/",
                "tags:array/",
                "rows:/",
                "rows[].cells?:/",
                "place.town?:/",
                "user:object/",
                "tags[]?:string/",
                "rows[]?:object/",
                "rows[].cells[].on?:string/date",
                "place?:object/",
            ]
        );
    }

    #[test]
    fn what_is_declared_and_not_so_is_told() {
        let declared = json!([
            {"path": "user.name", "required": false}, {"path": "user", "required": false},
            {"path": "user.nmae"}, {"path": "rows[].price", "format": "uri", "required": true},
        ]);
        let (variables, findings) =
            agreed_of(&["user.name", "rows", "rows[].price?", "total"], &declared);
        assert_eq!(
            findings,
            [
                "required:user.name",
                "required:user",
                "not_read:user.nmae",
                "optional:rows[].price",
                "unknown_format:rows[].price",
                "not_declared:rows",
                "not_declared:total",
            ]
        );
        assert_eq!(variables, ["user.name:/", "rows:/", "rows[].price?:/", "total:/", "user:/"]);
    }
}
