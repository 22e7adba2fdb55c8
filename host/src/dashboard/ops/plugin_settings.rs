//! The settings of a plugin as a form that is made from the schema in its manifest. What the form does not know, a
//! nested object for instance, is a field of JSON.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value};

use super::operating::Operating;
use super::plugin_slot::find;
use super::plugins::{SlotForm, refused};
use crate::dashboard::form::Form;
use crate::dashboard::frame::{Frame, Place};
use crate::dashboard::guard::{Theme, Visitor};
use crate::dashboard::response::{Failure, page, sentence, with_status};
use crate::dashboard::state::Dashboard;
use crate::plugin::installed::InstalledPlugin;
use crate::plugin::slot::SlotName;
use crate::plugin::status::SlotStatus;
use crate::plugin::supervisor::{Order as PluginOrder, OrderError};

/// Empty rows below those of a list, to add with.
const SPARE_ROWS: usize = 2;
/// Rows of a list that a form may send.
const MAX_ROWS: usize = 200;

/// How a value is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Control {
    /// One of these texts.
    Choice(Vec<String>),
    Flag,
    Number,
    Text,
    Json,
    /// Objects with members of the other kinds.
    Rows(Vec<Member>),
}

/// A member of an object, as its schema says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: String,
    about: String,
    /// What holds where nothing is typed.
    default: String,
    control: Control,
}

/// A value to type.
#[derive(Debug)]
struct Cell {
    field: String,
    label: String,
    control: Control,
    value: String,
    default: String,
}

#[derive(Debug)]
struct Field {
    member: Member,
    cell: Cell,
    rows: Vec<Vec<Cell>>,
}

#[derive(Template)]
#[template(path = "app/ops/plugin_settings.html")]
struct SettingsPage {
    frame: Frame,
    slot: String,
    plugin: String,
    /// The number of the settings that the form shows.
    revision: u32,
    /// Which components and settings the page speaks of.
    seen: String,
    /// What waits in the slot, which the form would replace.
    waiting: Option<String>,
    fields: Vec<Field>,
    faults: Vec<String>,
}

/// Whether an array is shown as rows, which cannot stand within rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrayRows {
    Possible,
    Never,
}

impl Member {
    /// The members that an object of that schema can have.
    fn all_of(schema: &Value, rows: ArrayRows) -> Vec<Self> {
        let properties = schema["properties"].as_object();
        let member = |(name, schema): (&String, &Value)| Self {
            name: name.clone(),
            about: schema["description"].as_str().unwrap_or_default().to_owned(),
            default: schema.get("default").map(typed).unwrap_or_default(),
            control: Control::of(schema, rows),
        };
        properties.into_iter().flatten().map(member).collect()
    }

    fn cell(&self, field: String, label: String, value: Option<&Value>) -> Cell {
        Cell {
            field,
            label,
            control: self.control.clone(),
            value: value.map(typed).unwrap_or_default(),
            default: self.default.clone(),
        }
    }

    /// What was typed; none where nothing was.
    fn read(&self, text: &str) -> Result<Option<Value>, String> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let wrong = |what: &str| format!("{}: “{}” is no {what}", self.name, text.trim());
        let value = match &self.control {
            Control::Choice(_) | Control::Text => Value::from(text.replace("\r\n", "\n")),
            Control::Flag => Value::from(text == "true"),
            Control::Number => match serde_json::from_str(text.trim()) {
                Ok(number @ Value::Number(_)) => number,
                Ok(_) | Err(_) => return Err(wrong("number")),
            },
            Control::Json | Control::Rows(_) => {
                serde_json::from_str(text).map_err(|_| wrong("JSON"))?
            }
        };
        Ok(Some(value))
    }
}

impl Control {
    fn of(schema: &Value, rows: ArrayRows) -> Self {
        if let Some(choices) = schema["enum"].as_array()
            && let Some(texts) = choices.iter().map(|it| it.as_str().map(str::to_owned)).collect()
        {
            return Self::Choice(texts);
        }
        // As in `["integer", "null"]`: what may be absent.
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        };
        let mut kinds = kinds.into_iter().filter(|it| *it != "null");
        match (kinds.next(), kinds.next()) {
            (Some("boolean"), None) => Self::Flag,
            (Some("integer" | "number"), None) => Self::Number,
            (Some("string"), None) => Self::Text,
            (Some("array"), None) if rows == ArrayRows::Possible => Self::rows(&schema["items"]),
            (Some(_) | None, _) => Self::Json,
        }
    }

    /// Rows, where each item is an object of plain members and no others.
    fn rows(items: &Value) -> Self {
        let members = Member::all_of(items, ArrayRows::Never);
        let is_plain = members.iter().all(|it| it.control != Self::Json);
        let is_closed = items["additionalProperties"] == Value::Bool(false);
        if is_plain && is_closed && !members.is_empty() { Self::Rows(members) } else { Self::Json }
    }
}

impl Field {
    fn of(member: Member, value: Option<&Value>) -> Self {
        let name = format!("s.{}", member.name);
        let mut rows = Vec::new();
        if let Control::Rows(members) = &member.control {
            let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for at in 0..items.len() + SPARE_ROWS {
                let cell = |it: &Member| {
                    let label = format!("{} of row {}", it.name, at + 1);
                    let value = items.get(at).and_then(|item| item.get(&it.name));
                    it.cell(format!("{name}.{at}.{}", it.name), label, value)
                };
                rows.push(members.iter().map(cell).collect());
            }
        }
        let cell = member.cell(name, String::new(), value);
        Self { member, cell, rows }
    }
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    Path(slot): Path<String>,
) -> Result<Response, Failure> {
    let (name, view) = find(&dashboard, &slot).await?;
    visitor.step_up(&dashboard, &format!("/ops/plugins/{name}/settings"))?;
    page(&settings_page(&dashboard, &visitor, (&name, &view), None, Vec::new()).await?)
}

pub async fn save(sent: SlotForm) -> Result<Response, Failure> {
    let SlotForm { dashboard, visitor, form, slot, view } = &sent;
    let active = view.active.as_ref().ok_or(Failure::Missing)?;
    visitor.step_up_for(dashboard, form)?;
    let (settings, faults) = read(&schema(active), form, &active.generation_config().settings);
    let faults = if faults.is_empty() {
        let order = PluginOrder::Configure { settings: settings.clone() };
        match sent.give(order, ("configure_plugin", "configured")).await {
            Ok(done) => return Ok(done),
            Err(error @ (OrderError::Changed(_) | OrderError::SettingsBeingProven(_))) => {
                // What was typed is about something else than what is there now.
                let (slot, view) = find(dashboard, slot.as_str()).await?;
                let faults = vec![refused(&error)?];
                let now = settings_page(dashboard, visitor, (&slot, &view), None, faults).await?;
                return with_status(StatusCode::CONFLICT, &now);
            }
            Err(error) => vec![refused(&error)?],
        }
    } else {
        faults
    };
    let typed = Some(Value::Object(settings));
    let mut again = settings_page(dashboard, visitor, (slot, view), typed, faults).await?;
    form.get("seen").clone_into(&mut again.seen);
    with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
}

fn schema(plugin: &InstalledPlugin) -> Value {
    serde_json::from_str(&plugin.manifest().settings_schema).unwrap_or_default()
}

/// Shows what was typed, or else the settings of what answers the slot's calls now.
async fn settings_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    (slot, view): (&SlotName, &SlotStatus),
    typed: Option<Value>,
    faults: Vec<String>,
) -> Result<SettingsPage, Failure> {
    let active = view.active.as_ref().ok_or(Failure::Missing)?;
    let settings = typed.as_ref().unwrap_or(&active.generation_config().settings);
    let identity = active.identity();
    let waiting = view.candidate.as_ref().filter(|it| it.waits.is_some());
    let schema = schema(active);
    // A list shows what holds, so that a row can be added to it.
    let value = |member: &Member| match (&member.control, settings.get(&member.name)) {
        (Control::Rows(_), None) => schema["properties"][&member.name].get("default"),
        (_, value) => value,
    };
    let field = |member: Member| {
        let value = value(&member);
        Field::of(member, value)
    };
    Ok(SettingsPage {
        frame: Frame::of(dashboard, visitor, Place::OpsPlugins).await?,
        slot: slot.to_string(),
        plugin: format!("{} {}", identity.name, identity.version),
        revision: identity.settings_revision,
        seen: view.mark(),
        waiting: waiting.and_then(|it| it.name.clone()),
        fields: Member::all_of(&schema, ArrayRows::Possible).into_iter().map(field).collect(),
        faults,
    })
}

/// The settings that a form has; those that the schema does not name stay as they are.
fn read(schema: &Value, form: &Form, before: &Value) -> (Map<String, Value>, Vec<String>) {
    let (members, mut faults) = (Member::all_of(schema, ArrayRows::Possible), Vec::new());
    let mut settings = Map::new();
    for (name, value) in before.as_object().into_iter().flatten() {
        if members.iter().all(|it| it.name != *name) {
            settings.insert(name.clone(), value.clone());
        }
    }
    for member in members {
        let field = format!("s.{}", member.name);
        let value = match &member.control {
            Control::Rows(columns) => rows(columns, form, &field, &mut faults),
            Control::Choice(_)
            | Control::Flag
            | Control::Number
            | Control::Text
            | Control::Json => one(&member, form.get(&field), &mut faults),
        };
        // What is typed as the default is left to the plugin.
        let default = schema["properties"][&member.name].get("default");
        if let Some(value) = value.filter(|it| Some(it) != default) {
            settings.insert(member.name, value);
        }
    }
    (settings, faults)
}

fn one(member: &Member, text: &str, faults: &mut Vec<String>) -> Option<Value> {
    match member.read(text) {
        Ok(value) => value,
        Err(fault) => {
            faults.push(sentence(&fault));
            // It is shown again as it was typed.
            Some(Value::from(text))
        }
    }
}

/// The rows in which something was typed; none where there is no such row.
fn rows(columns: &[Member], form: &Form, field: &str, faults: &mut Vec<String>) -> Option<Value> {
    let mut items = Vec::new();
    let is_sent = |at: &usize| {
        columns.iter().any(|column| form.has(&format!("{field}.{at}.{}", column.name)))
    };
    for at in (0..MAX_ROWS).take_while(is_sent) {
        let mut item = Map::new();
        for column in columns {
            let text = form.get(&format!("{field}.{at}.{}", column.name));
            if let Some(value) = one(column, text, faults) {
                item.insert(column.name.clone(), value);
            }
        }
        if !item.is_empty() {
            items.push(Value::Object(item));
        }
    }
    if is_sent(&MAX_ROWS) {
        faults.push(format!(
            "`{field}` has more rows than the {MAX_ROWS} that a form may send, and nothing was saved; change these \
             settings by `waxwing plugin settings`."
        ));
    }
    (!items.is_empty()).then_some(Value::Array(items))
}

/// A value as it stands in a field.
fn typed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_)) => other.to_string(),
        other @ (Value::Array(_) | Value::Object(_)) => {
            serde_json::to_string_pretty(other).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "spf": {"enum": ["required", "advised"], "default": "advised"},
            "strict": {"type": "boolean"},
            "price": {"type": ["integer", "null"], "default": 1},
            "label": {"type": "string"},
            "deep": {"type": "object"},
            "plans": {"type": "array", "items": {"type": "object", "additionalProperties": false,
                "properties": {"name": {"type": "string"}, "limit": {"type": "integer"}}}}}})
    }

    #[test]
    fn what_is_typed_becomes_settings_of_the_types_that_the_schema_says() {
        let form = "s.spf=required&s.strict=false&s.price=1&s.label=+&s.deep=%7B%22a%22%3A1%7D\
                    &s.plans.0.name=free&s.plans.0.limit=&s.plans.1.name=gold&s.plans.1.limit=10&s.plans.2.name=";
        let (settings, faults) =
            read(&schema(), &Form::parse(form.as_bytes()), &json!({"own": 1, "label": "x"}));
        assert_eq!(faults, Vec::<String>::new());
        let plans = json!([{"name": "free"}, {"name": "gold", "limit": 10}]);
        let wanted =
            json!({"own": 1, "spf": "required", "strict": false, "deep": {"a": 1}, "plans": plans});
        assert_eq!(Value::Object(settings), wanted);
    }

    #[test]
    fn what_is_no_number_and_no_json_is_named() {
        let form = "s.price=ten&s.deep=%7B&s.plans.0.name=free&s.plans.0.limit=1e";
        let (settings, faults) = read(&schema(), &Form::parse(form.as_bytes()), &json!({}));
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert_eq!(settings["price"], "ten", "it is shown again");
    }
}
