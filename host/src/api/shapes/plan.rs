//! Plans.

use serde::Serialize;
use utoipa::ToSchema;

use crate::account::plan::Billing;
use crate::management::plans::PlanTerms;

/// The plans that the plan policy names, lowest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanList {
    /// The plan of the account that asks; none where the server's operator does.
    #[schema(required, nullable)]
    pub plan: Option<String>,
    /// Whether the policy has a list of plans in its setting `plans`. Without one nobody but the policy's own code knows
    /// which plans there are and what they allow: `data` is empty then.
    pub listed: bool,
    /// The plans.
    pub data: Vec<Plan>,
    /// Always false.
    pub has_more: bool,
}

/// A plan, as the settings of the plan policy name it. What it allows beyond that is the policy's code.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// As in an account's `plan`.
    name: String,
    /// Whether it is paid for.
    paid: bool,
    /// The price of one recipient; none where the settings do not say it.
    #[schema(required, nullable)]
    credits_per_recipient: Option<u64>,
    /// Recipients in a day; none for no limit, or one that the settings do not say.
    #[schema(required, nullable)]
    daily_limit: Option<u64>,
    /// Recipients in a month; none for no limit, or one that the settings do not say.
    #[schema(required, nullable)]
    monthly_limit: Option<u64>,
}

impl PlanList {
    pub fn new(plan: Option<String>, terms: Option<Vec<PlanTerms>>) -> Self {
        let listed = terms.is_some();
        let data = terms.unwrap_or_default().into_iter().map(Into::into).collect();
        Self { plan, listed, data, has_more: false }
    }
}

impl From<PlanTerms> for Plan {
    fn from(terms: PlanTerms) -> Self {
        Self {
            paid: terms.plan.billing == Billing::Paid,
            name: terms.plan.name,
            credits_per_recipient: terms.credits_per_recipient,
            daily_limit: terms.daily_limit,
            monthly_limit: terms.monthly_limit,
        }
    }
}
