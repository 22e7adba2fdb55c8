//! What an operator may write under `settings`, and every fault in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waxwing_plugin::{Diagnostic, fault_at};

use crate::hours::Hours;

/// Quiet hours and a price by volume.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// Hours in which only urgent templates are sent. Leave it out for none.
    pub quiet_hours: Option<Hours>,
    /// Templates with one of these tags are urgent: they are sent at any hour.
    pub urgent_tags: Vec<String>,
    /// So many recipients of a month cost the first price each.
    pub first_recipients: u64,
    /// Credits for each of the first recipients of a month.
    pub first_price: u32,
    /// Credits for each recipient after the first ones.
    pub further_price: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quiet_hours: None,
            urgent_tags: vec!["transactional".to_owned(), "urgent".to_owned()],
            first_recipients: 1_000,
            first_price: 2,
            further_price: 1,
        }
    }
}

impl Settings {
    /// Every fault at once; empty if there is none.
    pub fn faults(&self) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        if let Some(hours) = &self.quiet_hours {
            for (field, hour) in [("fromHour", hours.from_hour), ("untilHour", hours.until_hour)] {
                if hour > 23 {
                    let path = format!("quietHours.{field}");
                    let message = format!("`{path}` is {hour}: it must be 0 to 23");
                    faults.push(fault_at(path, "hour_out_of_range", message));
                }
            }
            if hours.from_hour == hours.until_hour {
                let message = "quiet hours must end at another hour than they begin; leave \
                               `quietHours` out for none";
                faults.push(fault_at("quietHours.untilHour", "hours_equal", message));
            }
        }
        faults
    }
}
