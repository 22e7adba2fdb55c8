//! Plans, as far as the server knows them: what a plan allows is the code of the plan policy, and only what stands in
//! the setting `plans`, as the built-in policy has it, can be told.

use serde_json::{Map, Value};

use crate::account::plan::Plan;
use crate::plugin::binding::Binding;
use crate::plugin::installed::InstalledPlugin;
use crate::plugin::{Kind, Plugins};

/// A plan that a policy names in its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanTerms {
    pub plan: Plan,
    /// The price of one recipient.
    pub credits_per_recipient: Option<u64>,
    /// Recipients in a day and in a month.
    pub daily_limit: Option<u64>,
    pub monthly_limit: Option<u64>,
}

/// The plans that a plan policy names: in its settings, or in the defaults that its own schema gives to them. None
/// where it names none.
#[must_use]
pub fn named_by(policy: &InstalledPlugin) -> Option<Vec<PlanTerms>> {
    let schema = serde_json::from_str(&policy.manifest().settings_schema).unwrap_or_default();
    terms(&policy.generation_config().settings, &schema)
}

/// The names of the plans of the policy that serves the whole server.
#[must_use]
pub fn names_of_server(plugins: &Plugins) -> Vec<String> {
    let policy = plugins.serving(Kind::Plan, &Binding::Server);
    named_by(&policy).unwrap_or_default().into_iter().map(|it| it.plan.name).collect()
}

fn terms(settings: &Value, schema: &Value) -> Option<Vec<PlanTerms>> {
    let of_schema = &schema["properties"]["plans"];
    let plans = settings["plans"].as_array().or_else(|| of_schema["default"].as_array())?;
    let members = of_schema["items"]["properties"].as_object();
    plans.iter().map(|plan| one(plan.as_object()?, members)).collect()
}

fn one(plan: &Map<String, Value>, members: Option<&Map<String, Value>>) -> Option<PlanTerms> {
    let number = |name: &str| {
        let default = || members.and_then(|it| it.get(name)).map(|it| &it["default"]);
        plan.get(name).or_else(default).and_then(Value::as_u64)
    };
    Some(PlanTerms {
        plan: Plan::named(plan.get("name")?.as_str()?),
        credits_per_recipient: number("creditsPerRecipient"),
        daily_limit: number("dailyLimit"),
        monthly_limit: number("monthlyLimit"),
    })
}

/// The names of all plans that are known without looking at accounts: those of the built-in policy, and `named`.
#[must_use]
pub fn known(named: &[String]) -> Vec<String> {
    let mut known: Vec<String> = Plan::BUILTIN.map(str::to_owned).into();
    known.extend(named.iter().filter(|name| !Plan::BUILTIN.contains(&name.as_str())).cloned());
    known
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The built-in policy's own.
    const SCHEMA: &str = include_str!("../../../plugins/plan-policy/src/settings.schema.json");

    #[test]
    fn the_built_in_policy_names_its_plans_without_settings_and_with_them() {
        let schema = serde_json::from_str(SCHEMA).expect("JSON");
        let names = |terms: &[PlanTerms]| -> Vec<String> {
            terms.iter().map(|it| it.plan.name.clone()).collect()
        };
        let default = terms(&json!({}), &schema).expect("it names them");
        assert_eq!(names(&default), Plan::BUILTIN);
        assert!(default.iter().all(|it| it.credits_per_recipient == Some(1)));
        let own = json!({"plans": [{"name": "free", "dailyLimit": 10}, {"name": "gold", "creditsPerRecipient": 2}]});
        let own = terms(&own, &schema).expect("it names them");
        assert_eq!(names(&own), ["free", "gold"]);
        assert_eq!((own[0].credits_per_recipient, own[0].daily_limit), (Some(1), Some(10)));
        assert_eq!((own[1].credits_per_recipient, own[1].daily_limit), (Some(2), None));
    }

    #[test]
    fn a_policy_whose_settings_have_no_list_of_plans_names_none() {
        for settings in [
            json!({"price": 3}),
            json!({"plans": "all"}),
            json!({"plans": [{"price": 1}]}),
            json!(null),
        ] {
            assert_eq!(terms(&settings, &json!({})), None, "{settings}");
        }
    }
}
