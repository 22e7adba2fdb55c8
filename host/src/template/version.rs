//! One published text of a template. Versions never change; a change makes a new one.

use serde::{Deserialize, Serialize};

use super::slug::Slug;
use crate::id::TemplateId;
use crate::message::address::EmailAddress;

/// The published version of a template.
#[derive(Debug, Clone)]
pub struct TemplateVersion {
    /// The template.
    pub template_id: TemplateId,
    /// The name by which it is sent.
    pub slug: Slug,
    /// 1 for the first version.
    pub revision: u64,
    /// What a person wrote.
    pub source: TemplateSource,
    /// What the renderer found the source to read.
    pub variables: Vec<Variable>,
}

/// What a person wrote: the parts, and what surrounds them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TemplateSource {
    /// What a person calls it.
    #[serde(default)]
    pub name: String,
    /// When to send it.
    #[serde(default)]
    pub description: String,
    /// The subject line.
    pub subject: String,
    /// The line that mail clients show beside the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preheader: Option<String>,
    /// The HTML part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// The text part; derived from the HTML part where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What surrounds the HTML part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The sender where the request names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<EmailAddress>,
    /// The plan that it needs, e.g. `pro`, or `paid` for any paid one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_plan: Option<String>,
    /// Words to find it by; the plan policy sees them.
    #[serde(default)]
    pub tags: Vec<String>,
    /// A data object that it renders well with.
    #[serde(default)]
    pub example: serde_json::Map<String, serde_json::Value>,
}

/// A variable that a template reads, e.g. `user.name` or `items[].price`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Where it stands in `data`.
    pub path: String,
    /// Whether a send without it is refused.
    pub required: bool,
}
