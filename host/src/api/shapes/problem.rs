//! Refusals.

use serde::Serialize;
use utoipa::ToSchema;

use super::from_row;
use crate::authoring::breaking::BreakingChange;
use crate::authoring::finding::Finding;
use crate::credit::Credits;
use crate::id::DecisionId;
use crate::journey::accept::refusal;

/// RFC 9457, and our members.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    pub r#type: String,
    #[schema(value_type = String)]
    pub title: &'static str,
    pub status: u16,
    pub detail: String,
    pub instance: String,
    /// Always false.
    pub success: bool,
    /// E.g. `INSUFFICIENT_BALANCE`.
    #[schema(value_type = String)]
    pub code: &'static str,
    /// The same as `detail`.
    pub message: String,
    /// The same as the header `X-Request-Id`.
    pub request_id: String,
    /// All faults of a `BAD_REQUEST`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<Fault>>,
    /// `INSUFFICIENT_BALANCE`: what the message costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    pub required: Option<Credits>,
    /// `INSUFFICIENT_BALANCE`: the balance.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    pub credits_remaining: Option<Credits>,
    /// `DOMAIN_NOT_VERIFIED`: the domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// `DOMAIN_NOT_VERIFIED`: percent, below 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<u8>,
    /// `DOMAIN_NOT_VERIFIED`: what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<String>>,
    /// `RESTRICTED_TEMPLATE`: the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// `RESTRICTED_TEMPLATE`: the account's plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// `RESTRICTED_TEMPLATE`: the plan that would allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    #[expect(
        clippy::option_option,
        reason = "null where no plan allows it; other refusals lack it"
    )]
    pub required_plan: Option<Option<String>>,
    /// Of a template that cannot be published: what is wrong with it, with part, line and column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Vec<Finding>>,
    /// Of a template that would break senders: how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaking: Option<Vec<BreakingChange>>,
    /// Of such a template: the messages accepted in the last 30 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_last30_days: Option<u64>,
    /// The record of what the plugins decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub decision_id: Option<DecisionId>,
}

/// One fault of a request.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Fault {
    /// E.g. `to` or `data.user.name`.
    field: String,
    /// E.g. `missing`.
    code: String,
    /// What is wrong and what is wanted.
    message: String,
}

from_row!(row: refusal::Fault => Fault { field, code, message });
