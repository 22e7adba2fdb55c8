//! The route of a message: chosen by its account and its recipient's domain.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::delivery::limits::Limits;
use crate::delivery::smtp::{Login, Security};
use crate::domain::name::DomainName;
use crate::id::AccountId;
use crate::message::waits_for::SANDBOX;

/// The operator's routing rules.
#[derive(Debug, Clone)]
pub struct Routes {
    /// The first match counts.
    pub rules: Vec<Rule>,
    pub default: Route,
}

#[derive(Debug, Clone)]
pub struct Rule {
    /// Matches these accounts; all where it is empty.
    pub accounts: Vec<AccountId>,
    /// Matches these recipient domains; all where it is empty.
    pub recipients: Vec<DomainPattern>,
    pub route: Route,
}

#[derive(Debug, Clone)]
pub enum Route {
    Sandbox,
    Smarthosts(Arc<[Smarthost]>),
    Direct,
}

/// Which route of [`Routes`] a message takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKey {
    /// That of the rule with this number.
    Rule(usize),
    /// That of messages which no rule matches.
    Default,
    /// That of messages which may only reach the sandbox inbox, whatever the rules say.
    Sandbox,
}

/// A server that relays mail to any recipient.
#[derive(Debug, Clone)]
pub struct Smarthost {
    pub name: String,
    pub host: String,
    pub port: u16,
    pub security: Security,
    pub login: Option<Login>,
    pub weight: u32,
    pub limits: Limits,
}

/// A domain, or all its subdomains: `example.com`, `*.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainPattern {
    name: DomainName,
    is_below: bool,
}

impl Routes {
    /// The route of a message.
    #[must_use]
    pub fn select(&self, account: AccountId, lane: &str) -> (RouteKey, &Route) {
        if lane == SANDBOX {
            return (RouteKey::Sandbox, &Route::Sandbox);
        }
        let fits = |(_, rule): &(usize, &Rule)| {
            (rule.accounts.is_empty() || rule.accounts.contains(&account))
                && (rule.recipients.is_empty() || rule.recipients.iter().any(|it| it.fits(lane)))
        };
        let rule = self.rules.iter().enumerate().find(fits);
        let default = (RouteKey::Default, &self.default);
        rule.map_or(default, |(number, rule)| (RouteKey::Rule(number), &rule.route))
    }

    /// The route of a key from [`Self::select`]; the default where a reload took the rule away.
    #[must_use]
    pub fn route(&self, key: RouteKey) -> &Route {
        match key {
            RouteKey::Rule(number) => {
                self.rules.get(number).map_or(&self.default, |rule| &rule.route)
            }
            RouteKey::Default => &self.default,
            RouteKey::Sandbox => &Route::Sandbox,
        }
    }
}

impl DomainPattern {
    fn fits(&self, domain: &str) -> bool {
        if self.is_below {
            domain.strip_suffix(self.name.as_str()).is_some_and(|rest| rest.ends_with('.'))
        } else {
            domain == self.name.as_str()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a domain nor `*.` and a domain")]
pub struct InvalidPattern(String);

impl FromStr for DomainPattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let (name, is_below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let name = name.parse().map_err(|_| InvalidPattern(text.to_owned()))?;
        Ok(Self { name, is_below })
    }
}

impl fmt::Display for DomainPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_below { "*." } else { "" }, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn the_first_rule_that_fits_account_and_domain_counts() {
        let (one, two) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        let (one, two) = (AccountId::new(one), AccountId::new(two));
        let pattern = |text: &str| text.parse::<DomainPattern>().expect("valid");
        let rule = |accounts: &[AccountId], recipients: &[&str], route| Rule {
            accounts: accounts.to_vec(),
            recipients: recipients.iter().map(|it| pattern(it)).collect(),
            route,
        };
        let routes = Routes {
            rules: vec![
                rule(&[one], &["example.com"], Route::Sandbox),
                rule(&[], &["*.example.com"], Route::Smarthosts(Arc::new([]))),
                rule(&[two], &[], Route::Sandbox),
            ],
            default: Route::Direct,
        };
        let route = |account, lane| match routes.select(account, lane).1 {
            Route::Sandbox => "sandbox",
            Route::Smarthosts(_) => "smarthosts",
            Route::Direct => "direct",
        };
        assert_eq!(route(one, "example.com"), "sandbox");
        assert_eq!(route(two, "a.example.com"), "smarthosts");
        assert_eq!(route(one, "notexample.com"), "direct");
        assert_eq!(route(two, "example.net"), "sandbox");
        assert_eq!(route(one, SANDBOX), "sandbox", "whatever the rules say");
    }

    #[test]
    fn a_pattern_is_a_domain_or_all_below_one() {
        for text in ["", "*", "*.", "example", "a b.example", "*.*.example.com"] {
            assert!(text.parse::<DomainPattern>().is_err(), "{text}");
        }
        assert_eq!(
            "*.Example.COM".parse::<DomainPattern>().expect("valid").to_string(),
            "*.example.com"
        );
    }
}
