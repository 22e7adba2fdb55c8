//! Whose calls a plugin answers: everybody's, a plan's, an account's or a sender domain's. The
//! narrowest binding wins.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fair_share::ShareOwner;
use crate::id::AccountId;

/// Whose calls come to a slot. Narrower is greater.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Binding {
    /// All calls of the kind.
    #[default]
    Server,
    /// Those of accounts on a plan.
    Plan(String),
    /// Those of one account, `acc_…`.
    Account(String),
    /// Those for one sender domain, in lower case and A-labels.
    Domain(String),
}

/// Whom a call is for.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The account's plan.
    pub plan: &'a str,
    pub account: &'a str,
    /// The sender domain, where it is known.
    pub domain: Option<&'a str>,
}

impl Scope<'_> {
    /// Whose share of a plugin its call takes.
    #[must_use]
    pub fn owner(&self) -> ShareOwner {
        self.account.parse::<AccountId>().map_or(ShareOwner::Operator, ShareOwner::from)
    }
}

/// The table `[binding]` of a slot's file.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
}

impl Binding {
    /// Whether a call of that scope is for a plugin with this binding.
    #[must_use]
    pub fn covers(&self, scope: &Scope<'_>) -> bool {
        match self {
            Self::Server => true,
            Self::Plan(plan) => plan == scope.plan,
            Self::Account(account) => account == scope.account,
            Self::Domain(domain) => scope.domain == Some(domain.as_str()),
        }
    }

    /// A call that a plugin with this binding may get, by no more than the binding says.
    #[must_use]
    pub fn scope(&self) -> Scope<'_> {
        let nobody = Scope { plan: "", account: "", domain: None };
        match self {
            Self::Server => nobody,
            Self::Plan(plan) => Scope { plan, ..nobody },
            Self::Account(account) => Scope { account, ..nobody },
            Self::Domain(domain) => Scope { domain: Some(domain), ..nobody },
        }
    }

    /// How narrow it is: server, then plan, then account, then domain.
    #[must_use]
    pub fn narrowness(&self) -> u8 {
        match self {
            Self::Server => 0,
            Self::Plan(_) => 1,
            Self::Account(_) => 2,
            Self::Domain(_) => 3,
        }
    }
}

impl TryFrom<Written> for Binding {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, &'static str> {
        match (written.plan, written.account, written.domain) {
            (None, None, None) => Ok(Self::Server),
            (Some(plan), None, None) => Ok(Self::Plan(plan)),
            (None, Some(account), None) => Ok(Self::Account(account)),
            (None, None, Some(domain)) => Ok(Self::Domain(domain.to_ascii_lowercase())),
            _ => Err("a binding is to one of plan, account and domain"),
        }
    }
}

impl From<Binding> for Written {
    fn from(binding: Binding) -> Self {
        match binding {
            Binding::Server => Self::default(),
            Binding::Plan(plan) => Self { plan: Some(plan), ..Self::default() },
            Binding::Account(account) => Self { account: Some(account), ..Self::default() },
            Binding::Domain(domain) => Self { domain: Some(domain), ..Self::default() },
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("server"),
            Self::Plan(plan) => write!(f, "plan {plan}"),
            Self::Account(account) => write!(f, "account {account}"),
            Self::Domain(domain) => write!(f, "domain {domain}"),
        }
    }
}
