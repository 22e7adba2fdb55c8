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
    let read: Vec<&str> = variables.iter().map(|it| it.path.as_str()).collect();
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
        fill(&mut data, &plain(&variable.path, &read), &value);
    }
    data
}

/// A value for everything that is read, optional or not, and one item in each list.
#[must_use]
pub fn complete_data(variables: &[Variable]) -> Map<String, Value> {
    let read: Vec<&str> = variables.iter().map(|it| it.path.as_str()).collect();
    let paths: Vec<String> = read.iter().map(|it| plain(it, &read)).collect();
    let mut data = Map::new();
    for (variable, path) in variables.iter().zip(&paths) {
        let is_around = |other: &String| {
            other.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        if !paths.iter().any(is_around) {
            fill(&mut data, path, &value_of(variable));
        }
    }
    data
}

/// A path with names and `[]` alone: `a[0].b`, `a.first.b` and `a.last.b` are `a[].b`, and `a.size` is `a[]`, where `read`
/// has no other members of `a`.
fn plain(path: &str, read: &[&str]) -> String {
    let mut plain = String::new();
    for (number, step) in path.split('.').enumerate() {
        let (name, places) = step.split_at(step.find('[').unwrap_or(step.len()));
        let of_any = |name: &str| matches!(name, "size" | "first" | "last");
        let is_object = || {
            let members = read.iter().filter_map(|it| it.strip_prefix(&*plain)?.strip_prefix('.'));
            let mut names = members.map(|it| it.split(['.', '[']).next().unwrap_or_default());
            names.any(|it| !of_any(it))
        };
        if number > 0 && of_any(name) && !is_object() {
            if !plain.ends_with("[]") {
                plain.push_str("[]");
            }
        } else {
            if number > 0 {
                plain.push('.');
            }
            plain.push_str(name);
        }
        for place in places.split('[').skip(1) {
            let place = place.trim_end_matches(']').trim_matches(['"', '\'']);
            match place.parse::<i64>() {
                Err(_) if !place.is_empty() => {
                    plain.push('.');
                    plain.push_str(place);
                }
                Ok(_) | Err(_) => plain.push_str("[]"),
            }
        }
    }
    plain
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
    let (name, lists) = step.split_at(step.find("[]").unwrap_or(step.len()));
    let found = object.entry(name).or_insert(Value::Null);
    if found.is_null() {
        let inner = if rest.is_some() { json!({}) } else { value.clone() };
        let lists = 0..lists.len() / "[]".len();
        *found = lists.fold(inner, |inner, _| Value::Array(vec![inner]));
    }
    if let Some(rest) = rest {
        fill_within(found, rest, value);
    }
}

fn fill_within(found: &mut Value, rest: &str, value: &Value) {
    match found {
        Value::Object(inner) => fill(inner, rest, value),
        Value::Array(items) => items.iter_mut().for_each(|it| fill_within(it, rest, value)),
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
    fn everything_that_is_read_has_a_value_of_the_kind_in_which_it_is_read() {
        let paths = [
            "a.size", "a", "a[].b", "c[0].d", "e.first", "f", "f[]", "f[][]", "g", "g.size",
            "g.name", "h[\"x\"]", "i.last.j",
        ];
        let variables = paths.map(|path| Variable {
            path: path.to_owned(),
            required: false,
            value_type: None,
            format: None,
            declared_only: false,
        });
        let expected = json!({
            "a": [{"b": "example"}], "c": [{"d": "example"}], "e": ["example"], "f": [["example"]],
            "g": {"size": "example", "name": "example"}, "h": {"x": "example"}, "i": [{"j": "example"}],
        });
        assert_eq!(Value::Object(complete_data(&variables)), expected);
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
