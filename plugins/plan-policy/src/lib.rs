//! The built-in plan policy: which plan may send which template, how much, and at what price.
//!
//! Pure and without state: the same account, uses and settings give the same decisions. The balance
//! is not looked at here, the host refuses an empty one whatever a policy says.

mod decision;
mod plans;
mod self_test;
mod settings;

use waxwing_plugin::plan_policy::{Account, Decision, PlanPolicy, UseRequest};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Plugin, SelfTestResult};

use plans::Plans;
use settings::Settings;

/// The policy over the operator's plans.
struct PlanRules {
    plans: Plans,
}

impl Plugin for PlanRules {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self { plans: Plans::new(settings)? })
    }

    fn self_test(&self, _: &CallContext) -> Vec<SelfTestResult> {
        self_test::run(&self.plans)
    }
}

impl PlanPolicy for PlanRules {
    fn check(
        &self,
        _: &CallContext,
        who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        Ok(decision::decide(&self.plans, who, uses))
    }
}

waxwing_plugin::export_plan_policy!(PlanRules);
