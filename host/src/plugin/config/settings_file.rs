//! Puts other settings into the text of a `<slot>.toml`. What stays as it was keeps its place and its comments.

use serde_json::{Map, Value};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TomlError};

use super::slot::{BadSlotConfig, SlotConfig, SlotName};

/// The text with these settings and no others.
///
/// # Errors
/// The text is not valid, or TOML has no words for the settings.
pub fn with_settings(
    slot: &SlotName,
    text: &str,
    settings: &Map<String, Value>,
) -> Result<String, BadSlotConfig> {
    let wrong = |message: String| BadSlotConfig { slot: slot.clone(), message };
    let before = SlotConfig::parse(slot, text)?.settings();
    let read = |error: TomlError| wrong(error.message().to_owned());
    let mut document: DocumentMut = text.parse().map_err(read)?;
    let table = document.entry("settings").or_insert_with(toml_edit::table);
    let table = table.as_table_like_mut();
    let table = table.ok_or_else(|| wrong("`settings` is no table".to_owned()))?;
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names.iter().filter(|it| !settings.contains_key(*it)) {
        table.remove(name);
    }
    for (name, value) in settings.iter().filter(|(name, value)| before.get(name) != Some(value)) {
        let item =
            item(value).ok_or_else(|| wrong(format!("settings.{name}: TOML has no null")))?;
        table.insert(name, item);
    }
    let text = document.to_string();
    if SlotConfig::parse(slot, &text)?.settings() == Value::Object(settings.clone()) {
        Ok(text)
    } else {
        Err(wrong("the settings cannot be written as TOML".to_owned()))
    }
}

/// Takes out the members that are null: in TOML what has no value is absent.
#[must_use]
pub fn without_nulls(settings: Map<String, Value>) -> Map<String, Value> {
    let members = settings.into_iter().filter(|(_, value)| !value.is_null());
    members.map(|(name, value)| (name, value_without_nulls(value))).collect()
}

fn value_without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(without_nulls(members)),
        Value::Array(items) => items.into_iter().map(value_without_nulls).collect(),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

fn item(value: &Value) -> Option<Item> {
    match value {
        Value::Object(members) => table(members).map(Item::Table),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            let mut tables = ArrayOfTables::new();
            for members in items.iter().filter_map(Value::as_object) {
                tables.push(table(members)?);
            }
            Some(Item::ArrayOfTables(tables))
        }
        plain @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)) => inline(plain).map(Item::Value),
    }
}

fn table(members: &Map<String, Value>) -> Option<Table> {
    let mut table = Table::new();
    for (name, value) in members {
        table.insert(name, item(value)?);
    }
    Some(table)
}

fn inline(value: &Value) -> Option<toml_edit::Value> {
    match value {
        Value::Null => None,
        Value::Bool(truth) => Some((*truth).into()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Some(whole.into()),
            None => number.as_f64().map(Into::into),
        },
        Value::String(text) => Some(text.as_str().into()),
        Value::Array(items) => items.iter().map(inline).collect::<Option<Array>>().map(Into::into),
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (name, value) in members {
                table.insert(name, inline(value)?);
            }
            Some(table.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(text: &str, settings: &Value) -> Result<String, BadSlotConfig> {
        let slot = "pro-prices".parse().expect("a name");
        with_settings(&slot, text, settings.as_object().expect("an object"))
    }

    #[test]
    fn what_stays_keeps_its_place_and_its_comments() {
        let text = "kind = 'plan' # ours\n\n[settings]\n# Since May.\nprice = 2\nold = true\n\n\
                    [limits]\ncall_ms = 20\n";
        let changed = written(text, &json!({"price": 2, "label": "a \"b\""})).expect("written");
        for part in ["kind = 'plan' # ours", "# Since May.\nprice = 2", "call_ms = 20", "label = "]
        {
            assert!(changed.contains(part), "{part}: {changed}");
        }
        assert!(!changed.contains("old"), "{changed}");
    }

    #[test]
    fn settings_of_all_shapes_are_read_as_they_were_given() {
        let settings = json!({"plans": [{"name": "free"}, {"name": "gold", "dailyLimit": 10}],
                              "deep": {"list": [1, [2.5, "x"], {"y": false}]}, "empty": []});
        for text in ["", "kind = 'plan'\n", "settings = { a = 1 }\n", "settings.a = 1\n"] {
            let changed = written(text, &settings).expect("written");
            let slot = "pro-prices".parse().expect("a name");
            assert_eq!(SlotConfig::parse(&slot, &changed).expect("valid").settings(), settings);
        }
    }

    #[test]
    fn what_toml_cannot_say_is_refused() {
        assert!(written("", &json!({"list": [null]})).is_err());
        assert!(written("settings = 1\n", &json!({"a": 1})).is_err());
        let nulls = json!({"a": null, "b": {"c": null, "d": [{"e": null}]}});
        let cleaned = without_nulls(nulls.as_object().expect("an object").clone());
        assert_eq!(Value::Object(cleaned), json!({"b": {"d": [{}]}}));
    }
}
