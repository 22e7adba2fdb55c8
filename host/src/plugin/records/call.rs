//! The JSON form of a plugin's calls and answers: golden cases, samples and replays read and write it.
//!
//! An input may leave members out; a member that is not known is an error. Two answers are equal
//! when their JSON is equal.

mod input;

use serde_json::Value;

use crate::plugin::config::binding::Binding;
use crate::plugin::kinds::{domain, mjml, plan, renderer};
use crate::plugin::runtime::bindings::types::CallContext;
use crate::plugin::runtime::kind::Kind;

/// A call of a plugin: what goes in.
#[derive(Debug, Clone)]
pub struct Call {
    /// What the plugin knows about now and here.
    pub context: CallContext,
    /// The settings that it was configured with; none where the record does not say.
    pub settings: Option<Value>,
    /// What it is asked.
    pub input: Input,
}

/// What a plugin is asked.
#[derive(Debug, Clone)]
pub enum Input {
    /// `check` of a plan policy.
    Plan {
        /// Who wants to send.
        who: plan::Account,
        /// What they want to send.
        uses: Vec<plan::UseRequest>,
    },
    /// `compile` and `render` of a renderer.
    Render {
        template: renderer::Template,
        /// The sender's data, as JSON text.
        data: String,
    },
    /// `require` of a domain policy.
    Require { domain: domain::Domain },
    /// `judge` of a domain policy.
    Judge {
        domain: domain::Domain,
        /// What was seen in DNS.
        seen: Vec<domain::Observation>,
    },
    /// `compile` of an MJML compiler.
    Mjml { document: mjml::Document },
}

/// Why a JSON value is not the input of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", place(.path))]
pub struct RecordError {
    /// Where in the value: `uses[0].channel`; empty for the whole of it.
    pub path: String,
    /// What is wrong there, and what would be right.
    pub detail: String,
}

impl Call {
    /// About how much memory it holds, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.input {
            Input::Plan { .. } | Input::Require { .. } => 1_024,
            Input::Judge { seen, .. } => seen.len() * 1_024,
            Input::Mjml { document } => {
                let includes = document.includes.iter().map(|it| it.value.len());
                document.source.len() + includes.sum::<usize>()
            }
            Input::Render { template, data } => {
                let sources = template.sources.iter().map(|it| it.text.len());
                let partials = template.partials.iter().map(|it| it.value.len());
                let layout = template.layout.as_ref().map_or(0, String::len);
                data.len() + layout + sources.chain(partials).sum::<usize>()
            }
        }
    }

    /// The kind of plugin that is called.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.input.kind()
    }

    /// Whether a plugin with that binding may get such a call, as far as the call says whom it was for.
    #[must_use]
    pub fn may_be_for(&self, binding: &Binding) -> bool {
        match (binding, &self.input) {
            (Binding::Plan(plan), Input::Plan { who, .. }) => *plan == who.plan,
            (Binding::Account(account), Input::Plan { who, .. }) => *account == who.id,
            (Binding::Plan(plan), Input::Require { domain } | Input::Judge { domain, .. }) => {
                *plan == domain.plan
            }
            (Binding::Domain(name), Input::Require { domain } | Input::Judge { domain, .. }) => {
                *name == domain.name
            }
            (
                Binding::Server | Binding::Plan(_) | Binding::Account(_) | Binding::Domain(_),
                Input::Plan { .. }
                | Input::Render { .. }
                | Input::Require { .. }
                | Input::Judge { .. }
                | Input::Mjml { .. },
            ) => true,
        }
    }
}

impl Input {
    /// The kind of plugin that takes this input.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Plan { .. } => Kind::Plan,
            Self::Render { .. } => Kind::Renderer,
            Self::Require { .. } | Self::Judge { .. } => Kind::Domain,
            Self::Mjml { .. } => Kind::Mjml,
        }
    }
}

fn place(path: &str) -> String {
    if path.is_empty() { "the input".to_owned() } else { format!("`{path}` of the input") }
}
