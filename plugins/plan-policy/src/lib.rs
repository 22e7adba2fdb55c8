//! The built-in plan policy: which plan may send which template, how much, and at what price.
//!
//! Pure and without state: the same account, uses and settings give the same decisions. The balance
//! is not looked at here, the host refuses an empty one whatever a policy says.

mod decision;
mod ladder;
mod self_test;
mod settings;

use waxwing_plugin::plan_policy::{Account, Decision, PlanPolicy, UseRequest};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Plugin, SelfTestResult};

use ladder::Ladder;
use settings::Settings;

/// The policy over the operator's plans.
struct PlanRules {
    ladder: Ladder,
}

impl Plugin for PlanRules {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self { ladder: Ladder::new(settings)? })
    }

    fn self_test(&self, _: &CallContext) -> Vec<SelfTestResult> {
        self_test::run(&self.ladder)
    }
}

impl PlanPolicy for PlanRules {
    fn check(
        &self,
        _: &CallContext,
        who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        Ok(decision::decide(&self.ladder, who, uses))
    }
}

waxwing_plugin::export_plan_policy!(PlanRules);
