//! What a deferred message waits for besides its own next attempt: the text of `queue.waits_for`.

use std::fmt;

use crate::id::AccountId;

const FOR_ACCOUNT: &str = " for ";
/// No registered domain has a blank in its name, so no hosts are called like this.
const MX: &str = "where to: ";
const SMARTHOST: &str = "smarthost ";

/// What a deferred message waits for. [`From<&str>`] reads what [`fmt::Display`] writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitsFor {
    /// Hosts that delivery backs off from; where there is an account, for its mail alone.
    Hosts { hosts: String, account: Option<AccountId> },
    /// The same for one of the operator's smarthosts.
    Smarthost { name: String, account: Option<AccountId> },
    /// The MX of a domain that cannot be resolved now.
    Mx(String),
}

impl WaitsFor {
    /// The name of a smarthost among all hosts.
    #[must_use]
    pub fn smarthost(name: &str) -> String {
        format!("{SMARTHOST}{name}")
    }

    /// The hosts and the account of a back-off; none where the message waits for an MX.
    #[must_use]
    pub fn back_off(&self) -> Option<(String, Option<AccountId>)> {
        match self {
            Self::Hosts { hosts, account } => Some((hosts.clone(), *account)),
            Self::Smarthost { name, account } => Some((Self::smarthost(name), *account)),
            Self::Mx(_) => None,
        }
    }
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = match self {
            Self::Hosts { hosts, account } => {
                f.write_str(hosts)?;
                account
            }
            Self::Smarthost { name, account } => {
                write!(f, "{SMARTHOST}{name}")?;
                account
            }
            Self::Mx(domain) => return write!(f, "{MX}{domain}"),
        };
        account.map_or(Ok(()), |account| write!(f, "{FOR_ACCOUNT}{account}"))
    }
}

impl From<&str> for WaitsFor {
    fn from(text: &str) -> Self {
        if let Some(domain) = text.strip_prefix(MX) {
            return Self::Mx(domain.to_owned());
        }
        let split = text.rsplit_once(FOR_ACCOUNT);
        let of_account = split.and_then(|(hosts, account)| Some((hosts, account.parse().ok()?)));
        let (hosts, account) = of_account.map_or((text, None), |(hosts, it)| (hosts, Some(it)));
        match hosts.strip_prefix(SMARTHOST) {
            Some(name) => Self::Smarthost { name: name.to_owned(), account },
            None => Self::Hosts { hosts: hosts.to_owned(), account },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn what_is_written_to_the_column_is_read_back() {
        let account = AccountId::new(Timestamp::from_millis(1_800_000_000_000));
        let hosts = || "mx1.example.com mx2.example.com enforced".to_owned();
        let name = || "the one for bulk".to_owned();
        for (waits_for, text) in [
            (WaitsFor::Mx("example.com".to_owned()), "where to: example.com".to_owned()),
            (WaitsFor::Hosts { hosts: hosts(), account: None }, hosts()),
            (
                WaitsFor::Hosts { hosts: hosts(), account: Some(account) },
                format!("{} for {account}", hosts()),
            ),
            (
                WaitsFor::Smarthost { name: name(), account: None },
                "smarthost the one for bulk".to_owned(),
            ),
            (
                WaitsFor::Smarthost { name: name(), account: Some(account) },
                format!("smarthost the one for bulk for {account}"),
            ),
        ] {
            assert_eq!(waits_for.to_string(), text);
            assert_eq!(WaitsFor::from(text.as_str()), waits_for);
        }
    }
}
