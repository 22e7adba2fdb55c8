//! What an operator may write in `plan-policy.toml` under `settings`, and every fault in it.

use serde::Deserialize;
use waxwing_plugin::{Diagnostic, PluginSettings, fault_at};

/// JSON Schema (2020-12) of [`Settings`]; a test holds the two together.
pub const SCHEMA: &str = include_str!("settings.schema.json");

/// A template that requires this plan is for every account that pays.
pub const ANY_PAID_PLAN: &str = "paid";

/// The whole of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// Lowest first: a plan may send what every plan before it may send.
    pub plans: Vec<PlanTerms>,
}

/// What one plan costs and how much it may send.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PlanTerms {
    pub name: String,
    pub credits_per_recipient: u32,
    /// Recipients in the last day; none is no limit.
    pub daily_limit: Option<u64>,
    /// Recipients in the last month; none is no limit.
    pub monthly_limit: Option<u64>,
}

impl PluginSettings for Settings {
    fn schema() -> String {
        SCHEMA.to_owned()
    }
}

impl Default for Settings {
    fn default() -> Self {
        let names = ["free", "starter", "pro", "business", "enterprise"];
        let plans = names.map(|it| PlanTerms { name: it.to_owned(), ..PlanTerms::default() });
        Self { plans: plans.into() }
    }
}

impl Default for PlanTerms {
    fn default() -> Self {
        Self {
            name: String::new(),
            credits_per_recipient: 1,
            daily_limit: None,
            monthly_limit: None,
        }
    }
}

impl Settings {
    /// Every fault at once, in the order of the list; empty if there is none.
    pub fn faults(&self) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        if self.plans.is_empty() {
            faults.push(fault_at("plans", "plans_empty", "`plans` must list at least one plan"));
        }
        for (index, plan) in self.plans.iter().enumerate() {
            let earlier = self.plans.iter().take(index).any(|it| it.name == plan.name);
            let path = format!("plans[{index}].name");
            if let Some((code, reason)) = name_fault(&plan.name) {
                let message = format!("`{path}` {reason}");
                faults.push(fault_at(path, code, message));
            } else if earlier {
                let message = format!("`{path}`: `{}` is in the list already", plan.name);
                faults.push(fault_at(path, "name_duplicate", message));
            }
            let limits = [("dailyLimit", plan.daily_limit), ("monthlyLimit", plan.monthly_limit)];
            for (field, _) in limits.iter().filter(|(_, limit)| *limit == Some(0)) {
                let path = format!("plans[{index}].{field}");
                let message = format!("`{path}` must be at least 1; leave it out for no limit");
                faults.push(fault_at(path, "limit_zero", message));
            }
        }
        faults
    }
}

fn name_fault(name: &str) -> Option<(&'static str, &'static str)> {
    if name.trim().is_empty() {
        Some(("name_empty", "must not be empty"))
    } else if name.trim() != name || name.chars().any(char::is_control) {
        Some(("name_characters", "must have no outer white space and no control characters"))
    } else if name == ANY_PAID_PLAN {
        Some(("name_reserved", "must not be `paid`: templates use it for every paid plan"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
