//! The built-in plan policy.
use waxwing_plugin::plan_policy::{Account, Charge, Decision, PlanPolicy, UseRequest};
use waxwing_plugin::{CallContext, Failure, Plugin, NoSettings};
struct OneCreditEach;
impl Plugin for OneCreditEach {
     type Settings = NoSettings;
     fn configure(_: NoSettings) -> Result<Self, Vec<waxwing_plugin::Diagnostic>> { Ok(OneCreditEach) }
}
impl PlanPolicy for OneCreditEach {
    fn check(&self, _: &CallContext, _: &Account, uses: &[UseRequest]) -> Result<Vec<Decision>, Failure> {
        Ok(uses.iter().map(|r#use| Decision::Allow(Charge { credits: r#use.recipients, reason: None })).collect())
    }
}
waxwing_plugin::export_plan_policy!(OneCreditEach);
