//! What a template reads, and what its author declares of it: one list of variables, and where the two do not say the
//! same.

use crate::authoring::finding::Finding;
use crate::authoring::liquid::{self, line_and_column, snippet};
use crate::authoring::suggest::nearest;
use crate::template::source::{DeclaredVariable, TemplateSource};
use crate::template::version::{Variable, VariableFormat, VariableType};

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
    let mut variables = without_sizes(declared, read);
    let read = with_items(declared, &variables);
    let findings = if declared.is_empty() { Vec::new() } else { disagreements(source, &read) };
    for variable in &mut variables {
        let said = declared.iter().find(|it| it.path == variable.path);
        (variable.value_type, variable.format) =
            said.map(|it| (it.value_type, format(it))).unwrap_or_default();
    }
    let more: Vec<Variable> = declared
        .iter()
        .filter(|it| variables.iter().all(|read| read.path != it.path))
        .filter(|it| {
            read.iter().any(|read| read.path == it.path) || reach(&it.path, &read) != Reach::Nothing
        })
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

/// `items.size` of a list or text that is declared is the list or text itself.
fn without_sizes(declared: &[DeclaredVariable], read: Vec<Variable>) -> Vec<Variable> {
    let mut variables: Vec<Variable> = Vec::with_capacity(read.len());
    for mut it in read {
        let sized = it.path.strip_suffix(".size").filter(|it| {
            is_list(declared, it)
                || declared.iter().any(|declared| {
                    declared.path == **it && declared.value_type == Some(VariableType::String)
                })
        });
        if let Some(sized) = sized.map(str::to_owned) {
            it.path = sized;
        }
        match variables.iter_mut().find(|known| known.path == it.path) {
            Some(known) => known.required |= it.required,
            None => variables.push(it),
        }
    }
    variables
}

/// What is read, and for single items of declared lists, as `items[0].a` and `items.first.a`, what is declared of all:
/// `items[].a`.
fn with_items(declared: &[DeclaredVariable], read: &[Variable]) -> Vec<Variable> {
    let mut all = read.to_vec();
    for it in read {
        let path = of_all_items(declared, &it.path);
        if path != it.path && all.iter().all(|known| known.path != path) {
            all.push(Variable { path, required: false, ..it.clone() });
        }
    }
    all
}

/// The path with `[]` for each single item of a declared list.
fn of_all_items(declared: &[DeclaredVariable], path: &str) -> String {
    let mut all = String::with_capacity(path.len());
    for step in path.split_inclusive(['.', '[']) {
        let (name, end) = step.split_at(step.trim_end_matches(['.', '[']).len());
        let list = all.strip_suffix(['.', '[']).unwrap_or(&all);
        if matches!(name, "first" | "last") && is_list(declared, list) {
            all = format!("{list}[]{end}");
        } else if let Some(rest) = name.strip_prefix(|it: char| it.is_ascii_digit())
            && let Some(rest) =
                rest.trim_start_matches(|it: char| it.is_ascii_digit()).strip_prefix(']')
            && is_list(declared, list)
        {
            all = format!("{list}[]{rest}{end}");
        } else {
            all.push_str(step);
        }
    }
    all
}

fn is_list(declared: &[DeclaredVariable], path: &str) -> bool {
    declared.iter().any(|it| {
        (it.path == path && it.value_type == Some(VariableType::Array))
            || it.path.strip_prefix(path).is_some_and(|rest| rest.starts_with("[]"))
    })
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

fn disagreements(source: &TemplateSource, read: &[Variable]) -> Vec<Finding> {
    let declared = &source.variables;
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
    // What is declared of all items is declared of each.
    let is_declared = |it: &&Variable| {
        let path = of_all_items(declared, &it.path);
        names().any(|declared| declared == it.path || declared == path)
    };
    for it in read.iter().filter(|it| !is_declared(it)) {
        let message = format!("`{}` is read and not declared", it.path);
        let meant = nearest(&it.path, names());
        let finding = fault("not_declared", &it.path, message).suggesting(meant);
        findings.push(placed(source, &it.path, finding));
    }
    findings
}

/// A finding of a variable at the first place of the template that reads it, where there is one.
fn placed(source: &TemplateSource, path: &str, finding: Finding) -> Finding {
    let Some((part, text, at)) = places(source, path).next() else { return finding };
    let (line, column) = line_and_column(text, at);
    let snippet = Some(snippet(text, at));
    Finding { part: Some(part.to_owned()), line, column, snippet, ..finding }
}

/// The parts of a template that read a variable, each with the first line that does. What only a layout or partial
/// reads, or a name that an `assign` stands for, has none.
#[must_use]
pub fn read_at(source: &TemplateSource, path: &str) -> Vec<(&'static str, u32)> {
    places(source, path).map(|(part, text, at)| (part, line_and_column(text, at).0)).collect()
}

/// The first place of each part that reads a variable, with the text of the part.
fn places<'a>(
    source: &'a TemplateSource,
    path: &str,
) -> impl Iterator<Item = (&'static str, &'a String, usize)> {
    let name = path.rfind("[].").and_then(|at| path.get(at + 2..)).unwrap_or(path);
    let parts = [
        ("subject", Some(&source.subject)),
        ("preheader", source.preheader.as_ref()),
        ("html", source.html.as_ref()),
        ("mjml", source.mjml.as_ref()),
        ("text", source.text.as_ref()),
    ];
    let is_name = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-');
    let place_in = move |text: &str| {
        liquid::tokens(text).into_iter().find_map(|token| {
            let inside = text.get(token.range.clone())?;
            let at = inside.match_indices(name).map(|(at, _)| at).find(|at| {
                let before = inside.get(..*at).and_then(|it| it.chars().next_back());
                let after = inside.get(at + name.len()..).and_then(|it| it.chars().next());
                let is_begin = name.starts_with('.')
                    || !before.is_some_and(|it| is_name(it) || matches!(it, '.' | '"' | '\''));
                is_begin && !after.is_some_and(is_name)
            });
            at.map(|at| token.range.start + at)
        })
    };
    parts.into_iter().filter_map(move |(part, text)| {
        let text = text?;
        place_in(text).map(|at| (part, text, at))
    })
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
    fn what_is_not_declared_is_told_at_the_place_that_reads_it() {
        let source = json!({
            "subject": "{{ name }}", "variables": [{"path": "name"}, {"path": "rows"}],
            "html": "<p>\n  {{ nmae }} {{ names }} {% for it in rows %}{{ it.qty }}{% endfor %}",
        });
        let source = serde_json::from_value(source).expect("a source");
        let read =
            ["name", "nmae", "rows", "rows[].qty", "names", "elsewhere"].map(|path| Variable {
                path: path.to_owned(),
                required: true,
                value_type: None,
                format: None,
                declared_only: false,
            });
        let findings = agreed(&source, read.to_vec()).findings;
        let told: Vec<String> = findings
            .iter()
            .map(|it| {
                format!("{} {}:{}", it.part.as_deref().unwrap_or_default(), it.line, it.column)
            })
            .collect();
        assert_eq!(told, ["html 2:6", "html 2:51", "html 2:17", "variables 0:0"]);
    }

    #[test]
    fn sizes_and_single_items_are_those_of_the_declared_list() {
        let declared = json!([
            {"path": "items", "type": "array"}, {"path": "items[].a", "type": "string"},
            {"path": "tags", "type": "array"}, {"path": "tags[]", "type": "string"},
            {"path": "name", "type": "string"},
        ]);
        let read = ["items[0].a", "items.last.a", "items.size", "tags.first", "tags", "name.size?"];
        let (variables, findings) = agreed_of(&read, &declared);
        assert!(findings.is_empty(), "{findings:?}");
        for variable in ["items:array/", "items[].a?:string/", "tags[]?:string/", "name?:string/"] {
            assert!(variables.iter().any(|it| it == variable), "{variable} in {variables:?}");
        }
        let (_, findings) = agreed_of(&["items[0].b"], &declared);
        assert!(findings.contains(&"not_declared:items[0].b".to_owned()), "{findings:?}");
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
