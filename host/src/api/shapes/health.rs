//! Health.

use serde::Serialize;
use utoipa::ToSchema;

use super::Maintenance;
use crate::health::{Finding, Report};
use crate::plugin::status::SlotHealth;

/// All is well.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok`.
    #[schema(value_type = String)]
    pub status: &'static str,
}

/// The store can be written and the plugins are loaded.
#[derive(Serialize, ToSchema)]
pub struct Ready {
    /// `ok`.
    #[schema(value_type = String)]
    pub status: &'static str,
    /// Read-only mode, while it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
}

/// That sends can be accepted, and what the plugins do.
#[derive(Serialize)]
pub struct HealthInDetail {
    #[serde(flatten)]
    pub ready: Ready,
    pub plugins: Vec<SlotHealth>,
}

/// What the checks of the server's health found.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthReport {
    /// The worst state of all checks: `ok`, `warning` or `failing`.
    #[schema(value_type = String)]
    status: &'static str,
    /// When the last run ended.
    #[schema(format = "date-time")]
    checked_at: String,
    /// One for each check, always in the same order.
    findings: Vec<HealthFinding>,
}

/// What one check found.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthFinding {
    /// Its name, as in `block_lists`.
    #[schema(value_type = String)]
    check: &'static str,
    /// The same for people.
    #[schema(value_type = String)]
    title: &'static str,
    /// `ok`, `warning` (look soon), `failing`, or `not_checked`: nothing is known, and `what` says why.
    #[schema(value_type = String)]
    state: &'static str,
    /// What was seen.
    what: String,
    /// Why it matters.
    #[schema(value_type = String)]
    why: &'static str,
    /// What to do; null where nothing is to be done.
    todo: Option<String>,
    /// Since when it has been in this state, as far as this start of the server knows.
    #[schema(format = "date-time")]
    since: String,
    /// When the check was made.
    #[schema(format = "date-time")]
    checked_at: String,
}

impl From<&Report> for HealthReport {
    fn from(report: &Report) -> Self {
        Self {
            status: report.worst().as_str(),
            checked_at: report.at.rfc3339(),
            findings: report.findings.iter().map(HealthFinding::from).collect(),
        }
    }
}

impl From<&Finding> for HealthFinding {
    fn from(finding: &Finding) -> Self {
        let Finding { check, verdict, since, checked_at } = finding;
        Self {
            check: check.as_str(),
            title: check.title(),
            state: verdict.state.as_str(),
            what: verdict.what.clone(),
            why: check.why(),
            todo: verdict.todo.clone(),
            since: since.rfc3339(),
            checked_at: checked_at.rfc3339(),
        }
    }
}
