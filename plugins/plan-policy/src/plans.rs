//! The plans in their order, and where an account stands among them.

use waxwing_plugin::Diagnostic;
use waxwing_plugin::plan_policy::Account;

use crate::settings::{ANY_PAID_PLAN, PlanTerms, Settings};

/// The plan that stands for "does not pay" when an account's own plan is not in the settings.
const FREE: &str = "free";

/// At least one plan, lowest first, each name once. Always valid.
pub struct Plans {
    all: Vec<Plan>,
    free: Option<usize>,
}

/// One plan, with the reason of its price written once.
pub struct Plan {
    pub terms: PlanTerms,
    pub reason: String,
}

/// Where an account stands.
pub struct Rank<'a> {
    /// In the list of plans; none is below every plan.
    position: Option<usize>,
    /// Whose price and limits hold for the account.
    pub plan: &'a Plan,
    /// False where the account's plan is not in the settings and `plan` stands in for it.
    pub listed: bool,
}

impl Plans {
    /// The plans of valid settings, or every fault in them.
    pub fn new(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        let faults = settings.faults();
        if !faults.is_empty() {
            return Err(faults);
        }
        let free = settings.plans.iter().position(|it| it.name == FREE);
        let all = settings.plans.into_iter().map(Plan::new).collect();
        Ok(Self { all, free })
    }

    /// The plans, lowest first.
    pub fn all(&self) -> &[Plan] {
        &self.all
    }

    /// Where `who` stands. A plan that is not in the settings counts as `free` (below every plan
    /// where none has that name), or as the plan after it if the account pays.
    pub fn rank(&self, who: &Account) -> Rank<'_> {
        let own = self.position_of(&who.plan);
        let position = match (own, who.paid) {
            (Some(position), _) => Some(position),
            (None, false) => self.free,
            (None, true) => Some(self.free.map_or(0, |it| it + 1).min(self.all.len() - 1)),
        };
        Rank { position, plan: &self.all[position.unwrap_or(0)], listed: own.is_some() }
    }

    /// Whether `who` may use what is kept for the plan `required`. A required plan that is not in
    /// the settings is met by an account on that very plan only.
    pub fn meets(&self, who: &Account, rank: &Rank<'_>, required: &str) -> bool {
        if required == ANY_PAID_PLAN {
            return who.paid;
        }
        match self.position_of(required) {
            Some(position) => rank.position >= Some(position),
            None => who.plan == required,
        }
    }

    /// Whether a plan with this name is in the settings.
    pub fn contains(&self, plan: &str) -> bool {
        self.position_of(plan).is_some()
    }

    fn position_of(&self, plan: &str) -> Option<usize> {
        self.all.iter().position(|it| it.terms.name == plan)
    }
}

impl Plan {
    fn new(terms: PlanTerms) -> Self {
        let credits = terms.credits_per_recipient;
        let noun = if credits == 1 { "credit" } else { "credits" };
        let reason = format!("{credits} {noun} a recipient on plan {}", terms.name);
        Self { terms, reason }
    }
}
