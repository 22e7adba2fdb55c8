//! What a deferred message waits for besides its own next attempt: the column `queue.waits_for`.

use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::id::AccountId;

const FOR_ACCOUNT: &str = " for ";
/// No registered domain has a blank in its name, so no hosts are called like this.
const MX: &str = "where to: ";
const SMARTHOST: &str = "smarthost ";
const ENFORCED: &str = " enforced";

/// What the sandbox inbox is called: as a lane of the queue, as a route and as hosts. Statements about its lane name it
/// themselves.
pub const SANDBOX: &str = "sandbox";

/// What a deferred message waits for. [`FromStr`] reads what [`fmt::Display`] writes, and nothing else
/// knows the grammar of the column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitsFor {
    /// Hosts that delivery backs off from; where there is an account, for its mail alone.
    Hosts { hosts: Hosts, account: Option<AccountId> },
    /// The MX of a domain that cannot be resolved now.
    Mx(String),
    /// The message's own account, which is suspended. The column holds the bare identifier: statements
    /// compare it with `account_id`.
    Account(AccountId),
}

/// Hosts that fail and recover together. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hosts {
    /// All mail exchangers of a domain, in the order of their names. A domain that enforces
    /// certificates can fail where others with the same hosts do not.
    MailExchangers {
        names: Arc<[String]>,
        is_enforced: bool,
    },
    /// One of the operator's smarthosts.
    Smarthost(Arc<str>),
    Sandbox,
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MailExchangers { names, is_enforced } => {
                for (number, name) in names.iter().enumerate() {
                    write!(f, "{}{name}", if number == 0 { "" } else { " " })?;
                }
                f.write_str(if *is_enforced { ENFORCED } else { "" })
            }
            Self::Smarthost(name) => write!(f, "{SMARTHOST}{name}"),
            Self::Sandbox => f.write_str(SANDBOX),
        }
    }
}

impl From<&str> for Hosts {
    fn from(text: &str) -> Self {
        if text == SANDBOX {
            return Self::Sandbox;
        }
        if let Some(name) = text.strip_prefix(SMARTHOST) {
            return Self::Smarthost(name.into());
        }
        let (names, is_enforced) = match text.strip_suffix(ENFORCED) {
            Some(names) => (names, true),
            None => (text, false),
        };
        Self::MailExchangers {
            names: names.split(' ').map(ToOwned::to_owned).collect(),
            is_enforced,
        }
    }
}

impl WaitsFor {
    /// The texts of all [`Self::Account`], and of nothing else: an account's identifier begins with `acc_`.
    pub const ACCOUNTS: Range<&str> = "acc_".."acc`";
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts { hosts, account: None } => hosts.fmt(f),
            Self::Hosts { hosts, account: Some(account) } => {
                write!(f, "{hosts}{FOR_ACCOUNT}{account}")
            }
            Self::Mx(domain) => write!(f, "{MX}{domain}"),
            Self::Account(account) => account.fmt(f),
        }
    }
}

impl FromStr for WaitsFor {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        if let Some(domain) = text.strip_prefix(MX) {
            return Ok(Self::Mx(domain.to_owned()));
        }
        if let Ok(account) = text.parse() {
            return Ok(Self::Account(account));
        }
        let split = text.rsplit_once(FOR_ACCOUNT);
        let of_account = split.and_then(|(hosts, account)| Some((hosts, account.parse().ok()?)));
        let (hosts, account) = of_account.map_or((text, None), |(hosts, it)| (hosts, Some(it)));
        Ok(Self::Hosts { hosts: hosts.into(), account })
    }
}

impl Serialize for WaitsFor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    /// Databases of earlier versions hold these texts: none may change.
    #[test]
    fn what_is_written_to_the_column_is_read_back() {
        let id = AccountId::new(Timestamp::from_millis(1_800_000_000_000));
        let of = |hosts, account| WaitsFor::Hosts { hosts, account };
        let names: Arc<[String]> = ["mx1.test", "mx2.test"].map(ToOwned::to_owned).into();
        let exchangers =
            |is_enforced| Hosts::MailExchangers { names: Arc::clone(&names), is_enforced };
        let smarthost = || Hosts::Smarthost("the one for bulk".into());
        for (waits_for, text) in [
            (WaitsFor::Mx("example.com".to_owned()), "where to: example.com".to_owned()),
            (WaitsFor::Account(id), id.to_string()),
            (of(exchangers(false), None), "mx1.test mx2.test".to_owned()),
            (of(exchangers(true), None), "mx1.test mx2.test enforced".to_owned()),
            (of(exchangers(true), Some(id)), format!("mx1.test mx2.test enforced for {id}")),
            (of(smarthost(), None), "smarthost the one for bulk".to_owned()),
            (of(smarthost(), Some(id)), format!("smarthost the one for bulk for {id}")),
            (of(Hosts::Sandbox, None), "sandbox".to_owned()),
        ] {
            assert_eq!(waits_for.to_string(), text);
            let is_account = matches!(waits_for, WaitsFor::Account(_));
            assert_eq!(WaitsFor::ACCOUNTS.contains(&text.as_str()), is_account, "{text}");
            assert_eq!(text.parse(), Ok(waits_for));
        }
    }
}
