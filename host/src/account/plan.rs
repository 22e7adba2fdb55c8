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
    Free,
    /// By its holder.
    Paid,
}

/// A text that cannot be the name of a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be a plan: 1 to 32 of a-z, 0-9 and -; the built-in policy knows {known}",
    known = Plan::BUILTIN.join(", ")
)]
pub struct BadPlanName(String);

impl FromStr for Plan {
    type Err = BadPlanName;

    fn from_str(text: &str) -> Result<Self, BadPlanName> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if (1..=32).contains(&text.len()) && text.chars().all(allowed) {
            Ok(Self::named(text))
        } else {
            Err(BadPlanName(text.to_owned()))
        }
    }
}

impl Plan {
    /// The plans of the built-in plan policy, lowest first.
    pub const BUILTIN: [&str; 5] = ["free", "starter", "pro", "business", "enterprise"];

    /// The plan of that name, as it was stored: only `free` is not paid for.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let billing = if name == "free" { Billing::Free } else { Billing::Paid };
        Self { name: name.to_owned(), billing }
    }
}
