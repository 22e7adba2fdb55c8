//! Data that a template can be tried with.

use serde_json::{Map, Value, json};

use super::source::TemplateSource;
use super::version::{TemplateVersion, Variable, VariableFormat, VariableType};

impl TemplateVersion {
    /// Its author's example, and a value for every required variable that the example leaves out.
    #[must_use]
    pub fn trial_data(&self) -> Map<String, Value> {
        trial_data(&self.source, &self.variables)
    }
}

/// The example of a source, and a value for every required variable that the example leaves out.
#[must_use]
pub fn trial_data<'v>(
    source: &TemplateSource,
    variables: impl IntoIterator<Item = &'v Variable>,
) -> Map<String, Value> {
    let mut data = source.example().cloned().unwrap_or_default();
    let variables: Vec<&Variable> = variables.into_iter().collect();
    for variable in variables.iter().filter(|variable| variable.required) {
        let inside = |begin: char| {
            let inside = variables.iter().filter_map(|it| it.path.strip_prefix(&variable.path));
            inside.into_iter().any(|rest| rest.starts_with(begin))
        };
        // What its author does not declare is of the kind in which it is read.
        let value = match variable.value_type.is_none() && variable.format.is_none() {
            true if inside('[') => json!([]),
            true if inside('.') => json!({}),
            true | false => value_of(variable),
        };
        fill(&mut data, &variable.path, &value);
    }
    data
}

fn value_of(variable: &Variable) -> Value {
    match (variable.format, variable.value_type) {
        (Some(VariableFormat::Date), _) => json!("2026-12-24"),
        (Some(VariableFormat::Url), _) => json!("https://example.com/"),
        (Some(VariableFormat::Email), _) => json!("ada@example.com"),
        (Some(VariableFormat::Money), _) => json!(1299),
        (Some(VariableFormat::Currency), _) => json!("EUR"),
        (None, None | Some(VariableType::String)) => json!("example"),
        (None, Some(VariableType::Number)) => json!(1),
        (None, Some(VariableType::Boolean)) => json!(true),
        (None, Some(VariableType::Array)) => json!([]),
        (None, Some(VariableType::Object)) => json!({}),
    }
}

/// Puts a value where a path such as `user.name` or `items[].price` leads, unless something is there.
fn fill(object: &mut Map<String, Value>, path: &str, value: &Value) {
    let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
    let (name, is_list) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
    let found = object.entry(name).or_insert(Value::Null);
    if found.is_null() {
        let inner = if rest.is_some() { json!({}) } else { value.clone() };
        *found = if is_list { Value::Array(vec![inner]) } else { inner };
    }
    let Some(rest) = rest else { return };
    match found {
        Value::Object(inner) => fill(inner, rest, value),
        Value::Array(items) => {
            for item in items.iter_mut().filter_map(Value::as_object_mut) {
                fill(item, rest, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_declared_is_filled_in_as_it_is_read() {
        let variable = |path: &str, required| Variable {
            path: path.to_owned(),
            required,
            value_type: None,
            format: None,
            declared_only: false,
        };
        let read = [("items", true), ("items[].a", false), ("user", true), ("user.name", false)];
        let read = read.map(|(path, required)| variable(path, required));
        let data = trial_data(&TemplateSource::default(), &read);
        assert_eq!(Value::Object(data), json!({"items": [], "user": {}}));
    }

    #[test]
    fn what_an_example_leaves_out_is_filled_in_for_a_trial() {
        let mut data = json!({"user": {"name": "Ada"}, "items": [{"price": 1}, {}]});
        let data = data.as_object_mut().expect("an object");
        let paths =
            ["user.name", "user.mail", "items[].price", "rows[].cell.text", "code", "tags[]"];
        for path in paths {
            fill(data, path, &json!("example"));
        }
        let expected = json!({
            "user": {"name": "Ada", "mail": "example"},
            "items": [{"price": 1}, {"price": "example"}],
            "rows": [{"cell": {"text": "example"}}],
            "code": "example",
            "tags": ["example"],
        });
        assert_eq!(Value::Object(data.clone()), expected);
    }
}
