//! A price by recipients; restricted templates are for accounts that pay.

use schemars::JsonSchema;
use serde::Deserialize;
use waxwing_plugin::plan_policy::{
    Account, Charge, Decision, Denial, PlanPolicy, UseRequest, denial,
};
use waxwing_plugin::testing::{account, template_use};
use waxwing_plugin::{CallContext, Diagnostic, Plugin, SelfTestResult, self_check};

/// The settings. The server validates them with the schema of this type before `configure`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// What one recipient costs.
    #[schemars(range(min = 1, max = 1000))]
    credits_per_recipient: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            credits_per_recipient: 1,
        }
    }
}

/// The rule.
pub struct Policy {
    price: u32,
}

impl Plugin for Policy {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self {
            price: settings.credits_per_recipient,
        })
    }

    /// Checks that run before this version decides anything; every one must pass.
    fn self_test(&self, ctx: &CallContext) -> Vec<SelfTestResult> {
        let restricted = UseRequest {
            template_tags: vec!["restricted".to_owned()],
            recipients: 2,
            ..template_use("self-test", None)
        };
        let decide = |paid| {
            let who = Account {
                paid,
                ..account("free")
            };
            self.decide(ctx, &who, &restricted)
        };
        let price = match decide(true) {
            Decision::Allow(it) if it.credits == 2 * self.price => Ok(()),
            other => Err(format!("{other:?}")),
        };
        let refusal = match decide(false) {
            Decision::Deny(_) => Ok(()),
            other => Err(format!("{other:?}")),
        };
        vec![
            self_check("the price is for each recipient", price),
            self_check("restricted templates need a paid plan", refusal),
        ]
    }
}

impl PlanPolicy for Policy {
    /// The decision for one use. `check` is there too, to decide several together.
    fn decide(&self, _: &CallContext, who: &Account, one: &UseRequest) -> Decision {
        if !who.paid && one.template_tags.iter().any(|it| it == "restricted") {
            let what = match &one.template_slug {
                Some(slug) => format!("template `{slug}`"),
                None => "this message".to_owned(),
            };
            return Decision::Deny(Denial {
                required_plan: Some("paid".to_owned()),
                ..denial(
                    "restricted-template",
                    format!("{what} is for accounts that pay"),
                )
            });
        }
        let noun = if self.price == 1 { "credit" } else { "credits" };
        Decision::Allow(Charge {
            credits: one.recipients.saturating_mul(self.price),
            reason: Some(format!("{} {noun} a recipient", self.price)),
        })
    }
}

waxwing_plugin::export_plan_policy!(Policy);

#[cfg(test)]
mod tests;
