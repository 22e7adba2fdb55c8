//! The plan of an account. What it allows is the plan policy's business, not the host's.

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

impl Plan {
    /// The plan of that name: only `free` is not paid for.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let billing = if name == "free" { Billing::Free } else { Billing::Paid };
        Self { name: name.to_owned(), billing }
    }
}
