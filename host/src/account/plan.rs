//! The plan of an account. What it allows is the plan policy's business, not the host's.

use std::str::FromStr;

/// A plan's name, and whether it is paid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// E.g. `free`, `pro`.
    pub name: String,
    /// How it is paid.
    pub billing: Billing,
}

/// How a plan is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// Not at all.
    Free,
    /// By its holder.
    Paid,
}

/// The plans of the built-in plan policy, lowest first.
const KNOWN: [&str; 5] = ["free", "starter", "pro", "business", "enterprise"];

/// A text that is not the name of a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a plan; there are: {known}", known = KNOWN.join(", "))]
pub struct UnknownPlan(String);

impl FromStr for Plan {
    type Err = UnknownPlan;

    fn from_str(text: &str) -> Result<Self, UnknownPlan> {
        if KNOWN.contains(&text) {
            Ok(Self::named(text))
        } else {
            Err(UnknownPlan(text.to_owned()))
        }
    }
}

impl Plan {
    /// The plan of that name, as it was stored: only `free` is not paid for.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let billing = if name == "free" { Billing::Free } else { Billing::Paid };
        Self { name: name.to_owned(), billing }
    }
}
