//! The draft of a template as the form of its page has it, with the data that it is tried on.

use serde_json::{Map, Value, json};

use super::form::Form;
use super::response::Failure;
use crate::authoring::error::AuthoringError;
use crate::authoring::{self, newest};
use crate::store::TemplateRow;
use crate::template::kind::TemplateKind;
use crate::template::source::TemplateSource;

/// The example that is taken where none is chosen.
const DEFAULT: &str = "default";

/// The draft as the editor has it.
#[derive(Debug)]
pub struct Editor {
    /// The edition of the template that the person has read.
    pub edition: i64,
    pub subject: String,
    pub preheader: String,
    pub is_mjml: bool,
    pub markup: String,
    pub text: String,
    /// The default example, as JSON.
    pub example: String,
    /// The further examples.
    pub sets: Vec<DataSet>,
    /// One that is typed to be added; empty where there is none.
    pub added: DataSet,
    /// The example that the preview reads; empty for the default one.
    pub chosen: String,
}

/// Example data with a name.
#[derive(Debug, Default)]
pub struct DataSet {
    pub name: String,
    /// As JSON.
    pub text: String,
    /// Whether it goes when the draft is saved.
    pub is_removed: bool,
}

impl Editor {
    pub fn of(row: &TemplateRow) -> Self {
        let source = newest(row);
        let markup = source.mjml.as_ref().or(source.html.as_ref());
        let json = |it: &Map<String, Value>| serde_json::to_string_pretty(it).unwrap_or_default();
        let further = source.examples.iter().filter(|(name, _)| *name != DEFAULT);
        let set = |(name, data): (&String, &Map<String, Value>)| DataSet {
            name: name.clone(),
            text: json(data),
            is_removed: false,
        };
        Self {
            edition: row.edition,
            subject: source.subject.clone(),
            preheader: source.preheader.clone().unwrap_or_default(),
            is_mjml: source.has_mjml(),
            markup: markup.cloned().unwrap_or_default(),
            text: source.text.clone().unwrap_or_default(),
            example: source.examples.get(DEFAULT).map(json).unwrap_or_default(),
            sets: further.map(set).collect(),
            added: DataSet::default(),
            chosen: String::new(),
        }
    }

    pub fn sent(form: &Form) -> Result<Self, Failure> {
        // Browsers end the lines of a text area with CR LF.
        let lines = |text: &str| text.replace("\r\n", "\n");
        let text = |name: &str| lines(form.get(name));
        let is_removed = |name: &str| form.all("remove").any(|it| it == name);
        let sets = form.all("set-name").zip(form.all("set"));
        Ok(Self {
            edition: edition(form)?,
            subject: text("subject"),
            preheader: text("preheader"),
            is_mjml: form.get("language") == "mjml",
            markup: text("markup"),
            text: text("text"),
            example: text("example"),
            sets: sets
                .map(|(name, text)| DataSet {
                    name: name.to_owned(),
                    text: lines(text),
                    is_removed: is_removed(name),
                })
                .collect(),
            added: DataSet {
                name: form.get("new-set-name").trim().to_owned(),
                text: text("new-set"),
                is_removed: false,
            },
            chosen: form.get("data").to_owned(),
        })
    }

    /// The example that the preview reads; none for the default one.
    pub fn chosen_example(&self) -> Option<String> {
        Some(self.chosen.clone()).filter(|it| !it.is_empty())
    }

    /// What the form says of the template.
    ///
    /// # Errors
    /// An example is no JSON object, or the template would not hold together.
    pub fn source(&self, row: &TemplateRow) -> Result<TemplateSource, AuthoringError> {
        let mut value = json!(newest(row));
        let patch = self.patch()?;
        // An example is replaced, and not merged into the one before it.
        let named = patch["examples"].as_object().into_iter().flat_map(Map::keys);
        if let Some(examples) = value.get_mut("examples").and_then(Value::as_object_mut) {
            for name in named {
                examples.remove(name);
            }
        }
        authoring::merge(&mut value, &patch);
        authoring::source(&value, TemplateKind::Template).map_err(AuthoringError::Faults)
    }

    /// What is put over the newest source: what the editor does not show stays.
    fn patch(&self) -> Result<Value, AuthoringError> {
        let part = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
        let (html, mjml) = if self.is_mjml {
            (Value::Null, part(&self.markup))
        } else {
            (part(&self.markup), Value::Null)
        };
        Ok(json!({
            "subject": self.subject,
            "preheader": part(&self.preheader),
            "html": html,
            "mjml": mjml,
            "text": part(&self.text),
            "examples": self.examples()?,
        }))
    }

    /// All that the form has, by name; one that goes is null.
    fn examples(&self) -> Result<Map<String, Value>, AuthoringError> {
        let mut examples = Map::new();
        examples.insert(DEFAULT.to_owned(), json!(example("example data", &self.example)?));
        for set in &self.sets {
            let data = if set.is_removed { None } else { example(&set.name, &set.text)? };
            examples.insert(set.name.clone(), json!(data));
        }
        let DataSet { name, text, .. } = &self.added;
        if name.is_empty() && text.trim().is_empty() {
            return Ok(examples);
        }
        let fault = |text: &str| AuthoringError::fault("new data set", "invalid", text.to_owned());
        if name.is_empty() {
            return Err(fault("has no name"));
        }
        if examples.contains_key(name) {
            return Err(fault("has the name of another one"));
        }
        let data = example(name, text)?.ok_or_else(|| fault("has no data; give at least {}"))?;
        examples.insert(name.clone(), json!(data));
        Ok(examples)
    }
}

/// The edition of the template that the person has read.
pub fn edition(form: &Form) -> Result<i64, Failure> {
    let unread = || Failure::Invalid("The form names no edition; load the page again.".to_owned());
    form.get("edition").parse().map_err(|_| unread())
}

fn example(name: &str, text: &str) -> Result<Option<Map<String, Value>>, AuthoringError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let read = serde_json::from_str(text);
    read.map(Some).map_err(|error| {
        AuthoringError::fault(name, "invalid", format!("is no JSON object: {error}"))
    })
}
