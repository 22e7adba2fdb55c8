//! The inputs of the kinds, each with the members that all of them have.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Call, Input, RecordError};
use crate::plugin::kinds::{domain, mjml, plan, renderer};
use crate::plugin::records::json_form::{
    Account, JsonForm, Observation, Pairs, SenderDomain, Template, UseRequest, only_from_objects,
};
use crate::plugin::runtime::bindings::types::CallContext;
use crate::plugin::runtime::kind::Kind;

/// Serde cannot both flatten common members and refuse unknown ones, so each kind spells them out.
macro_rules! inputs {
    ($($name:ident { $($(#[$meta:meta])* $field:ident: $form:ty),* $(,)? })*) => {$(
        #[derive(Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default, deny_unknown_fields, remote = "Self")]
        struct $name {
            #[serde(skip_serializing_if = "String::is_empty")]
            call_id: String,
            now_unix_ms: u64,
            locale: Option<String>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            dry_run: bool,
            extra: Pairs,
            #[serde(skip_serializing_if = "Option::is_none")]
            settings: Option<Value>,
            $($(#[$meta])* $field: $form,)*
        }

        only_from_objects!($name);

        impl $name {
            fn common(context: CallContext, settings: Option<Value>) -> Self {
                let CallContext { call_id, now_unix_ms, locale, dry_run, extra } = context;
                let extra = Pairs::of(extra);
                Self { call_id, now_unix_ms, locale, dry_run, extra, settings, ..Self::default() }
            }

            fn with(self, input: impl FnOnce(($($form,)*)) -> Input) -> Call {
                let context = CallContext {
                    call_id: self.call_id,
                    now_unix_ms: self.now_unix_ms,
                    locale: self.locale,
                    dry_run: self.dry_run,
                    extra: self.extra.back(),
                };
                Call { context, settings: self.settings, input: input(($(self.$field,)*)) }
            }
        }
    )*};
}

inputs! {
    PlanInput {
        account: Account,
        uses: Vec<UseRequest>,
    }
    DomainInput {
        domain: SenderDomain,
        #[serde(skip_serializing_if = "Option::is_none")]
        seen: Option<Vec<Observation>>,
    }
    RendererInput {
        template: Template,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        data_json: Option<String>,
    }
    MjmlInput {
        source: String,
        includes: Pairs,
    }
}

impl Call {
    /// Reads the input of a call of a plugin of this kind.
    ///
    /// # Errors
    /// A member is unknown or has the wrong type.
    pub fn from_json(kind: Kind, json: &Value) -> Result<Self, RecordError> {
        match kind {
            Kind::Plan => read::<PlanInput>(json).map(PlanInput::call),
            Kind::Domain => read::<DomainInput>(json).map(DomainInput::call),
            Kind::Renderer => read::<RendererInput>(json).and_then(RendererInput::call),
            Kind::Mjml => read::<MjmlInput>(json).map(MjmlInput::call),
        }
    }

    /// The input as JSON; [`Call::from_json`] makes the same call of it.
    ///
    /// The JSON form has one value for each key of a list of pairs, and one source for each part of a
    /// template. The host gives its plugins nothing else.
    ///
    /// # Panics
    /// Never: an input has string keys only.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { context, settings, input } = self.clone();
        let json = match input {
            Input::Plan { who, uses } => {
                serde_json::to_value(PlanInput::new(context, settings, who, uses))
            }
            Input::Render { template, data } => {
                serde_json::to_value(RendererInput::new(context, settings, template, data))
            }
            Input::Require { domain } => {
                serde_json::to_value(DomainInput::new(context, settings, domain, None))
            }
            Input::Judge { domain, seen } => {
                serde_json::to_value(DomainInput::new(context, settings, domain, Some(seen)))
            }
            Input::Mjml { document } => {
                serde_json::to_value(MjmlInput::new(context, settings, document))
            }
        };
        json.expect("an input has string keys only")
    }
}

impl MjmlInput {
    pub fn new(context: CallContext, settings: Option<Value>, document: mjml::Document) -> Self {
        let mjml::Document { source, includes } = document;
        Self { source, includes: Pairs::of(includes), ..Self::common(context, settings) }
    }

    pub fn call(self) -> Call {
        self.with(|(source, includes)| Input::Mjml {
            document: mjml::Document { source, includes: includes.back() },
        })
    }
}

impl PlanInput {
    pub fn new(
        context: CallContext,
        settings: Option<Value>,
        who: plan::Account,
        uses: Vec<plan::UseRequest>,
    ) -> Self {
        let (account, uses) = (JsonForm::of(who), JsonForm::of(uses));
        Self { account, uses, ..Self::common(context, settings) }
    }

    pub fn call(self) -> Call {
        self.with(|(account, uses)| Input::Plan { who: account.back(), uses: uses.back() })
    }
}

impl DomainInput {
    pub fn new(
        context: CallContext,
        settings: Option<Value>,
        domain: domain::Domain,
        seen: Option<Vec<domain::Observation>>,
    ) -> Self {
        let (domain, seen) = (JsonForm::of(domain), JsonForm::of(seen));
        Self { domain, seen, ..Self::common(context, settings) }
    }

    pub fn call(self) -> Call {
        self.with(|(domain, seen)| {
            let domain = domain.back();
            match seen {
                None => Input::Require { domain },
                Some(seen) => Input::Judge { domain, seen: seen.back() },
            }
        })
    }
}

impl RendererInput {
    /// Data stand as a value where that gives the same text again, else as the text itself.
    pub fn new(
        context: CallContext,
        settings: Option<Value>,
        template: renderer::Template,
        text: String,
    ) -> Self {
        let value = serde_json::from_str::<Value>(&text).ok().filter(|value| !value.is_null());
        let (data, data_json) = match value {
            Some(value) if serde_json::to_string(&value).is_ok_and(|it| it == text) => {
                (Some(value), None)
            }
            Some(_) | None => (None, Some(text)),
        };
        let template = JsonForm::of(template);
        Self { template, data, data_json, ..Self::common(context, settings) }
    }

    pub fn call(self) -> Result<Call, RecordError> {
        if self.data.is_some() && self.data_json.is_some() {
            return Err(RecordError {
                path: "dataJson".to_owned(),
                detail: "there is `data` too; leave one of the two out".to_owned(),
            });
        }
        Ok(self.with(|(template, data, data_json)| {
            let data = data.unwrap_or_else(|| Value::Object(Map::new()));
            let data = data_json.unwrap_or_else(|| data.to_string());
            Input::Render { template: template.back(), data }
        }))
    }
}

fn read<T: DeserializeOwned>(json: &Value) -> Result<T, RecordError> {
    serde_path_to_error::deserialize(json).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        RecordError { path, detail: error.into_inner().to_string() }
    })
}
