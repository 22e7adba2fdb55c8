//! Keys from the environment: `WAXWING_SECTION__KEY`.

const PREFIX: &str = "WAXWING_";

/// `WAXWING_HTTP__LISTEN` is `listen` in `[http]`; variables without `__` are not ours.
pub(super) fn path(name: &str) -> Option<Vec<String>> {
    let steps: Vec<String> =
        name.strip_prefix(PREFIX)?.split("__").map(str::to_ascii_lowercase).collect();
    (steps.len() > 1).then_some(steps)
}

/// Puts a value at a path; tables on the way are made.
pub(super) fn insert(table: &mut toml::Table, path: &[String], value: toml::Value) {
    match path {
        [] => {}
        [key] => {
            table.insert(key.clone(), value);
        }
        [section, rest @ ..] => {
            let section = table
                .entry(section.clone())
                .or_insert_with(|| toml::Value::Table(toml::Table::new()));
            if let toml::Value::Table(section) = section {
                insert(section, rest, value);
            }
        }
    }
}

/// The value at a path.
pub(super) fn get<'a>(table: &'a toml::Table, path: &[String]) -> Option<&'a toml::Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(first)?, |value, key| value.get(key))
}

/// A variable as a document with one key.
pub(super) fn document(path: &[String], value: &str) -> String {
    let keys: Vec<String> =
        path.iter().map(|key| toml::Value::from(key.as_str()).to_string()).collect();
    format!("{} = {}", keys.join("."), typed(value))
}

/// A number, a boolean or an array where it reads as one, else a text.
fn typed(value: &str) -> toml::Value {
    let document = toml::from_str::<toml::Table>(&format!("value = {value}"));
    document
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()))
}
