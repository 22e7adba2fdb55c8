//! The plans in their order, and where an account stands among them.

use waxwing_plugin::Diagnostic;
use waxwing_plugin::plan_policy::Account;

use crate::settings::{ANY_PAID_PLAN, PlanTerms, Settings};

/// The plan that stands for "does not pay" when an account's own plan is not in the settings.
const FREE: &str = "free";

/// At least one plan, lowest first, each name once. Exists only valid.
pub struct Ladder {
    rungs: Vec<Rung>,
    free: Option<usize>,
}

/// One plan, with the reason of its price written once.
pub struct Rung {
    pub terms: PlanTerms,
    pub reason: String,
}

/// Where an account stands.
pub struct Standing<'a> {
    /// None is below every plan.
    rank: Option<usize>,
    /// Whose price and limits hold for the account.
    pub rung: &'a Rung,
    /// False where the account's plan is not in the settings and `rung` stands in for it.
    pub listed: bool,
}

impl Ladder {
    /// The ladder of valid settings, or every fault in them.
    pub fn new(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        let faults = settings.faults();
        if !faults.is_empty() {
            return Err(faults);
        }
        let free = settings.plans.iter().position(|it| it.name == FREE);
        let rungs = settings.plans.into_iter().map(Rung::new).collect();
        Ok(Self { rungs, free })
    }

    /// The plans, lowest first.
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// Where `who` stands. A plan that is not in the settings counts as `free` (below every plan
    /// where none has that name), or as the plan after it if the account pays.
    pub fn standing(&self, who: &Account) -> Standing<'_> {
        let own = self.rank_of(&who.plan);
        let rank = match (own, who.paid) {
            (Some(rank), _) => Some(rank),
            (None, false) => self.free,
            (None, true) => Some(self.free.map_or(0, |it| it + 1).min(self.rungs.len() - 1)),
        };
        Standing { rank, rung: &self.rungs[rank.unwrap_or(0)], listed: own.is_some() }
    }

    /// Whether `who` may use what is kept for the plan `required`. A required plan that is not in
    /// the settings is met by an account on that very plan only.
    pub fn meets(&self, who: &Account, standing: &Standing<'_>, required: &str) -> bool {
        if required == ANY_PAID_PLAN {
            return who.paid;
        }
        match self.rank_of(required) {
            Some(rank) => standing.rank >= Some(rank),
            None => who.plan == required,
        }
    }

    /// Whether a plan with this name is in the settings.
    pub fn lists(&self, plan: &str) -> bool {
        self.rank_of(plan).is_some()
    }

    fn rank_of(&self, plan: &str) -> Option<usize> {
        self.rungs.iter().position(|it| it.terms.name == plan)
    }
}

impl Rung {
    fn new(terms: PlanTerms) -> Self {
        let credits = terms.credits_per_recipient;
        let noun = if credits == 1 { "credit" } else { "credits" };
        let reason = format!("{credits} {noun} a recipient on plan {}", terms.name);
        Self { terms, reason }
    }
}
